"""Samples on the page: a map of them in colours to choose, and those that are not as the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.colors import to_hex

from sparsekm.figures.sample_heat_map import Bar
from sparsekm.figures.style import DROPPED
from sparsekm.io.known_classes import is_known
from sparsekm.reporting.figures import drawn_plane, sample_bars, uses_umap
from sparsekm.reporting.page import TableView, make_table, write_text
from sparsekm.reporting.results import DatasetResult

_SIZE = 1000  # of the map, in steps of its coordinates
_MOST_SHADES = 9  # of numbers


def view_map(result: DatasetResult) -> dict[str, Any] | None:
    """Prepare the places of samples, or of some, in each plane, and their colours by columns."""
    if result.is_atlas:
        return None
    planes = []
    for kind in ("PCA", "UMAP")[: 1 + uses_umap(result)]:
        shown, points, axes = drawn_plane(result, kind == "UMAP")
        low, spread = points.min(axis=0), np.maximum(np.ptp(points, axis=0), 1e-9)
        places = np.rint(_SIZE * (points - low) / spread).astype(int)
        planes.append({"name": kind, "axes": axes, "points": places.tolist()})
    columns = [_color(name, bar, shown) for name, bar in sample_bars(result).items()]
    names = result.obs.index[shown].astype(str).tolist()
    return {"names": names, "planes": planes, "columns": columns, "size": _SIZE}


def _color(name: str, bar: Bar, shown: np.ndarray) -> dict[str, Any]:
    """Prepare the colours of samples by one column, with a legend."""
    values = np.asarray(bar.values)[shown]
    if bar.colors is None:
        known = np.isfinite(values)
        shades = [to_hex(c) for c in colormaps["viridis"](np.linspace(0, 1, _MOST_SHADES))]
        steps = np.rint(np.nan_to_num(values).clip(0, 1) * (_MOST_SHADES - 1)).astype(int)
        codes = np.where(known, steps, _MOST_SHADES)
        ends = [label for label, _ in bar.legend] or ["0", "1"]
        legend = [[ends[0], shades[0]], [ends[-1], shades[-1]]]
        return {
            "name": name,
            "palette": [*shades, DROPPED],
            "codes": codes.tolist(),
            "legend": legend,
        }
    keys = list(bar.colors)
    codes = pd.Index(keys).get_indexer(values)
    legend = list(bar.legend) or [(str(key), color) for key, color in bar.colors.items()]
    palette = list(bar.colors.values())
    return {"name": name, "palette": palette, "codes": codes.tolist(), "legend": legend}


def view_special(result: DatasetResult) -> TableView | None:
    """List the samples that were left out, set aside or filled in, and those without a class."""
    names, method = result.obs.index.astype(str).to_numpy(), result.primary
    found = {
        "left out: too many values missing": list(result.provenance.get("excluded_samples", ())),
        "values filled in (how many)": list(result.provenance.get("filled_samples", ())),
        "set aside as outliers": [],
        "no known class": [],
        "in no cluster of the fits that left them out": [],
    }
    if method.trimmed is not None:
        found["set aside as outliers"] = names[method.trimmed.astype(bool)].tolist()
    if result.n_unlabelled:
        found["no known class"] = names[~is_known(result.labels)].tolist()
    if method.left_out is not None:
        out = "in no cluster of the fits that left them out"
        found[out] = names[(method.left_out < 0) & (method.clustered >= 0)].tolist()
    rows = [(what, len(of), ", ".join(map(str, of))) for what, of in found.items() if of]
    if result.is_atlas or not rows:
        return None
    text = write_text("sample_map_text.html")
    table = pd.DataFrame(rows, columns=["what", "number", "samples"])
    return make_table(text, table, {"samples": "wide"}, result.is_simulated, kind="genes")
