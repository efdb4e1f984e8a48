"""Ways to spoil the structure of an HDF5 file that stays whole as such."""

from __future__ import annotations

import contextlib
import io

import h5py
import numpy as np

_ENCODINGS = (
    *("dict", "array", "string", "string-array", "categorical", "csr_matrix", "csc_matrix", "null"),
    *("dataframe", "nullable-integer", "nullable-boolean", "numeric-scalar", "rec-array", "raw"),
    *("awkward-array", "anndata", "no-such-encoding"),
)


def mutate_structure(content: bytes, rng: np.random.Generator, words: tuple[str, ...]) -> bytes:
    """Change one array, link or attribute; content that is not HDF5 stays as it is."""
    stream = io.BytesIO(content)
    # Of a file that is spoilt already, anything may fail.
    with contextlib.suppress(Exception), h5py.File(stream, "r+") as opened:
        names: list[str] = []
        opened.visit(names.append)
        name = names[int(rng.integers(len(names)))]
        if rng.random() < 0.35:
            _change_attribute(opened[name], rng, words)
        else:
            _change_node(opened, name, names, rng, words)
    return stream.getvalue()


def _change_attribute(node: h5py.HLObject, rng: np.random.Generator, words) -> None:
    node = node if len(node.attrs) else node.file
    keys = sorted(node.attrs)
    key = keys[int(rng.integers(len(keys)))]
    word = words[int(rng.integers(len(words)))]
    match rng.integers(6):
        case 0:
            del node.attrs[key]
        case 1 | 2:
            node.attrs[key] = _ENCODINGS[int(rng.integers(len(_ENCODINGS)))]
        case 3:
            node.attrs[key] = rng.integers(-5, 2**40, size=rng.integers(0, 4))
        case 4:
            node.attrs[key] = word[:2000].replace("\0", "").encode("utf-8", "surrogatepass")
        case 5:
            node.attrs[key] = float("nan")


def _change_node(opened: h5py.File, name: str, names: list[str], rng, words) -> None:
    node = opened[name]
    attributes = dict(node.attrs)
    values = node[()] if isinstance(node, h5py.Dataset) else None
    del opened[name]
    match rng.integers(12):
        case 0:
            return
        case 1:
            opened[name] = h5py.SoftLink("/" + names[int(rng.integers(len(names)))])
            return
        case 2:
            opened[name] = h5py.ExternalLink("/etc/passwd", "/X")
            return
        case 3:
            # A loop: the folder below itself.
            opened[name] = opened[name.rpartition("/")[0] or "/"]
            return
        case 4:
            opened.create_group(name)
        case 5:
            shape = (10 ** int(rng.integers(3, 13)), int(rng.integers(1, 9)))
            opened.create_dataset(name, shape=shape, dtype="f4", chunks=(64, 1))
        case 6:
            opened[name] = h5py.Empty("f4")
        case _ if values is None:
            opened[name] = np.arange(int(rng.integers(0, 12)))
        case 7:
            opened[name] = np.asarray(words[: int(rng.integers(1, 3))], dtype=h5py.string_dtype())
        case 8:
            with np.errstate(all="ignore"):
                kind = ("f2", "i1", "u8", "c8", "S2", "?", ">f8")[int(rng.integers(7))]
                opened[name] = np.asarray(values).astype(kind)
        case 9:
            opened[name] = np.repeat(np.atleast_1d(values), int(rng.integers(0, 4)), axis=0)
        case 10:
            flat = np.array(values, copy=True).reshape(-1)
            flat[int(rng.integers(len(flat)))] = _odd_value(flat.dtype, rng)
            opened[name] = flat.reshape(np.shape(values))
        case _:
            opened[name] = np.atleast_1d(values)[::-1].T
    for key, value in attributes.items():
        opened[name].attrs[key] = value


def _odd_value(dtype: np.dtype, rng: np.random.Generator):
    if dtype.kind == "f":
        return (np.nan, np.inf, -np.inf, 1e38)[int(rng.integers(4))]
    if dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        return (bounds.min, bounds.max, 10)[int(rng.integers(3))]
    return (b"", b"../../x", b"\xff\xfe", b"<script>")[int(rng.integers(4))]
