"""The memory that reading a matrix may take, as its file declares."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import NamedTuple

from sparsekm.io.readers.raw_matrix import check_size, held_bytes
from sparsekm.io.readers.stored_matrix import find_mtx
from sparsekm.io.readers.value_blocks import find_layout, open_stored, vectors_in

COPIES = 3  # float32 matrices in memory at once while one is read and normalised as a whole
BLOCK_BYTES = 2**29  # memory of the blocks of a matrix that is read in blocks of rows
LINE_BYTES = 256  # memory per sample and feature of one: sums, labels and starts of rows
PASSES = 3  # how often such a matrix is read, for one that is read as a whole
OBJECT_BYTES = 32  # memory per byte of names and text columns, which become Python objects
TEXT_BYTES = 16  # memory per byte of a text table, for the shortest cells and the sample names
MOST_INFLATION = 1032  # largest compression ratio of gzip
CELL_BYTES = 12  # text of a cell of a Parquet file
MOST_BYTES = 2**36


class ReadingSize(NamedTuple):
    """What reading a matrix may take beyond what a small one takes."""

    memory: int  # bytes
    processed: int = 0  # bytes that take processor time, if more than those held
    matrix: int = 0  # bytes of the matrix itself, if the file declares them


def measure_matrix(file: str | Path, layer: str | None = None) -> ReadingSize:
    """Return what a matrix may take while it is read and normalised.

    Nothing if the file does not declare a size; reading it will then report the problem. A matrix
    above the size limit is refused.
    """
    file = Path(file)
    try:
        n_bytes = _text_bytes(file)
        if n_bytes is not None:
            return ReadingSize(min(TEXT_BYTES * n_bytes, MOST_BYTES))
        with open_stored(file) as opened:
            found = find_layout(file, opened, layer)
            (n, p), n_stored, in_blocks = found.shape, found.n_stored, found.in_blocks
            node = found.node if n_stored is None else found.node["data"]
            stored = node.nbytes + 8 * (n_stored or 0)
            names = OBJECT_BYTES * sum(part.nbytes for _, part in vectors_in(opened))
            chunk = math.prod(getattr(node, "chunks", None) or [0]) * node.dtype.itemsize
    except Exception:
        return ReadingSize(0)
    check_size(file, n, p, n_stored=n_stored, in_blocks=in_blocks)
    matrix = held_bytes(n, p, n_stored)
    whole = COPIES * matrix + 2 * stored + names
    if not in_blocks:
        return ReadingSize(min(whole, MOST_BYTES), 0, matrix)
    blocks = BLOCK_BYTES + LINE_BYTES * (n + p) + 2 * chunk + names
    return ReadingSize(min(whole, blocks, MOST_BYTES), PASSES * whole, matrix)


def _text_bytes(file: Path) -> int | None:
    """Return the bytes of a table as text, at most; None of a file that declares its size."""
    name = file.name.lower()
    if name.endswith((".xlsx", ".xlsm")):
        with zipfile.ZipFile(file) as archive:
            return sum(member.file_size for member in archive.infolist())
    if name.endswith((".parquet", ".pq")):
        import pyarrow.parquet

        about = pyarrow.parquet.read_metadata(file)
        return CELL_BYTES * about.num_rows * about.num_columns
    text = find_mtx(file) or file
    if text == file and (file.is_dir() or name.endswith((".h5ad", ".h5", ".hdf5", ".npz"))):
        return None
    return (MOST_INFLATION if text.suffix.lower() == ".gz" else 1) * text.stat().st_size
