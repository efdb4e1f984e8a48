"""Reading a user's matrix, whatever its format."""

from __future__ import annotations

from pathlib import Path

from sparsekm.expression.h5_reader import read_h5
from sparsekm.expression.h5ad_reader import read_h5ad
from sparsekm.expression.npz_reader import read_npz
from sparsekm.expression.raw_matrix import MatrixError, RawMatrix
from sparsekm.expression.text_reader import read_text

SUFFIXES = (".npz", ".csv", ".tsv", ".csv.gz", ".tsv.gz", ".h5ad", ".h5")
"""Endings of the files that can be read."""

_LAYERED = {".h5ad": read_h5ad, ".h5": read_h5}


def read_matrix(file: str | Path, labels: str | None = None, layer: str | None = None) -> RawMatrix:
    """Read and check a matrix of samples x features.

    Parameters
    ----------
    file : path
        Ends in one of `SUFFIXES`.
    labels : str, optional
        What holds the known classes: an array of an ``.npz`` or ``.h5`` (``y`` or ``labels`` are
        found without it), a column of text, or a column of ``obs``.
    layer : str, optional
        Layer of an ``.h5ad``, or array of an ``.h5``, to read in place of X.

    Returns
    -------
    matrix : RawMatrix

    Raises
    ------
    MatrixError
        Naming the file, the value and the rule that it breaks.
    """
    file = Path(file)
    suffix = next((end for end in SUFFIXES if file.name.lower().endswith(end)), None)
    if suffix is None:
        raise MatrixError(f"path={str(file)!r} should end in one of {', '.join(SUFFIXES)}.")
    if suffix in _LAYERED:
        return _LAYERED[suffix](file, labels, layer)
    if layer is not None:
        raise MatrixError(
            f"{file}: layer={layer!r} should be left out, as only {' and '.join(_LAYERED)} have "
            "layers."
        )
    return read_npz(file, labels) if suffix == ".npz" else read_text(file, labels)
