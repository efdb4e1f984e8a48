"""Hostile matrices, as a colleague could send them."""

from __future__ import annotations

import gzip
import io
from functools import partial

import anndata
import h5py
import numpy as np
from input_registry import hostile_input, write_zip
from payload import Payload

from sparsekm.expression.reader import read_matrix


@hostile_input("an .npz with Python objects (a pickle)")
def _(sound, folder):
    objects = np.array([Payload(folder / "ran")] * 4, dtype=object)
    np.savez(folder / "m.npz", X=np.eye(4), y=objects)
    return partial(read_matrix, folder / "m.npz")


@hostile_input("an .npz that claims 4 TB")
def _(sound, folder):
    header = {"descr": "<f4", "fortran_order": False, "shape": (10**7, 10**5)}
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, header)
    return partial(read_matrix, write_zip(folder / "m.npz", {"X.npy": stream.getvalue()}))


@hostile_input("an .h5 whose matrix claims 4 TB")
def _(sound, folder):
    with h5py.File(folder / "m.h5", "w") as opened:
        X = opened.create_dataset("X", shape=(10**7, 10**5), dtype="f4", chunks=(1, 1000))
        X[0, :1000] = 1
    return partial(read_matrix, folder / "m.h5")


@hostile_input("an .h5 whose matrix is compressed twice over")
def _(sound, folder):
    made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    made.set_chunk((1000, 1000))
    for _ in range(2):
        made.set_filter(h5py.h5z.FILTER_DEFLATE, 0, (9,))
    with h5py.File(folder / "m.h5", "w") as opened:
        space = h5py.h5s.create_simple((1000, 1000))
        made_set = h5py.h5d.create(opened.id, b"X", h5py.h5t.NATIVE_FLOAT, space, made)
        h5py.Dataset(made_set)[...] = np.random.default_rng(0).random((1000, 1000))
    return partial(read_matrix, folder / "m.h5")


@hostile_input("an .h5ad that links to another file")
def _(sound, folder):
    anndata.AnnData(np.eye(4, dtype=np.float32)).write_h5ad(folder / "m.h5ad")
    with h5py.File(folder / "m.h5ad", "r+") as opened:
        opened["layers/counts"] = h5py.ExternalLink("/etc/passwd", "X")
    return partial(read_matrix, folder / "m.h5ad")


@hostile_input("an .h5 whose values stand in another file")
def _(sound, folder):
    layout = h5py.VirtualLayout((4, 4), "f4")
    layout[:] = h5py.VirtualSource("/etc/passwd", "X", (4, 4))
    with h5py.File(folder / "m.h5", "w") as opened:
        opened.create_virtual_dataset("X", layout)
    return partial(read_matrix, folder / "m.h5")


@hostile_input("an .h5ad with a table that is a part of itself")
def _(sound, folder):
    anndata.AnnData(np.eye(4, dtype=np.float32)).write_h5ad(folder / "m.h5ad")
    with h5py.File(folder / "m.h5ad", "r+") as opened:
        loop = opened.create_group("obs/a")
        loop.attrs["encoding-type"], loop.attrs["encoding-version"] = "dict", "0.1.0"
        loop["left"] = loop["right"] = loop
        opened["obs"].attrs["column-order"] = ["a"]
    return partial(read_matrix, folder / "m.h5ad")


@hostile_input("an .h5ad with a string that says it has no size, on which HDF5 walks for ever")
def _(sound, folder):
    body = bytearray((sound / "dense.h5ad").read_bytes())
    # The first object of the heap: number 0 is what is free.
    first = body.index(b"GCOL\x01\0\0\0") + 16
    body[first : first + 16] = bytes(16)
    (folder / "m.h5ad").write_bytes(body)
    return partial(read_matrix, folder / "m.h5ad")


@hostile_input("text with a line of 40 MB")
def _(sound, folder):
    (folder / "m.csv").write_text("a,b\n1,2\n" + "3" * 40_000_000)
    return partial(read_matrix, folder / "m.csv")


@hostile_input("a gzip bomb: a cell of 100 MB in 100 KB")
def _(sound, folder):
    with gzip.open(folder / "m.csv.gz", "wb") as opened:
        opened.write(b'a,b\n1,2\n1,"')
        for _ in range(100):
            opened.write(b"\n" * 1_000_000)
    return partial(read_matrix, folder / "m.csv.gz")


@hostile_input("text with 1,500,000 columns")
def _(sound, folder):
    (folder / "m.csv").write_text("a," * 1_500_000 + "\n1,2\n")
    return partial(read_matrix, folder / "m.csv")


@hostile_input("text that is no UTF-8")
def _(sound, folder):
    (folder / "m.csv").write_bytes(b"a\xff,b\n1,2\n")
    return partial(read_matrix, folder / "m.csv")
