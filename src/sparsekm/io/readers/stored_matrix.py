"""Reading a matrix from files that declare both axes: AnnData, 10x Genomics, or named arrays.

Arrays are ``X`` (n, p) and optionally ``y`` or ``labels`` (n,), ``genes`` or ``features`` (p,),
``samples`` (n,), ``relevant`` (p,) bool, and further annotation of the samples under any name.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np
import pandas as pd
from scipy.io import mminfo, mmread
from scipy.sparse import csr_array

from sparsekm.cluster.description import Description
from sparsekm.io.input_error import check_file, reason_of
from sparsekm.io.readers.axes import is_heading, is_row_numbers
from sparsekm.io.readers.messages import explain_damage, refusal, refuse_format, say
from sparsekm.io.readers.raw_matrix import (
    RawMatrix,
    Settings,
    SparseRows,
    assemble,
    check_named,
    check_size,
)
from sparsekm.io.readers.value_blocks import Opened, check_rows, open_stored

_CSR = ("data", "indices", "indptr")
_FEATURES = ("genes", "features", "feature_names", "gene_names", "var_names")
_SAMPLES = ("samples", "sample_names", "obs_names", "cell_names")
_LABELS = ("y", "labels", "target")


class Layout(NamedTuple):
    """The place of the matrix in a file, (rows, columns), and its declared properties."""

    kind: str  # "anndata", "10x" or "arrays"
    name: str
    node: Any
    shape: tuple[int, ...]
    n_stored: int | None  # the values that a sparse matrix stores; None for an array
    in_blocks: bool  # whether it is read row by row: an array, or a sparse one by rows


def find_layout(file: Path, opened: Any, layer: str | None) -> Layout:
    """Find the matrix of an open file, without regard to the file's ending."""
    is_archive, kind, name = isinstance(opened, dict), "arrays", layer or "X"
    is_anndata = all(hasattr(opened.get(part), "keys") for part in ("obs", "var"))
    # Version 2 of Cell Ranger names the group by the genome.
    groups = [one for one in opened if layer in (None, one) and hasattr(opened.get(one), "keys")]
    tenx = [one for one in groups if {*_CSR, "barcodes", "shape"} <= {*opened[one]}]
    if is_anndata or not (is_archive or file.suffix.lower() in (".h5", ".hdf5")):
        kind, name = "anndata", "X" if layer is None else f"layers/{layer}"
        if name not in opened:
            layers = sorted(opened["layers"].keys()) if "layers" in opened else []
            what = "X" if layer is None else f"layer={layer!r}"
            raise refusal("no_layer", what=what, layers=layers, none=not layers)
    elif tenx:
        kind, name = "10x", tenx[0]
    elif name not in (arrays := arrays_in(opened)):
        if {*_CSR, "shape"} <= {*arrays}:
            refuse_format(file, "npz of scipy.sparse", ".npz")
        if any(one.endswith("block0_values") for one in arrays):
            refuse_format(file, "h5 of pandas", file.suffix)
        tables = [one for one, node in arrays.items() if len(node.shape or ()) == 2]
        if layer is not None or len(tables) != 1:
            cure: Any = say("other_array", layer=tables[0]) if tables else ""
            raise refusal("no_array", names=[*arrays], name=name, cure=cure)
        name = tables[0]
    node = opened[name]
    if hasattr(node, "dtype"):
        return Layout(kind, name, node, node.shape or (), None, not is_archive)
    shape = node["shape"][()][::-1] if kind == "10x" else node.attrs.get("shape", ())
    by_rows = kind == "10x" or node.attrs.get("encoding-type") == "csr_matrix"
    return Layout(kind, name, node, tuple(map(int, shape)), int(node["data"].shape[0]), by_rows)


def arrays_in(opened: Any, prefix: str = "") -> dict[str, Any]:
    """Return all arrays of an open file, or a group, by name."""
    found: dict[str, Any] = {}
    for name in sorted(opened):
        node = opened.get(name)
        if hasattr(node, "dtype"):
            found[prefix + name] = node
        elif hasattr(node, "keys"):
            found |= arrays_in(node, f"{prefix}{name}/")
    return found


@dataclass
class _Axes:
    """The samples and features of a matrix according to its file, numbered without names."""

    samples: pd.DataFrame
    features: pd.DataFrame
    label: str | None = None  # the column of known classes, if no setting names one
    turn: bool = False  # whether rows are features
    positions: np.ndarray | None = None
    chosen: np.ndarray | None = None  # the features to read
    remarks: list[str] = field(default_factory=list)


