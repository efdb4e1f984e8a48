"""Which section data set speaks for a gene that has several at one age."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from sparsekm.atlas.listing import SectionDataSet

_NEVER = datetime.min.replace(tzinfo=UTC)


def choose_replicates(
    candidates: list[SectionDataSet], rule: str = "delegate"
) -> list[SectionDataSet]:
    """Choose of one gene's usable data sets, at least one, those whose energies make its column.

    ``delegate`` takes the one flagged to represent the gene; where none or several are flagged, the
    latest of those. ``latest`` takes the latest ``qc_date``, then the smallest id. ``mean`` takes
    all, to be averaged voxel by voxel over those that have data.
    """
    if rule not in REPLICATE_RULES:
        raise ValueError(f"replicates={rule!r} should be one of {', '.join(REPLICATE_RULES)}.")
    if not candidates:
        raise ValueError("n_candidates=0 should be >= 1.")
    return REPLICATE_RULES[rule](candidates)


def _choose_delegate(candidates: list[SectionDataSet]) -> list[SectionDataSet]:
    return _choose_latest([item for item in candidates if item.delegate] or candidates)


def _choose_latest(candidates: list[SectionDataSet]) -> list[SectionDataSet]:
    latest = max(item.qc_date or _NEVER for item in candidates)
    return [min((s for s in candidates if (s.qc_date or _NEVER) == latest), key=lambda s: s.id)]


def _keep_all(candidates: list[SectionDataSet]) -> list[SectionDataSet]:
    return sorted(candidates, key=lambda item: item.id)


REPLICATE_RULES: dict[str, Callable[[list[SectionDataSet]], list[SectionDataSet]]] = {
    "delegate": _choose_delegate,
    "latest": _choose_latest,
    "mean": _keep_all,
}
