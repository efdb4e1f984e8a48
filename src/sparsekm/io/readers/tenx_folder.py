"""Reading counts of 10x Genomics, features x cells, from a folder of ``matrix.mtx``."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.io import mminfo, mmread
from scipy.sparse import csr_array

from sparsekm.io.readers.assembling import Parts, assemble
from sparsekm.io.readers.raw_matrix import (
    MatrixError,
    RawMatrix,
    Settings,
    check_size,
    explain_damage,
)
from sparsekm.io.readers.value_blocks import check_rows

_FEATURES = ("features.tsv.gz", "features.tsv", "genes.tsv.gz", "genes.tsv")
_BARCODES = ("barcodes.tsv.gz", "barcodes.tsv")


def find_mtx(path: Path) -> Path | None:
    """Return the matrix of a folder of 10x, or the file itself if it is one."""
    if path.name.lower().endswith((".mtx", ".mtx.gz")):
        return path
    if not path.is_dir():
        return None
    found = sorted(file for file in path.iterdir() if file.name.endswith((".mtx", ".mtx.gz")))
    return found[0] if len(found) == 1 else None


def read_tenx_folder(file: Path, settings: Settings) -> RawMatrix:
    """Read and check a matrix of Matrix Market, with the names next to it."""
    if settings.named or settings.layer:
        raise MatrixError(
            f"{file}: labels, groups and layer should be left out: 10x folders have none."
        )
    prefix, mark, _ = file.name.rpartition("matrix.mtx")
    about, barcodes = (
        next((one for name in names if (one := file.with_name(prefix + name)).exists()), None)
        for names in (_FEATURES, _BARCODES)
    )
    if about is None or barcodes is None or not mark:
        raise MatrixError(
            f"{file}: there should be {prefix}matrix.mtx, {prefix}features.tsv (or genes.tsv) and "
            f"{prefix}barcodes.tsv in one folder, each perhaps with .gz."
        )
    with explain_damage(file, "matrix of 10x", "Cell Ranger."):
        options = {"sep": "\t", "header": None, "dtype": str, "keep_default_na": False}
        lines = pd.read_csv(about, quoting=csv.QUOTE_NONE, **options)
        cells = pd.read_csv(barcodes, quoting=csv.QUOTE_NONE, **options)[0].tolist()
        n_rows, n_columns, n_stored, *_ = mminfo(file)
        if (n_rows, n_columns) != (len(lines), len(cells)):
            raise MatrixError(
                f"{file}: {n_rows} x {n_columns} should be {len(lines)} features x {len(cells)} "
                "barcodes, the lines of the files next to it."
            )
        check_size(file, n_columns, n_rows, n_stored)
        matrix = csr_array(mmread(file).T)
    ids = lines[0].tolist()
    symbols = ids if 1 not in lines else lines[1].where(lines[1] != "", lines[0]).tolist()
    kinds = [""] * len(ids) if 2 not in lines else lines[2].tolist()
    parts, genes = describe_genes(file, ids, symbols, kinds)
    parts.samples, parts.missing = cells, settings.missing_values
    X, offset = check_rows(file, partial(nullcontext, matrix), parts.remarks)
    return assemble(parts, X.select(genes), offset[genes])


def describe_genes(
    file: Path, ids: Sequence[str], symbols: Sequence[str], kinds: Sequence[str]
) -> tuple[Parts, np.ndarray]:
    """Name features by symbol, with the id if several share it, and choose gene expression only."""
    counts, remarks = Counter(symbols), []
    names = [
        f"{symbol}_{one}" if counts[symbol] > 1 else symbol
        for symbol, one in zip(symbols, ids, strict=True)
    ]
    n_repeated = sum(count > 1 for count in counts.values())
    if n_repeated:
        remarks.append(f"{n_repeated} symbols belong to several genes: their ids are appended.")
    genes = np.flatnonzero([kind in ("", "Gene Expression") for kind in kinds])
    if 0 < len(genes) < len(ids):
        others = sorted({*kinds} - {"", "Gene Expression"})
        remarks.append(f"{len(ids) - len(genes)} features are left out: {', '.join(others)}.")
    else:
        genes = np.arange(len(ids))
    return Parts(file, [names[at] for at in genes], None, remarks=remarks), genes
