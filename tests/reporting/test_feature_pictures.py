"""Pictures of features: blocks of the heat map, the signature, distributions, measured leads."""

from base64 import b64decode
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from sparsekm.cluster.matrices.scaled_data import ScaledData
from sparsekm.reporting import feature_pictures
from sparsekm.reporting.clusters import view_markers
from sparsekm.reporting.feature_pictures import dot_figure, shown_features, view_distributions
from sparsekm.reporting.figures import answer_figure
from sparsekm.tuning.chosen_fit import find_clusters
from sparsekm.tuning.sparse_kmeans import SparseKMeans


@pytest.fixture
def uneven(matrix_result):
    """A result whose features of largest score all mark one cluster of three."""
    method = matrix_result.methods["l0"]
    centers = np.array([[3, 3, 3, 0.1, 0, 0.3], [-1, -2, -1, 0.2, 0, 0.1], [-2, -1, -2, 0, 0.4, 0]])
    changed = replace(method, centers=centers, weights=np.ones(6), signature=np.arange(2))
    return replace(matrix_result, methods={"l0": changed})


def test_every_cluster_has_a_block_of_as_many_features(uneven, monkeypatch):
    monkeypatch.setattr(feature_pictures, "MOST_FEATURES", 6)
    features, marked = shown_features(uneven)
    assert features.tolist() == [0, 1, 2, 3, 4, 5]
    assert np.bincount(marked).tolist() == [2, 2, 2]
    heat_map = next(
        axes
        for axes in answer_figure(uneven).findobj()
        if len(getattr(axes, "images", [])) and len(axes.get_yticks()) == 6
    )
    names = [label.get_text() for label in heat_map.get_yticklabels()]
    order = [
        list(uneven.var.index).index(name) if name in uneven.var.index else 5 for name in names
    ]
    assert marked[order].tolist() == [0, 0, 1, 1, 2, 2]


def test_the_dots_of_the_signature_are_means_and_shares_above_the_mean(uneven):
    dots = dot_figure(uneven).axes[0].collections[0]
    X, labels = uneven.read_features([0, 1]), uneven.methods["l0"].labels
    means = [X[labels == k].mean(axis=0) for k in range(3)]
    np.testing.assert_allclose(dots.get_array(), np.ravel(means), rtol=1e-6)
    above = [(X[labels == k] > 0).mean() for k in range(3)]
    np.testing.assert_allclose((dots.get_sizes().reshape(3, 2).mean(axis=1) - 25) / 105, above)


def decoded(view, n_rows):
    code = np.frombuffer(b64decode(view["code"]), np.int8).reshape(n_rows, -1)
    return np.split(code * view["step"], np.cumsum(view["columns"])[:-1], axis=1)


def test_distributions_are_all_values_or_where_they_would_not_fit_quantiles(
    matrix_result, monkeypatch
):
    names = ["g3", "g1"]
    X, labels = matrix_result.read_features([0, 2])[:, ::-1], matrix_result.primary.labels
    view = view_distributions(matrix_result, names)
    for number, part in enumerate(decoded(view, 2)):
        own = np.sort(X[labels == number], axis=0).T
        np.testing.assert_allclose(part, own, atol=0.026)
    # Room for one of the two features.
    monkeypatch.setattr(feature_pictures, "_MOST_NUMBERS", 20)
    monkeypatch.setattr(feature_pictures, "_N_QUANTILES", 5)
    view = view_distributions(matrix_result, names)
    for number, part in enumerate(decoded(view, 1)):
        own = X[labels == number, 0]
        expected = [[np.quantile(own, share) for share in (0, 0.25, 0.5, 0.75, 1)]]
        np.testing.assert_allclose(part, expected, atol=0.026)


def test_a_row_of_the_table_opens_the_distribution_of_its_feature(matrix_result, examined):
    page = examined(matrix_result)
    ((name, *medians),) = page["distributions"]
    X, labels = matrix_result.read_features(range(6)), matrix_result.primary.labels
    own = X[:, list(matrix_result.var.index).index(name)]
    for number, median in enumerate(medians):
        # One of the four values, which lie on either side of the median.
        assert np.abs(np.sort(own[labels == number])[1:3] - median).min() <= 0.03


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_leads_of_features_are_those_of_left_out_samples(matrix_result, kind):
    X = np.random.default_rng(3).normal(size=(90, 60))
    X[np.arange(90) % 3 == 0, :8] += 1.2
    data = ScaledData.standardise(X)
    # Of sparse data the centre is beside the values.
    stored = replace(data, X=csr_array(data.X + 1), center=np.ones(60))
    given = data if kind is np.asarray else stored
    found = find_clusters(SparseKMeans(2, random_state=0, n_jobs=1), given, seed=0)
    for number in range(2):
        own = data.X[found.left_out == number].mean(axis=0)
        np.testing.assert_allclose(found.left_out_centers[number], own, atol=1e-6)
    assert not np.allclose(found.left_out_centers, found.centers, atol=0.01)
    sparse = matrix_result.methods["l0"]
    halved = replace(sparse, left_out_centers=sparse.centers / 2)
    shown = [view_markers(replace(matrix_result, methods={"l0": m})) for m in (sparse, halved)]
    place = [head.text for head in shown[0].heads].index("higher than in the others")
    leads = [float(table.rows[0][place].text.split(",")[0].split("+")[1]) for table in shown]
    assert leads[1] == pytest.approx(leads[0] / 2, abs=0.051)
