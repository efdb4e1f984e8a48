"""Planes of settings over which the recovery of the support is watched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

# Settings of a data set, and how figures write them.
SYMBOLS = {"n_samples": "n", "n_features": "p", "n_relevant": "p^*", "mu": r"\mu"}
AXES = {
    "samples_features": ("n_samples", "n_features"),
    "relevant_mu": ("n_relevant", "mu"),
}


@dataclass(frozen=True)
class Plane:
    """Two settings that vary on a grid, the others fixed."""

    x: str
    y: str
    xs: tuple[float, ...]  # ascending, as `ys`
    ys: tuple[float, ...]
    fixed: Mapping[str, float]

    @classmethod
    def named(cls, name: str, values: Mapping[str, Any]) -> Plane:
        """Make a plane of `AXES` from lists for its axes and numbers for the rest.

        Examples
        --------
        >>> values = {"n_relevant": [5, 9], "mu": [0.5], "n_samples": 30, "n_features": 50}
        >>> plane = Plane.named("relevant_mu", values)
        >>> plane.xs, plane.fixed
        ((5, 9), {'n_samples': 30, 'n_features': 50})
        """
        if name not in AXES:
            raise ValueError(f"plane={name!r} should be one of {sorted(AXES)}.")
        if set(values) != set(SYMBOLS):
            raise ValueError(f"settings={sorted(values)} should be {sorted(SYMBOLS)}.")
        x, y = AXES[name]
        fixed = {key: value for key, value in values.items() if key not in (x, y)}
        return cls(x, y, tuple(sorted(values[x])), tuple(sorted(values[y])), fixed)

    def spanned(self, n_cells: int) -> Plane:
        """Cut both axes, from end to end, into `n_cells` values even in logarithms."""
        xs, ys = (
            tuple(np.geomspace(values[0], values[-1], n_cells).tolist())
            for values in (self.xs, self.ys)
        )
        return Plane(self.x, self.y, xs, ys, self.fixed)

    def setting(self, x: float, y: float) -> dict[str, float]:
        """Give the whole setting at a point."""
        return {**self.fixed, self.x: x, self.y: y}

    def settings(self) -> list[dict[str, float]]:
        """List the settings of the grid; without noise features there is nothing to tell apart."""
        grid = [self.setting(x, y) for x in self.xs for y in self.ys]
        return [setting for setting in grid if setting["n_features"] > setting["n_relevant"]]

    def title(self) -> str:
        """Write the fixed settings as mathematics."""
        # In mathematics a bare comma is followed by a space.
        written = {name: f"{value:,g}".replace(",", "{,}") for name, value in self.fixed.items()}
        return ", ".join(f"${SYMBOLS[name]} = {value}$" for name, value in written.items())
