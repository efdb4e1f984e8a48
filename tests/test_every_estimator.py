"""Scikit-learn's contract and the package's, kept by every public estimator."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from small_estimators import BASELINES, EVERY, WITH_PATHS

import sparsekm
from sparsekm import GapSearch, KMeans, L0KMeans, L1KMeans, SparseKMeans, StreamedMatrix
from sparsekm.metrics import classification_error_rate

FITTED = {
    **EVERY,
    "principal components": clone(BASELINES["principal components"]).set_params(n_components=2),
    "sparse, l1": SparseKMeans(3, penalty="l1"),
}
pytestmark = pytest.mark.usefixtures("one_repeat")
EACH = pytest.mark.parametrize("name", FITTED)
OF_PATHS = pytest.mark.parametrize("name", WITH_PATHS)
TRUTH = np.repeat([0, 1, 2], [15, 12, 13])
FEATURES = [f"gene {j}" for j in range(30)]

# Nothing can be chosen for one cluster: tests/test_refused_before_any_work.py.
OF_ONE_CLUSTER = dict.fromkeys(
    [
        "check_dont_overwrite_parameters",
        "check_fit2d_1feature",
        "check_fit2d_1sample",
        "check_fit2d_predict1d",
        "check_methods_subset_invariance",
    ],
    "the check sets n_clusters=1, which is refused",
)
# tests/cluster/test_sparse_data.py checks these probabilities.
SPARSE_PROBABILITIES = dict.fromkeys(
    ["check_estimator_sparse_array", "check_estimator_sparse_matrix"],
    "the check asks whatever has predict_proba and reads sparse data for the tags of a classifier",
)


# The checks shuffle the samples and compare labels, which are numbered by first appearance.
# `test_a_weight_of_two_is_the_sample_twice` compares what does not depend on the order.
SHUFFLED = {
    f"check_sample_weight_equivalence_on_{kind}_data": "clusters are numbered by first appearance"
    for kind in ("dense", "sparse")
}


def expected_failures(estimator):
    if isinstance(estimator, SparseKMeans):
        return OF_ONE_CLUSTER | SHUFFLED
    if isinstance(estimator, KMeans | L0KMeans | L1KMeans | GapSearch):
        return SHUFFLED
    return SPARSE_PROBABILITIES if hasattr(estimator, "predict_proba") else {}


@parametrize_with_checks(
    [
        *(clone(baseline).set_params(n_clusters=2) for baseline in BASELINES.values()),
        clone(EVERY["framework"]).set_params(clusterer__n_clusters=2, sparsity=0.5),
        KMeans(n_clusters=2, n_init=2),
        SparseKMeans(n_clusters=2),
        L0KMeans(n_clusters=2, n_init=2, sparsity=0.5),
        L1KMeans(n_clusters=2, n_init=1, sparsity=1.0, search="global"),
        GapSearch(L1KMeans(n_clusters=2, n_init=1), n_references=2, rule="one-se"),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learns_own_checks_pass(estimator, check):
    check(estimator)


COMMON = {"n_clusters": 8, "min_cluster_size": 1, "random_state": None, "n_jobs": None}
COMMON["verbose"] = 0
SPARSE = {**COMMON, "n_init": 10, "sparsity": None, "search": "auto", "init": None, "tol": 1e-4}
DEFAULTS = {
    KMeans: {**COMMON, "n_init": 10},
    L0KMeans: SPARSE,
    L1KMeans: SPARSE,
    SparseKMeans: COMMON
    | {"n_clusters": "auto"}
    | {"penalty": "l0", "sparsity": "auto", "selection": "relevant", "screening": "auto"}
    | {"max_samples": None},
    GapSearch: {"sparsities": None, "n_references": 10, "reference": "permutation", "rule": "max"}
    | {"n_refined": 0, "max_samples": None, "n_jobs": None, "random_state": None, "verbose": 0},
}


@pytest.mark.parametrize("Estimator", DEFAULTS)
def test_the_defaults_are_those_of_the_contract(Estimator):
    expected = DEFAULTS[Estimator]
    given = [L0KMeans(3)] if Estimator is GapSearch else []
    parameters = Estimator(*given).get_params(deep=False)
    assert {name: parameters[name] for name in expected} == expected
    with pytest.raises(TypeError):
        Estimator(*given, 8, "l0")


@pytest.fixture(scope="module", name="X")
def three_clear_clusters():
    """Clusters whose means form a triangle, in nine of thirty features."""
    X = np.random.default_rng(1).standard_normal((40, 30))
    X[:, :9] += 6 * (TRUTH[:, None] == np.arange(9) % 3)
    X.setflags(write=False)
    return X


@pytest.fixture(scope="module", name="frame")
def table_of_them(X):
    return pd.DataFrame(X, columns=FEATURES, index=np.arange(40) + 100)


def make(name, **parameters):
    return clone(FITTED[name]).set_params(random_state=0, **parameters)


@pytest.fixture(scope="module")
def fits(X):
    """Give the function that fits an estimator by its name to these clusters, once."""
    return cache(lambda name: make(name).fit(X))


@EACH
def test_pipelines_and_names_of_kept_features_are_scikit_learns(name, frame):
    pipeline = make_pipeline(StandardScaler(), make(name)).set_output(transform="pandas")
    kept = pipeline.fit_transform(7 * frame + 3)
    fit = pipeline[-1]
    assert classification_error_rate(TRUTH, fit.labels_) == 0
    assert fit.feature_names_in_.tolist() == FEATURES
    names = np.array(FEATURES)[fit.get_support()].tolist()
    assert kept.columns.tolist() == fit.get_feature_names_out().tolist() == names
    assert kept.index.tolist() == frame.index.tolist()
    np.testing.assert_allclose(kept, StandardScaler().fit_transform(frame)[:, fit.get_support()])
    if hasattr(fit, "predict"):
        np.testing.assert_array_equal(pipeline.predict(7 * frame + 3), fit.labels_)
        with pytest.raises(ValueError, match="feature names should match"):
            fit.predict(frame.rename(columns={"gene 0": "other"}))


@EACH
def test_what_is_learned_belongs_together(name, X, fits):
    fit = fits(name)
    best, labels = getattr(fit, "best_estimator_", fit), fit.labels_
    assert (labels.dtype, fit.n_features_in_) == (np.int32, 30)
    assert best.n_iter_ >= 1
    # Clusters are numbered by their first sample.
    np.testing.assert_array_equal(pd.factorize(labels)[0], labels)
    np.testing.assert_array_equal(fit.get_support(), fit.feature_weights_ > 0)
    np.testing.assert_array_equal(fit.transform(X), X[:, fit.get_support()])
    # Sums of squares between clusters, in units of the data; of SparseKMeans, of its z-scores.
    unit = X.std(axis=0, ddof=1) if isinstance(fit, SparseKMeans) else 1.0
    means = np.array([X[labels == k].mean(axis=0) for k in range(3)])
    between = np.bincount(labels) @ np.square((means - X.mean(axis=0)) / unit)
    np.testing.assert_allclose(best.feature_scores_, between, rtol=1e-9)
    if hasattr(best, "cluster_centers_"):
        np.testing.assert_allclose(best.cluster_centers_, means, rtol=1e-9, atol=1e-12)
    # Baselines maximise something else.
    if name not in BASELINES:
        found = fit.feature_weights_ @ best.feature_scores_
        assert best.objective_ == pytest.approx(found, rel=1e-12)


@EACH
def test_float32_stays_float32(name, X, fits):
    for fit, dtype in ((make(name).fit(X.astype(np.float32)), np.float32), (fits(name), float)):
        assert fit.transform(X.astype(dtype)).dtype == dtype
        fit = getattr(fit, "best_estimator_", fit)
        assert getattr(fit, "means_" if name == "mixture" else "cluster_centers_").dtype == dtype
        assert classification_error_rate(TRUTH, fit.labels_) == 0


@EACH
def test_the_order_of_samples_and_features_changes_nothing_on_clear_clusters(name, X, fits):
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(40), rng.permutation(30)
    fit, moved = fits(name), make(name).fit(X[np.ix_(rows, columns)])
    assert classification_error_rate(fit.labels_[rows], moved.labels_) == 0
    np.testing.assert_allclose(moved.feature_weights_, fit.feature_weights_[columns], rtol=1e-9)


@EACH
@pytest.mark.parametrize(("unit", "zero"), [(1e-6, -1.0), (1e6, 1e10), (1.0, 1e8)])
def test_a_unit_and_a_zero_for_all_change_scores_and_centres_only(name, X, fits, unit, zero):
    fit, moved = fits(name), make(name).fit(unit * X + zero)
    np.testing.assert_array_equal(moved.labels_, fit.labels_)
    np.testing.assert_allclose(moved.feature_weights_, fit.feature_weights_, rtol=1e-6, atol=1e-9)
    assert getattr(moved, "conclusion_", None) == getattr(fit, "conclusion_", None)
    fit, moved = (getattr(found, "best_estimator_", found) for found in (fit, moved))
    squared = 1.0 if isinstance(fit, SparseKMeans) else unit**2
    np.testing.assert_allclose(moved.feature_scores_, squared * fit.feature_scores_, rtol=1e-5)
    if name not in BASELINES:
        assert moved.objective_ == pytest.approx(squared * fit.objective_, rel=1e-6)
    centers = "means_" if name == "mixture" else "cluster_centers_"
    expected = unit * getattr(fit, centers) + zero
    np.testing.assert_allclose(getattr(moved, centers), expected, rtol=1e-9, atol=1e-6 * unit)


@EACH
def test_the_same_seed_gives_the_same_bits_and_the_global_generator_is_not_used(name, X):
    def state():
        return str(np.random.get_state())  # noqa: NPY002 - the generator nobody may touch

    before, seeds = state(), [np.random.default_rng(5) for _ in "ab"]
    one, other = (clone(FITTED[name]).set_params(random_state=rng).fit(X) for rng in seeds)
    for attribute in ("labels_", "feature_weights_"):
        assert getattr(one, attribute).tobytes() == getattr(other, attribute).tobytes()
    assert state() == before


def with_small_integers(estimator):
    """Give every integer parameter as the smallest of NumPy's integers that holds it."""
    for name, value in estimator.get_params().items():
        if type(value) is int:
            estimator.set_params(**{name: (np.int8 if value < 128 else np.int16)(value)})
        elif name == "sparsities":
            estimator.set_params(sparsities=[np.int8(number) for number in value])
    return estimator


