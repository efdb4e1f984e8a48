"""Reading parts of the workflow's AnnData files."""

from __future__ import annotations

from typing import Any

import h5py
import pandas as pd
from anndata.io import read_elem

from sparsekm.io.checked_hdf5 import DamagedFileError
from sparsekm.io.input_error import reason_of


def read_part(opened: h5py.File, name: str, rule: str, kind: type = object) -> Any:
    """Read a part of an AnnData file, such as ``uns/provenance``, and check its type."""
    file = opened.filename
    try:
        part = read_elem(opened[name])
    except Exception as error:
        raise DamagedFileError(
            file, f"{name} is missing or damaged ({reason_of(error)})", rule
        ) from error
    if not isinstance(part, kind):
        raise DamagedFileError(
            file, f"{name} is a {type(part).__name__}; it should be a {kind.__name__}", rule
        )
    return part


def read_parts(opened: h5py.File, rule: str) -> dict[str, Any]:
    """Read everything in an AnnData file except its matrix."""
    kinds = {"obs": pd.DataFrame, "var": pd.DataFrame, "obsm": dict, "uns": dict}
    return {name: read_part(opened, name, rule, kind) for name, kind in kinds.items()}
