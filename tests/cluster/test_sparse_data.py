"""Sparse data are clustered as the same data dense are, without being made dense."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from small_estimators import BASELINES

from sparsekm import GapSearch, KMeans, L0KMeans, L1KMeans, SparseClustering, SparseKMeans
from sparsekm.cluster.matrices import sparse_matrix
from sparsekm.cluster.screening import marginal_scores
from sparsekm.metrics import error_clustering_rate

N_CLUSTERS = 4
FITTED = ["feature_weights_", "feature_scores_", "cluster_centers_", "means_", "objective_"]


def draw(n=5000, p=40, dtype=np.float64):
    """Draw mostly zeros: markers, an empty row, an empty column, constants, a full column."""
    rng = np.random.default_rng(3)
    labels = rng.integers(N_CLUSTERS, size=n)
    X = np.where(rng.random((n, p)) < 0.15, rng.exponential(1.0, (n, p)), 0.0)
    for j in range(8):
        own = np.flatnonzero(labels == j % N_CLUSTERS)
        X[own, j] = np.where(rng.random(len(own)) < 0.8, 2 + 0.4 * rng.normal(size=len(own)), 0)
    X[:, 20] = 0
    X[:, 21] = 0.1
    X[:, 22] = 50 + rng.normal(size=n) * 0.1
    X[5] = 0
    X[5, 21:23] = 0.1, 50
    return X.astype(dtype)


ESTIMATORS = [
    KMeans(N_CLUSTERS, n_init=2, random_state=0),
    L0KMeans(N_CLUSTERS, sparsity=8, n_init=2, random_state=0),
    L0KMeans(N_CLUSTERS, sparsity=30, search="alternate", n_init=2, random_state=0),
    L0KMeans(N_CLUSTERS, sparsity=8, init="screened", n_init=2, random_state=0),
    L1KMeans(N_CLUSTERS, sparsity=3, n_init=2, random_state=0),
    SparseClustering(KMeans(N_CLUSTERS, n_init=1), sparsity=8, n_init=2, random_state=0),
    *(
        clone(baseline).set_params(n_clusters=N_CLUSTERS, random_state=0)
        for baseline in BASELINES.values()
    ),
]


def assert_fits_alike(estimator, X, kind=sparse.csr_array):
    dense, stored = clone(estimator).fit(X), clone(estimator).fit(kind(X))
    np.testing.assert_array_equal(stored.labels_, dense.labels_)
    for name in FITTED:
        if hasattr(dense, name):
            found, expected = getattr(stored, name), getattr(dense, name)
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    return stored


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_fit_is_that_of_the_dense_data(estimator):
    X = draw(5000)
    fit = assert_fits_alike(estimator, X)
    assert fit.feature_scores_[[20, 21]].tolist() == [0.0, 0.0]
    if hasattr(fit, "predict_proba"):
        found, expected = fit.predict_proba(sparse.csr_array(X)), fit.predict_proba(X)
        np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize(("Estimator", "grid"), [(L1KMeans, [2, 3]), (L0KMeans, [8, 39])])
def test_a_search_is_that_of_the_dense_data(Estimator, grid):
    tuned = {"sparsities": grid, "n_references": 2, "rule": "auto", "random_state": 0}
    X, search = draw(700), GapSearch(Estimator(N_CLUSTERS, n_init=1), **tuned)
    found = assert_fits_alike(search, X, sparse.csc_array)
    np.testing.assert_array_equal(found.predict(sparse.csc_array(X)), found.labels_)
    assert sparse.issparse(found.transform(sparse.csc_array(X)))


@pytest.mark.parametrize("guard", [1, 60])
@pytest.mark.parametrize("estimator", [ESTIMATORS[0], ESTIMATORS[1], ESTIMATORS[4]])
def test_a_search_of_the_stored_values_is_that_of_the_dense_data(estimator, guard, monkeypatch):
    # A share that no data have: nothing is searched dense.
    monkeypatch.setattr(sparse_matrix, "FEW_VALUES", 0)
    monkeypatch.setattr(sparse_matrix, "SEARCHED_SHARE", 2)
    assert_fits_alike(clone(estimator).set_params(min_cluster_size=guard), draw(400))


@pytest.mark.parametrize("sparsity", [100, 8000])
def test_wide_data_of_few_stored_values_are_never_dense(sparsity, peak_bytes):
    n, p, k = 600, 2**17, 3
    rng = np.random.default_rng(0)
    classes = np.arange(n) % k
    # Of 60 values of a sample 20 are in the 30 features of its class.
    columns = rng.integers(p, size=(n, 60))
    columns[:, :20] = rng.integers(30, size=(n, 20)) + 1000 * classes[:, None]
    values = rng.exponential(1, columns.size)
    X = sparse.csr_array(sparse.coo_array((values, (np.repeat(np.arange(n), 60), columns.ravel()))))
    estimator = L0KMeans(k, sparsity=sparsity, n_init=1, random_state=0)
    estimator.fit(X[:60])  # Loads the kernels.
    peak = peak_bytes(estimator.fit, X)
    # Some vectors of all features, and centres; dense, those that vary take 90 MB.
    assert peak < 30e6
    assert estimator.feature_weights_.shape == (X.shape[1],)
    assert error_clustering_rate(classes, estimator.labels_) == 0


@pytest.mark.parametrize(
    ("kind", "dtype", "indices"),
    [(sparse.csr_array, np.float32, np.int64), (sparse.csc_matrix, np.float64, np.int32)],
)
def test_formats_dtypes_and_widths_of_indices_make_no_difference(kind, dtype, indices):
    X = draw(dtype=dtype)
    estimator = L0KMeans(N_CLUSTERS, sparsity=8, n_init=1, random_state=0)
    expected = estimator.fit(X).labels_.copy()
    given = kind(X)
    given.indices, given.indptr = given.indices.astype(indices), given.indptr.astype(indices)
    before = given.copy()
    estimator.fit(given)
    np.testing.assert_array_equal(estimator.labels_, expected)
    np.testing.assert_array_equal(estimator.predict(given), expected)
    np.testing.assert_array_equal(estimator.predict(X), expected)
    assert estimator.cluster_centers_.dtype == dtype
    assert sparse.issparse(estimator.transform(given))
    assert estimator.transform(given).shape == (5000, 8)
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(given, part), getattr(before, part))


def test_explicit_zeros_duplicates_and_unsorted_indices_are_what_they_add_up_to():
    X = draw()
    expected = clone(ESTIMATORS[1]).fit(X)
    marked = X.copy()
    marked[X[:, 30] == 0, 30] = -1
    stored = sparse.csr_array(marked[:, ::-1])
    # Every value in two parts, in descending order of features; zeros that were marked are stored.
    values = np.outer(np.maximum(stored.data, 0), [0.25, 0.75]).ravel()
    places = np.repeat(39 - stored.indices, 2), 2 * stored.indptr
    given = sparse.csr_array((values, *places), shape=X.shape)
    found = clone(ESTIMATORS[1]).fit(given)
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    np.testing.assert_allclose(found.feature_scores_, expected.feature_scores_)
    assert given.nnz == len(values)


def test_nothing_of_the_size_of_the_dense_matrix_is_made(peak_bytes):
    n, p = 30_000, 400
    rng = np.random.default_rng(0)
    X = sparse.random_array((n, p), density=0.02, format="csr", rng=rng)
    estimator = L0KMeans(3, sparsity=40, n_init=1, random_state=0)
    estimator.fit(X[:5000])
    peak = peak_bytes(estimator.fit, X)
    # The search holds dense samples of 4,096 rows, with copies of them.
    assert peak < n * p * 8 / 2


@pytest.mark.parametrize(
    ("kind", "bound", "wrong"),
    [(sparse.csr_array, "n_features=40", -1), (sparse.csc_array, "n_samples=5000", 5000)],
)
def test_indices_out_of_range_are_named(kind, bound, wrong):
    X = kind(draw())
    X.indices[17] = wrong
    message = rf"X.indices holds {wrong}; should be >= 0 and < {bound}"
    estimator = L0KMeans(N_CLUSTERS, sparsity=8, n_init=1, random_state=0)
    fitted = clone(estimator).fit(draw(100))
    for read in (estimator.fit, fitted.predict, fitted.transform, marginal_scores):
        with pytest.raises(ValueError, match=message):
            read(X)


# A process would end without a word if the indices were followed.
@pytest.mark.parametrize(
    "estimator",
    [
        *ESTIMATORS,
        GapSearch(ESTIMATORS[1], sparsities=[8], n_references=2),
        SparseKMeans(N_CLUSTERS, sparsity=8),
    ],
)
def test_every_estimator_selects_features_only_from_what_was_checked(estimator):
    # What a fit learns of the selection.
    estimator = clone(estimator)
    estimator.feature_weights_, estimator.n_features_in_ = np.arange(40) < 8, 40
    X = sparse.csr_array(draw(100))
    assert estimator.transform(X).shape == (100, 8)
    back = X[:, :8].copy()
    X.indices[17] = back.indices[17] = 10**9
    for read, values in ((estimator.transform, X), (estimator.inverse_transform, back)):
        with pytest.raises(ValueError, match="X.indices holds 1000000000; should be >= 0 and < "):
            read(values)


def test_pointers_that_do_not_rise_are_named():
    X = sparse.csr_array(draw())
    X.indptr[3] = X.indptr[-1] + 5
    with pytest.raises(ValueError, match=r"X.indptr should have .* \(CSR format\), begin "):
        KMeans(2).fit(X)


def test_what_cannot_be_clustered_is_refused_as_dense_data_are():
    X = sparse.csr_array(draw())
    X.data[100] = np.inf
    with pytest.raises(ValueError, match="contains infinity"):
        KMeans(2).fit(X)
    with pytest.raises(ValueError, match="features are constant"):
        KMeans(2).fit(sparse.csr_array((5000, 5)))
    few = sparse.csr_array(np.repeat(np.eye(3), 1000, axis=0))
    with pytest.raises(ValueError, match="number of distinct samples, 3"):
        KMeans(4).fit(few)
