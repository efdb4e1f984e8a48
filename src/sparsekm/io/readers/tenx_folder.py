"""Reading counts of 10x Genomics, features x cells, from a folder of ``matrix.mtx``."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.io import mminfo, mmread
from scipy.sparse import csr_array

from sparsekm.io.readers.assembling import Parts, assemble, check_named
from sparsekm.io.readers.messages import explain_damage, refusal, say
from sparsekm.io.readers.raw_matrix import RawMatrix, Settings, check_size
from sparsekm.io.readers.value_blocks import check_rows


def find_mtx(path: Path) -> Path | None:
    """Return the matrix of a folder of 10x, or the file itself if it is one."""
    if path.name.lower().endswith((".mtx", ".mtx.gz")):
        return path
    found = [*path.glob("*.mtx"), *path.glob("*.mtx.gz")] if path.is_dir() else []
    return found[0] if len(found) == 1 else None


def read_tenx_folder(file: Path, settings: Settings) -> RawMatrix:
    """Read and check a matrix of Matrix Market, with the names next to it."""
    check_named(file, settings, [], "10x folders")
    prefix, mark, _ = file.name.rpartition("matrix.mtx")
    about, barcodes = (
        next((one for name in names if (one := file.with_name(f"{prefix}{name}")).exists()), None)
        for names in (
            ("features.tsv.gz", "features.tsv", "genes.tsv.gz", "genes.tsv"),
            ("barcodes.tsv.gz", "barcodes.tsv"),
        )
    )
    if about is None or barcodes is None or not mark:
        raise refusal("lacks_names", file, prefix=prefix)
    with explain_damage(file, "matrix of 10x", "Cell Ranger."):
        options = {"sep": "\t", "header": None, "dtype": str, "keep_default_na": False}
        lines = pd.read_csv(about, quoting=csv.QUOTE_NONE, **options)
        cells = pd.read_csv(barcodes, quoting=csv.QUOTE_NONE, **options)[0].tolist()
        n_rows, n_columns, n_stored, *_ = mminfo(file)
        if (n_rows, n_columns) != (len(lines), len(cells)):
            raise refusal(
                "other_names", file, p=n_rows, n=n_columns, features=len(lines), cells=len(cells)
            )
        check_size(file, n_columns, n_rows, n_stored)
        matrix = csr_array(mmread(file).T)
    ids = lines[0].tolist()
    symbols = ids if 1 not in lines else lines[1].where(lines[1] != "", lines[0]).tolist()
    kinds = [""] * len(ids) if 2 not in lines else lines[2].tolist()
    parts, genes = describe_genes(file, cells, ids, symbols, kinds)
    X, offset = check_rows(file, partial(nullcontext, matrix), parts.remarks)
    return assemble(parts, settings, X.select(genes), offset[genes])


def describe_genes(
    file: Path,
    cells: Sequence[str],
    ids: Sequence[str],
    symbols: Sequence[str],
    kinds: Sequence[str],
) -> tuple[Parts, np.ndarray]:
    """Name features by symbol, with the id if several share it, and choose gene expression only."""
    about, remarks = pd.DataFrame({"symbol": symbols, "id": ids, "kind": kinds}), []
    shared = about["symbol"].duplicated(keep=False)
    names = about["symbol"].where(~shared, about["symbol"] + "_" + about["id"])
    if shared.any():
        remarks.append(say("shared_symbols", n=about["symbol"][shared].nunique()))
    is_gene = about["kind"].isin(["", "Gene Expression"])
    if is_gene.any() and not is_gene.all():
        others = ", ".join(sorted({*about["kind"][~is_gene]}))
        remarks.append(say("other_kinds", n=(~is_gene).sum(), kinds=others))
    genes = np.flatnonzero(is_gene | ~is_gene.any())
    return Parts(file, names[genes].tolist(), cells, remarks=remarks), genes