@EACH
def test_integers_of_numpy_mean_the_same(name, X):
    limits = {"min_cluster_size": 3, "max_samples": 38}
    limits = {part: value for part, value in limits.items() if part in FITTED[name].get_params()}
    usual = make(name, **limits).fit(X)
    fit = with_small_integers(make(name, **limits)).fit(X)
    np.testing.assert_array_equal(fit.labels_, usual.labels_)
    np.testing.assert_array_equal(fit.feature_weights_, usual.feature_weights_)


# These are attributes of data that are no data frame.
@EACH
def test_any_name_of_a_column_is_allowed(name, X, fits):
    names = ["n_features", "n_samples", "to_scipy_sparse", "compute", "shape", "dtype", "labels_"]
    named = make(name).fit(pd.DataFrame(X, columns=names + FEATURES[len(names) :]))
    np.testing.assert_array_equal(named.labels_, fits(name).labels_)
    assert named.feature_names_in_[:2].tolist() == names[:2]


def test_clusters_of_many_samples_are_counted_in_full():
    X = np.random.default_rng(0).normal(size=(320, 4))
    estimator = L0KMeans(16, min_cluster_size=16, n_init=1, sparsity=2, random_state=0)
    assert np.bincount(with_small_integers(estimator).fit(X).labels_).min() >= 16


