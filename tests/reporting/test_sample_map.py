"""The map of samples, the field that highlights a name, and samples that are not as the others."""

from dataclasses import replace

import numpy as np
from matplotlib.colors import to_hex, to_rgb
from sklearn.decomposition import PCA

from sparsekm.figures.sample_heat_map import UNKNOWN
from sparsekm.io.readers.raw_matrix import RawMatrix
from sparsekm.pipeline.normalisation import settle_missing
from sparsekm.reporting.clusters import cluster_colors
from sparsekm.reporting.sample_map import sample_bars, samples_figure, view_map, view_special


def test_samples_lie_on_the_map_as_principal_components_place_them(matrix_result):
    axes = samples_figure(matrix_result).axes[0]
    points = np.concatenate([dots.get_offsets() for dots in axes.collections])
    method = matrix_result.primary
    kept = np.flatnonzero(method.weights)
    X = matrix_result.read_features(kept) * np.sqrt(method.weights[kept])
    names = matrix_result.obs.index.get_indexer(view_map(matrix_result)["names"])
    expected = PCA(2).fit_transform(X)[names]
    for axis in range(2):
        assert abs(np.corrcoef(expected[:, axis], points[:, axis])[0, 1]) > 0.999


def test_numbers_are_greys_and_missing_values_pale(matrix_result):
    ages = np.r_[np.linspace(20, 80, 11), np.nan]
    result = replace(matrix_result, obs=matrix_result.obs.assign(**{"annotation age": ages}))
    column = next(c for c in view_map(result)["columns"] if c["name"] == "age")
    shown = np.array(column["palette"])[column["codes"]]
    greys = 1 - (ages[:-1] - 20) / 60
    assert shown.tolist() == [*(to_hex((grey,) * 3) for grey in greys), UNKNOWN]
    assert column["legend"] == [("20", "white"), ("80", "black")]


def test_colours_are_chosen_and_a_name_is_highlighted_everywhere(matrix_result, examined):
    page = examined(matrix_result)
    (fills,) = page["maps"]
    own = cluster_colors(matrix_result)
    parts = [np.rint(255 * np.array(to_rgb(own[k]))).astype(int) for k in [0, 1, 2]]
    colors = ["rgb({}, {}, {})".format(*of_cluster) for of_cluster in parts]
    assert fills["cluster"] == np.repeat(colors, 4).tolist()
    assert list(fills) == list(sample_bars(matrix_result))
    # Once on the map and in the table of samples; not s10.
    assert page["highlighted"] == ["s0", "2", 1, ["s0"]]


def test_samples_that_are_left_out_filled_in_or_set_aside_are_listed(matrix_result):
    X = np.arange(24.0).reshape(6, 4) ** 2
    X[1, :3] = X[4, 2] = np.nan
    names = [f"s{number}" for number in range(6)]
    raw = RawMatrix.of(X.astype(np.float32))
    raw = replace(raw, about=replace(raw.about, samples=names, features=list("abcd")))
    settled = settle_missing(raw, "median", 0.4)
    assert (settled.excluded, settled.filled) == (["s1"], ["s4 (1)"])
    about = {**matrix_result.provenance, "excluded_samples": settled.excluded}
    about["filled_samples"] = np.array(settled.filled)
    trimmed = replace(matrix_result.primary, trimmed=np.eye(12, dtype=np.int8)[3])
    methods = {trimmed.name: trimmed}
    table = view_special(replace(matrix_result, provenance=about, methods=methods))
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["left out: too many values missing", "1", "s1"],
        ["values filled in (how many)", "1", "s4 (1)"],
        ["set aside as outliers", "1", "s3"],
    ]
    assert view_special(matrix_result) is None


def test_an_age_has_no_map(brain_result):
    assert view_map(brain_result) is None
    assert view_special(brain_result) is None
