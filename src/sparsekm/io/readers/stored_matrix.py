"""Reading a matrix from files that declare both axes: AnnData, 10x Genomics, or named arrays.

AnnData is HDF5 (``.h5ad``) or Zarr. Arrays, in a NumPy archive (``.npz``) or plain HDF5 (``.h5``),
are ``X`` (n, p) and optionally ``y`` or ``labels`` (n,), ``genes`` or ``features`` (p,),
``samples`` (n,), ``relevant`` (p,) bool, and anything else known of the samples under any name.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
from scipy.io import mminfo, mmread
from scipy.sparse import csr_array

from sparsekm.io.input_error import reason_of
from sparsekm.io.readers.axes import find_orientation, is_a, is_row_numbers, weigh_names
from sparsekm.io.readers.messages import explain_damage, refusal, say
from sparsekm.io.readers.raw_matrix import RawMatrix, Settings, assemble, check_named, check_size
from sparsekm.io.readers.value_blocks import (
    Layout,
    Opened,
    arrays_in,
    check_rows,
    find_layout,
    open_stored,
)
from sparsekm.io.row_stream import SparseRows

_FEATURES = ("genes", "features", "feature_names", "gene_names", "var_names")
_SAMPLES = ("samples", "sample_names", "obs_names", "cell_names")
_LABELS = ("y", "labels", "target")


@dataclass
class _Axes:
    """What a file says of the samples and features of its matrix."""

    samples: Sequence[object] | None
    features: Sequence[object] | None
    about: Mapping[str, Any] = field(default_factory=dict)  # columns about the samples, by name
    label: str | None = None  # the column of known classes, if no setting names one
    relevant: np.ndarray | None = None
    positions: np.ndarray | None = None
    turn: bool = False  # whether rows are features
    chosen: np.ndarray | None = None  # the features to read
    remarks: list[str] = field(default_factory=list)


def read_stored(file: Path, settings: Settings) -> RawMatrix:
    """Read and check a matrix; a sparse one stays so if it takes less memory that way."""
    with open_stored(file) as opened:
        layout = find_layout(file, opened, settings.layer)
        name, node, is_array = layout.name, layout.node, layout.n_stored is None
        if isinstance(node, h5py.Dataset) and node.size and not node.id.get_storage_size():
            raise refusal("not_written", name=name, shape=layout.shape)
        describe = {"anndata": _of_anndata, "10x": _of_tenx, "arrays": _of_arrays}[layout.kind]
        # Everything small is read and checked before the matrix.
        axes = describe(opened, layout, settings)
        numbers = node if is_array else node["data"]
        if numbers.dtype.kind not in "fiub":
            raise refusal("not_numeric", name=numbers.name, dtype=numbers.dtype)
        shape = layout.shape[::-1] if axes.turn else layout.shape
        in_blocks = layout.in_blocks and not axes.turn
        check_size(*shape, n_stored=layout.n_stored, in_blocks=in_blocks)
        if not in_blocks:
            held = _values(name, node) if is_array else _read_elem(node)
            if not is_array:
                # As in `SparseRows`.
                held.check_format(full_check=True)
            held = held.T if axes.turn else held
            held = held if is_array else csr_array(held)
            return _finish(axes, settings, partial(nullcontext, held))

    @contextmanager
    def matrix() -> Iterator[Any]:
        with open_stored(file) as opened:
            node = opened[layout.name]
            yield node if is_array else SparseRows(node, layout.shape)

    return _finish(axes, settings, matrix)


def _finish(axes: _Axes, settings: Settings, opened: Opened) -> RawMatrix:
    X, offset = check_rows(opened, axes.remarks, settings.missing_numbers)
    if axes.chosen is not None:
        X, offset = X.select(axes.chosen), offset[axes.chosen]
    features = axes.features
    if features is None:
        features = [f"feature{j + 1}" for j in range(X.shape[1])]
    samples = None if axes.samples is None else [*map(str, axes.samples)]
    raw = RawMatrix(X, offset, [*map(str, features)], samples, remarks=axes.remarks)
    raw.relevant, raw.positions = axes.relevant, axes.positions
    return assemble(raw, settings, axes.about, axes.label)


def _read_elem(node: Any) -> Any:
    # It takes long to load, and tables of text do without.
    from anndata.io import read_elem

    return read_elem(node)


def _is_turned(rows: Sequence[object] | None, columns: Sequence[object] | None) -> bool:
    """Tell whether the rows of a stored matrix are features, by the names of both axes."""
    if rows is None or columns is None:
        return False
    rows, columns = [*map(str, rows)], [*map(str, columns)]
    if is_row_numbers("", rows) or weigh_names(rows).score <= 0 <= weigh_names(columns).score:
        return False
    return find_orientation("", rows, columns)[0] is True


def _of_anndata(opened: Any, layout: Layout, settings: Settings) -> _Axes:
    obs, var = (_read_frame(opened, part) for part in ("obs", "var"))
    shape, expected = layout.shape, (len(obs), len(var))
    if shape != expected:
        hint = " X looks transposed." if shape == expected[::-1] else ""
        raise refusal("obs_var", name=layout.name, shape=shape, expected=expected, hint=hint)
    turn, remarks = settings.transpose is True, []
    rows, columns = [*map(str, obs.index)], [*map(str, var.index)]
    headings = [one for one in var if is_a(str(one), "feature_heading") and var[one].is_unique]
    if headings and is_row_numbers("", columns):
        columns = [*map(str, var[headings[0]])]
        remarks.append(say("named_by_var", name=headings[0]))
    if settings.transpose == "auto" and not {*settings.named.values()} & {*obs.columns}:
        turn = _is_turned(rows, columns)
        remarks += [say("genes_in_obs", gene=rows[0], sample=columns[0])] if turn else []
    where, elsewhere = ("var", ()) if turn else ("obs", ("a column of var", var.columns))
    about, features = (var, obs) if turn else (obs, var)
    check_named(settings, [*about.columns], f"the columns of {where}", *elsewhere)
    axes = _Axes(*((columns, rows) if turn else (rows, columns)), about, turn=turn, remarks=remarks)
    # Before AnnData 0.7 obsm was an array of records; a data frame is a group.
    node = opened["obsm"].get("spatial") if hasattr(opened.get("obsm"), "keys") else None
    if node is not None and not turn:
        found = np.asarray(node[()] if hasattr(node, "dtype") else None)
        is_right = found.shape in [(len(obs), width) for width in (1, 2, 3)]
        if is_right and found.dtype.kind in "fiu" and np.isfinite(found).all():
            axes.positions = found.astype(np.float64)
        else:
            remarks.append(say("no_positions", n=len(obs)))
    if "relevant" in features:
        axes.relevant = _check_relevant(features["relevant"].to_numpy())
    return axes


def _read_frame(opened: Any, name: str) -> pd.DataFrame:
    frame = _read_elem(opened[name])
    if isinstance(frame, np.ndarray) and frame.dtype.names:
        # AnnData before 0.7 wrote a table of records.
        frame = pd.DataFrame({one: _as_text(frame[one]) for one in frame.dtype.names})
        frame = frame.set_index("index" if "index" in frame else frame.columns[0])
    if not isinstance(frame, pd.DataFrame):
        raise refusal("no_frame", name=name, kind=type(frame).__name__)
    return frame


def _as_text(values: np.ndarray) -> np.ndarray:
    return np.char.decode(values, "utf-8") if values.dtype.kind == "S" else values


def _of_arrays(opened: Any, layout: Layout, settings: Settings) -> _Axes:
    arrays, shape = arrays_in(opened), layout.shape
    if len(shape) != 2:
        raise refusal("one_axis", name=layout.name, shape=shape)

    def first(known: Sequence[str]) -> str | None:
        return next((one for one in known if one in arrays), None)

    check_named(settings, [*arrays], "its arrays")
    label = settings.labels or first(_LABELS)
    features, samples = first(_FEATURES), first(_SAMPLES)
    about = [name for name in dict.fromkeys((label, *settings.named.values())) if name]
    # Names and classes may fit only if rows are features.
    there = [name for name in (*about, features, samples) if name]
    fits = [tuple(arrays[name].shape) == (shape[name != features],) for name in there]
    turn = settings.transpose is True
    if settings.transpose == "auto":
        turn = bool(there) and all(fits) and shape[0] != shape[1]

    def vector(name: str | None, what: str = "sample") -> np.ndarray | None:
        if name not in arrays:
            return None
        node, length = arrays[name], shape[(what == "feature") != turn]
        if node.shape != (length,):
            raise refusal("length", name=name, shape=node.shape, length=length, what=what)
        is_data = isinstance(node, h5py.Dataset) and not h5py.check_string_dtype(node.dtype)
        if is_data and node.dtype.kind not in "fiubUS":
            raise refusal("no_vector", name=name, dtype=node.dtype)
        return _values(name, node)

    rows, columns = vector(samples), vector(features, "feature")
    if settings.transpose == "auto" and not turn and not label and _is_turned(rows, columns):
        turn, rows, columns = True, columns, rows
    axes = _Axes(rows, columns, {name: vector(name) for name in about}, label, turn=turn)
    axes.remarks = [say("rows_are_features")] * turn
    relevant = vector("relevant", "feature")
    axes.relevant = None if relevant is None else _check_relevant(relevant)
    return axes


def _values(name: str, node: Any) -> np.ndarray:
    """Read a whole array of numbers or strings."""
    try:
        is_text = isinstance(node, h5py.Dataset) and h5py.check_string_dtype(node.dtype)
        return _as_text(node.asstr()[()] if is_text else node[()])
    except MemoryError:
        raise
    except Exception as error:
        raise refusal("unreadable", name=name, reason=reason_of(error)) from error


def _check_relevant(values: np.ndarray) -> np.ndarray:
    """Check a planted truth, bool or 0 and 1, and return it as bool."""
    if values.dtype.kind not in "biuf" or not np.isin(values, (0, 1)).all():
        raise refusal("relevant")
    return values.astype(bool)


def _of_tenx(opened: Any, layout: Layout, settings: Settings) -> _Axes:
    check_named(settings, [], "10x files")
    about = layout.node.get("features", layout.node)

    def strings(node: Any, *names: str) -> list[str]:
        values = next((node[name][()] for name in names if name in node), np.array([]))
        return [one.decode() if isinstance(one, bytes) else str(one) for one in values.tolist()]

    names = {"id": strings(about, "id", "genes"), "symbol": strings(about, "name", "gene_names")}
    cells, (n, p) = strings(layout.node, "barcodes"), layout.shape
    if n != len(cells) or {p} != {*map(len, names.values())}:
        raise refusal("barcodes", shape=layout.shape, n=len(cells), p=len(names["id"]))
    return _describe_genes(cells, **names, kind=strings(about, "feature_type") or [""] * p)


def find_mtx(path: Path) -> Path | None:
    """Return the matrix of a folder of 10x, or the file itself if it is one."""
    if path.name.lower().endswith((".mtx", ".mtx.gz")):
        return path
    found = [*path.glob("*.mtx"), *path.glob("*.mtx.gz")] if path.is_dir() else []
    return found[0] if len(found) == 1 else None


def read_tenx_folder(file: Path, settings: Settings) -> RawMatrix:
    """Read and check a matrix of Matrix Market, with the names next to it."""
    check_named(settings, [], "10x folders")
    if settings.layer:
        raise refusal("needless_layer", layer=settings.layer)
    prefix, mark, _ = file.name.rpartition("matrix.mtx")
    tables = []
    for names in (("features.tsv", "genes.tsv"), ("barcodes.tsv",)):
        files = [file.with_name(f"{prefix}{name}{gz}") for name in names for gz in (".gz", "")]
        tables += [one for one in files if one.exists()][:1]
    if len(tables) < 2 or not mark:
        raise refusal("lacks_names", prefix=prefix)
    with explain_damage("matrix of 10x", "Cell Ranger."):
        options = {"sep": "\t", "header": None, "dtype": str, "keep_default_na": False}
        genes, cells = (pd.read_csv(one, quoting=csv.QUOTE_NONE, **options) for one in tables)
        p, n, n_stored, *_ = mminfo(file)
        if (p, n) != (len(genes), len(cells)):
            about = {"features": len(genes), "cells": len(cells)}
            raise refusal("other_names", p=p, n=n, **about)
        check_size(n, p, n_stored)
        matrix = csr_array(mmread(file).T)
    genes = genes.reindex(columns=range(3)).set_axis(["id", "symbol", "kind"], axis=1)
    axes = _describe_genes(cells[0].tolist(), **genes)
    return _finish(axes, settings, partial(nullcontext, matrix))


def _describe_genes(cells: Sequence[str], **about: Sequence[str]) -> _Axes:
    """Name features by symbol, with the id if several share it, and choose gene expression only."""
    genes, remarks = pd.DataFrame(about).fillna(""), []
    symbols = genes["symbol"].where(genes["symbol"] != "", genes["id"])
    shared, is_gene = symbols.duplicated(keep=False), genes["kind"].isin(["", "Gene Expression"])
    names = symbols.where(~shared, symbols + "_" + genes["id"])
    if shared.any():
        remarks.append(say("shared_symbols", n=symbols[shared].nunique()))
    if is_gene.any() and not is_gene.all():
        others = ", ".join(sorted({*genes["kind"][~is_gene]}))
        remarks.append(say("other_kinds", n=(~is_gene).sum(), kinds=others))
    chosen = np.flatnonzero(is_gene | ~is_gene.any())
    return _Axes(cells, names[chosen].tolist(), chosen=chosen, remarks=remarks)