def test_every_public_estimator_is_in_the_lists():
    public = [getattr(sparsekm, name) for name in sparsekm.__all__]
    estimators = {kind for kind in public if hasattr(kind, "get_params")}
    assert estimators <= {type(estimator) for estimator in FITTED.values()}


def state(estimator):
    return {name: id(value) for name, value in vars(estimator).items()}


@OF_PATHS
def test_a_path_leaves_an_estimator_as_it_was(name, X, frame):
    fresh, fitted = make(name), make(name).fit(frame)
    before, predicted = [state(fresh), state(fitted)], fitted.predict(frame)
    fresh.path(X, [2, 3])
    fitted.path(X[:, :12], [2, 3])
    assert [state(fresh), state(fitted)] == before
    np.testing.assert_array_equal(fitted.predict(frame), predicted)
    with pytest.raises(NotFittedError):
        fresh.predict(X)


@EACH
def test_a_fit_that_fails_leaves_an_estimator_unfitted(name, X):
    estimator = make(name)
    with pytest.raises(ValueError, match="n_samples=1|minimum of 2"):
        estimator.fit(X[:1])
    for use in {"predict", "transform"} & set(dir(estimator)):
        with pytest.raises(NotFittedError):
            getattr(estimator, use)(X)


@EACH
def test_a_fit_without_names_forgets_those_of_the_fit_before(name, X, frame):
    others = [X, StreamedMatrix(X[:, :20].copy())] if name in ("k-means", "l0", "l1") else [X]
    for other in others:
        estimator = make(name).fit(frame)
        assert estimator.feature_names_in_.tolist() == FEATURES
        estimator.fit(other)
        assert not hasattr(estimator, "feature_names_in_")
        assert estimator.n_features_in_ == other.shape[1]


def test_a_conclusion_goes_with_the_rule_that_drew_it(X):
    search = make("gap").set_params(rule="auto").fit(X)
    assert "features" in search.conclusion_
    assert search.set_params(rule="max").fit(X).conclusion_ is None