def read_stored(file: Path, settings: Settings) -> RawMatrix:
    """Read and check a matrix; it stays sparse if this takes less memory."""
    # Imported here, because it loads slowly, and text tables do not need it.
    from anndata.io import read_elem

    if find_mtx(file):
        return _read_tenx_folder(file, settings)
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
            held = _values(name, node) if is_array else read_elem(node)
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
    raw = check_rows(opened, axes.remarks, settings.missing_numbers)
    if axes.chosen is not None:
        raw = raw.select(axes.chosen)
    truth = axes.features["relevant"].to_numpy() if "relevant" in axes.features else None
    if truth is not None and not np.isin(truth, (0, 1)).all():
        raise refusal("relevant")
    raw.remarks, raw.about = (
        axes.remarks,
        Description(
            samples=_names(axes.samples),
            positions=axes.positions,
            features=_names(axes.features) or [f"feature{j + 1}" for j in range(raw.shape[1])],
            relevant=None if truth is None else truth.astype(bool),
        ),
    )
    return assemble(raw, settings, axes.samples, axes.label)


def _names(axis: pd.DataFrame) -> list[str] | None:
    return None if isinstance(axis.index, pd.RangeIndex) else [*map(str, axis.index)]


def _of_anndata(opened: Any, layout: Layout, settings: Settings) -> _Axes:
    obs, var = (_read_frame(opened, part) for part in ("obs", "var"))
    shape, expected, remarks = layout.shape, (len(obs), len(var)), []
    if shape != expected:
        hint = " X looks transposed." if shape == expected[::-1] else ""
        raise refusal("obs_var", name=layout.name, shape=shape, expected=expected, hint=hint)
    headings = [one for one in var if is_heading(str(one), "feature") and var[one].is_unique]
    if headings and is_row_numbers("", _names(var) or []):
        var = var.set_index(headings[0], drop=False)
        remarks.append(say("named_by_var", name=headings[0]))
    if settings.transpose is True:
        check_named(settings, [*var.columns], "the columns of var")
        return _Axes(var, obs, turn=True, remarks=remarks)
    check_named(settings, [*obs.columns], "the columns of obs", "a column of var", [*var.columns])
    axes = _Axes(obs, var, remarks=remarks)
    # A data frame is a group.
    node = opened["obsm"].get("spatial") if hasattr(opened.get("obsm"), "keys") else None
    if node is not None:
        found = np.asarray(node[()] if hasattr(node, "dtype") else None)
        is_right = found.shape in [(len(obs), width) for width in (1, 2, 3)]
        if is_right and found.dtype.kind in "fiu" and np.isfinite(found).all():
            axes.positions = found.astype(np.float64)
        else:
            remarks.append(say("no_positions", n=len(obs)))
    return axes


def _read_frame(opened: Any, name: str) -> pd.DataFrame:
    from anndata.io import read_elem

    frame = read_elem(opened[name])
    if not isinstance(frame, pd.DataFrame):
        raise refusal("no_frame", name=name, kind=type(frame).__name__)
    return frame


def _as_text(values: np.ndarray) -> np.ndarray:
    return np.char.decode(values, "utf-8") if values.dtype.kind == "S" else values


def _of_arrays(opened: Any, layout: Layout, settings: Settings) -> _Axes:
    arrays, shape = arrays_in(opened), layout.shape
    if len(shape) != 2:
        raise refusal("one_axis", name=layout.name, shape=shape)
    check_named(settings, [*arrays], "its arrays")
    label, features, samples = (
        next((name for name in known if name in arrays), None)
        for known in ((settings.labels, *_LABELS), _FEATURES, _SAMPLES)
    )
    about = [name for name in dict.fromkeys((label, *settings.named.values())) if name]
    # Names and classes may fit only if rows are features.
    there = [name for name in (*about, features, samples) if name]
    fits = [tuple(arrays[name].shape) == (shape[name != features],) for name in there]
    turn = settings.transpose is True
    if settings.transpose == "auto":
        turn = bool(there) and all(fits) and shape[0] != shape[1]

    def axis(what: str, names: str | None, others: Sequence[str]) -> pd.DataFrame:
        found, length = {}, shape[(what == "feature") != turn]
        for name in filter(None, (names, *others)):
            node = arrays[name]
            if node.shape != (length,):
                raise refusal("length", name=name, shape=node.shape, length=length, what=what)
            is_data = isinstance(node, h5py.Dataset) and not h5py.check_string_dtype(node.dtype)
            if is_data and node.dtype.kind not in "fiubUS":
                raise refusal("no_vector", name=name, dtype=node.dtype)
            found[name] = _values(name, node)
        return pd.DataFrame(found, found[names] if names else range(length), others)

    relevant = ["relevant"] if "relevant" in arrays else []
    axes = _Axes(axis("sample", samples, about), axis("feature", features, relevant), label, turn)
    if turn and settings.transpose == "auto":
        axes.remarks.append(say("rows_are_features"))
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


def _read_tenx_folder(file: Path, settings: Settings) -> RawMatrix:
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
    for one in (file, *tables):
        check_file(one)
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
    columns = pd.DataFrame(index=pd.Index(names[chosen], dtype=object))
    return _Axes(pd.DataFrame(index=pd.Index(cells)), columns, chosen=chosen, remarks=remarks)
