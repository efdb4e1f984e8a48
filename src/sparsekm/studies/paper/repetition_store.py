"""Finished repetitions on disk, so that a job that was killed goes on where it stopped.

A store is a folder with one file per repetition, written whole or not at all. Each file carries a
digest of everything its numbers depend on; one that does not match counts as absent. Since a
repetition depends on nothing but that, results are the same whether it was computed or kept.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sparsekm.io.atomic import atomic_path
from sparsekm.studies.paper.repetition import GAP_COLUMNS, METRICS, Repetition


def parameter_digest(parameters: Mapping[str, Any]) -> str:
    """Digest plain parameters; the order of keys does not matter.

    Examples
    --------
    >>> parameter_digest({"a": 1, "b": [2]}) == parameter_digest({"b": [2], "a": 1})
    True
    """
    text = json.dumps(parameters, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


class RepetitionStore:
    """The repetitions of one setting and row, in a folder made when the first is kept.

    The digest is of everything that they depend on but their number, see `parameter_digest`.
    """

    def __init__(self, folder: str | Path, digest: str) -> None:
        self.folder = Path(folder)
        self.digest = digest

    def load(self, replicate: int) -> Repetition | None:
        """Give a kept repetition; None where it is absent, damaged or of other parameters."""
        try:
            with (
                self._file(replicate).open("rb") as opened,
                np.load(opened, allow_pickle=False) as archive,
            ):
                if str(archive["digest"]) != self.digest:
                    return None
                metrics, weights, gap = (
                    np.asarray(archive[name]) for name in ("metrics", "weights", "gap")
                )
        # A damaged file can fail anywhere inside zipfile or NumPy, with almost any error.
        except Exception:
            return None
        numbers = all(values.dtype == np.float64 for values in (metrics, weights, gap))
        if not numbers or metrics.shape != (len(METRICS),) or (weights.ndim, gap.ndim) != (1, 2):
            return None
        if not np.isfinite(weights).all() or gap.shape[1] not in (0, len(GAP_COLUMNS)):
            return None
        return Repetition(dict(zip(METRICS, metrics.tolist(), strict=True)), weights, gap)

    def keep(self, replicate: int, repetition: Repetition) -> None:
        """Write a repetition."""
        with atomic_path(self._file(replicate)) as temporary:
            np.savez_compressed(
                temporary,
                digest=np.array(self.digest),
                metrics=np.array([repetition.metrics[name] for name in METRICS]),
                weights=repetition.weights,
                gap=repetition.gap,
            )

    def _file(self, replicate: int) -> Path:
        return self.folder / f"{replicate}.npz"
