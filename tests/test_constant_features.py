"""Features that do not vary change nothing that is found, however many there are."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.cluster import AgglomerativeClustering
from small_estimators import ESTIMATORS, WITH_PATHS

from sparsekm import GapSearch, L0KMeans, L1KMeans, SparseClustering, SparseKMeans

pytestmark = pytest.mark.usefixtures("one_repeat")
N_CONSTANT = 300
FITTED = {
    **ESTIMATORS,
    "l0, share": L0KMeans(3, sparsity=0.3, search="alternate", n_init=2),
    "l1, all": L1KMeans(3, n_init=2),
    "gap, own grid": GapSearch(L0KMeans(3, n_init=2), n_references=2, rule="auto", n_refined=2),
    "gap, gaussian": GapSearch(L1KMeans(3, n_init=2), reference="gaussian", n_references=2),
    "sparse, share": SparseKMeans(3, sparsity=0.3),
    "sparse, l1": SparseKMeans(3, penalty="l1"),
    "components": clone(ESTIMATORS["principal components"]).set_params(n_components=3),
    "linkage": SparseClustering(AgglomerativeClustering(3), sparsity=0.3, n_init=2),
}
# What names the columns, or holds what else is learned.
OTHERS = {"n_features_in_", "best_estimator_", "path_", "limit_", "batch_centred_", "result_"}


@pytest.fixture(scope="module", name="X")
def samples():
    X = np.random.default_rng(5).normal(size=(36, 20))
    X[:12, :6] += 4
    X[12:24, 4:9] -= 4
    return X


@pytest.fixture(scope="module", name="places")
def places_of_those_that_vary():
    return np.sort(np.random.default_rng(0).permutation(20 + N_CONSTANT)[:20])


@pytest.fixture(scope="module", name="wider")
def with_constant_features(X, places):
    # No sum of 0.1 is exact.
    wider = np.tile(np.resize([0.1, -1e9, 0.0, 3.0], 20 + N_CONSTANT), (len(X), 1))
    wider[:, places] = X
    return wider


def assert_same(found, expected):
    if isinstance(expected, pd.DataFrame):
        pd.testing.assert_frame_equal(found, expected)
    elif isinstance(expected, str):
        assert found == expected
    else:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("name", "kind"),
    [*((name, np.asarray) for name in FITTED), *((name, csr_array) for name in ESTIMATORS)],
)
def test_constant_features_change_nothing_and_get_nothing(name, kind, X, wider, places):
    estimator = clone(FITTED[name]).set_params(random_state=0)
    expected, fit = (clone(estimator).fit(kind(values)) for values in (X, wider))
    constant = np.setdiff1d(np.arange(wider.shape[1]), places)
    learned = {part: value for part, value in vars(expected).items() if part[-1] == "_"}
    assert {"labels_", "feature_weights_"} <= learned.keys()
    for part in learned.keys() - OTHERS:
        found, value = getattr(fit, part), learned[part]
        if part in ("signature_", "cluster_signatures_"):
            pairs = [(found, value)] if part == "signature_" else zip(found, value, strict=True)
            assert all(np.array_equal(own, places[features]) for own, features in pairs)
        elif np.shape(value)[-1:] == (20,):
            nothing = {"p_values_": 1, "cluster_centers_": wider[0], "means_": wider[0]}.get(
                part, 0
            )
            np.testing.assert_array_equal(found[..., places], value)
            assert (found[..., constant] == np.broadcast_to(nothing, 320)[constant]).all(), part
        else:
            assert_same(found, value)
    if hasattr(fit, "predict"):
        np.testing.assert_array_equal(fit.predict(kind(wider)), expected.predict(kind(X)))


@pytest.mark.parametrize("name", WITH_PATHS)
def test_a_path_is_that_of_the_features_that_vary(name, X, wider, places):
    estimator = clone(WITH_PATHS[name]).set_params(random_state=0)
    grid = [0.2, 3, 8] if name != "l1" else [1.2, 2, 3]
    expected, path = (estimator.path(values, grid) for values in (X, wider))
    for attribute in ("sparsities", "n_selected", "objectives", "first_objectives", "labels"):
        np.testing.assert_array_equal(getattr(path, attribute), getattr(expected, attribute))
    for attribute in ("weights", "scores"):
        values, of_varying = getattr(path, attribute), getattr(expected, attribute)
        np.testing.assert_array_equal(values[:, places], of_varying)
        assert np.count_nonzero(values) == np.count_nonzero(of_varying)


@pytest.mark.parametrize("search", ["alternate", "global"])
def test_constant_features_are_taken_last_and_the_first_of_them_first(wider, places, search):
    estimator = L0KMeans(3, search=search, n_init=1, random_state=0)
    rest, counts = np.setdiff1d(np.arange(wider.shape[1]), places), [19, 20, 22, 320]
    for weights, count in zip(estimator.path(wider, counts).weights, counts, strict=True):
        assert weights[places].sum() == min(count, 20)
        assert np.flatnonzero(weights[rest]).tolist() == list(range(max(0, count - 20)))
    with pytest.raises(ValueError, match="sparsity=321 should be <= n_features=320"):
        L0KMeans(3, sparsity=321).fit(wider)


def test_a_search_has_no_more_features_than_vary(X, wider, places):
    search = GapSearch(L0KMeans(3, n_init=1), sparsities=[5, 40, 300], n_references=2)
    assert search.fit(wider).results_["n_selected"].tolist() == [5, 20]
    fit = SparseKMeans(3, sparsity=300, random_state=0).fit(wider)
    assert fit.sparsity_ == 20
    np.testing.assert_array_equal(np.flatnonzero(fit.get_support()), places)
