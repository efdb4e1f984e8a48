"""Receive one energy grid: fetch it, and judge whether it is one of its age."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsekm.atlas.grid import GridError, MissingGridError, Volume, read_energy
from sparsekm.atlas.sources import AtlasSource
from sparsekm.atlas.vocabulary import NO_DATA
from sparsekm.network.errors import NotFoundError, RefusedError, UnavailableError


@dataclass(frozen=True)
class Download:
    """What became of asking for one energy grid.

    Attributes
    ----------
    status : str
        As in the manifest: ``ok``, ``missing``, ``no_grid``, ``rejected`` or ``not_fetched``.
    body : bytes
        The zip; empty where none came.
    valid_share : float or None
        Share of the annotated voxels that have data.
    reason : str
        Why it was rejected or could not be fetched.
    """

    status: str
    body: bytes = b""
    valid_share: float | None = None
    reason: str = ""


def download_energy(
    source: AtlasSource, age: str, section_data_set_id: int, annotation: Volume
) -> Download:
    """Fetch and judge one energy zip, whose grid must have the dimensions of the annotation."""
    name = f"{age}, section data set {section_data_set_id}"
    try:
        body = source.energy(age, section_data_set_id)
    except NotFoundError:
        return Download("missing")
    except UnavailableError as error:
        return Download("not_fetched", reason=str(error))
    except RefusedError as error:
        return Download("rejected", reason=str(error))
    try:
        share = measure_valid_share(read_energy(body, name), annotation, name)
    except MissingGridError:
        return Download("no_grid", body)
    except GridError as error:
        return Download("rejected", body, reason=str(error))
    return Download("ok", body, share)


def measure_valid_share(energy: Volume, annotation: Volume, name: str) -> float:
    """Tell which share of the annotated voxels has data, to four decimals; none is an error."""
    if energy.dims != annotation.dims:
        raise GridError(
            f"{name}: DimSize={energy.dims} should equal the annotation's {annotation.dims}."
        )
    annotated = annotation.values != 0
    n_annotated = int(np.count_nonzero(annotated))
    n_valid = int(np.count_nonzero(annotated & (energy.values != NO_DATA)))
    if not n_valid:
        raise GridError(f"{name}: n_valid=0 of {n_annotated} annotated voxels should be >= 1.")
    return max(round(n_valid / n_annotated, 4), 0.0001)
