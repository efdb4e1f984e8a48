"""The baselines keep scikit-learn's contract and the package's."""

import numpy as np
import pytest
from bits import assert_same_bits
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import sparsekm
from sparsekm import IFPCA, SCFS, PCAKMeans, PenalizedGaussianMixture
from sparsekm.io.store import read_path, write_path

BASELINES = pytest.mark.parametrize("Estimator", [PCAKMeans, PenalizedGaussianMixture, IFPCA, SCFS])
FITTED = ["labels_", "feature_weights_", "feature_scores_", "objective_", "n_iter_"]

# tests/cluster/test_sparse_data.py checks these probabilities.
SPARSE_PROBABILITIES = dict.fromkeys(
    ["check_estimator_sparse_array", "check_estimator_sparse_matrix"],
    "the check asks whatever has predict_proba and reads sparse data for the tags of a classifier",
)


@parametrize_with_checks(
    [
        PCAKMeans(n_clusters=2),
        PenalizedGaussianMixture(n_clusters=2, n_init=3),
        IFPCA(n_clusters=2),
        SCFS(n_clusters=2),
    ],
    expected_failed_checks=lambda estimator: (
        SPARSE_PROBABILITIES if hasattr(estimator, "predict_proba") else {}
    ),
)
def test_scikit_learns_own_checks_pass(estimator, check):
    check(estimator)


# Clusters on a line are no task for IF-PCA and SC-FS: they cluster K - 1 and K singular vectors of
# equal weight, and only the first of them would hold the clusters.
@pytest.mark.parametrize(
    ("Estimator", "clear"),
    [
        (PCAKMeans, "easy_data"),
        (PenalizedGaussianMixture, "easy_data"),
        (IFPCA, "triangle_data"),
        (SCFS, "triangle_data"),
    ],
)
def test_clear_clusters_are_found_and_predicted(Estimator, clear, request):
    data = request.getfixturevalue(clear)
    fit = Estimator(3, random_state=0).fit(data.X)
    assert sparsekm.classification_error_rate(data.labels, fit.labels_) == 0
    np.testing.assert_array_equal(fit.predict(data.X), fit.labels_)
    np.testing.assert_array_equal(fit.predict(data.X[7:9]), fit.labels_[7:9])


@BASELINES
def test_scores_are_between_cluster_sums_of_squares_in_units_of_the_data(Estimator, easy_data):
    X = easy_data.X * np.linspace(0.5, 20, 30) + 100
    fit = Estimator(3, random_state=0).fit(X)
    between = sum(
        (fit.labels_ == k).sum() * (X[fit.labels_ == k].mean(axis=0) - X.mean(axis=0)) ** 2
        for k in np.unique(fit.labels_)
    )
    np.testing.assert_allclose(fit.feature_scores_, between, rtol=1e-8)


@BASELINES
def test_a_path_holds_the_one_fit_and_goes_through_a_file(Estimator, easy_data, tmp_path):
    X = easy_data.X.astype(np.float32)
    steps = []
    estimator = Estimator(3, random_state=0)
    path = estimator.path(X, None, progress=lambda *step: steps.append(step))
    fit = clone(estimator).fit(X)
    assert not hasattr(estimator, "labels_")
    assert steps == [(1, 1)]
    assert path.sparsities.tolist() == [np.count_nonzero(fit.feature_weights_)]
    np.testing.assert_array_equal(path.labels, [fit.labels_])
    np.testing.assert_array_equal(path.weights, [fit.feature_weights_])
    np.testing.assert_array_equal(path.scores, [fit.feature_scores_])
    assert path.objectives.tolist() == [fit.objective_]
    names = ("method", "dataset", "input_digest", "code_digest", "search")
    numbers = {"seed": 1, "n_clusters": 3}
    about = dict.fromkeys(names, "x") | numbers | {"parameters": {}, "versions": {}}
    write_path(tmp_path / "path.h5", path, about)
    stored, about = read_path(tmp_path / "path.h5")
    np.testing.assert_array_equal(stored.labels, path.labels)
    assert about["search"] == path.search


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@BASELINES
@pytest.mark.parametrize("shape", [(40, 500), (2500, 450)])
def test_no_bit_depends_on_the_number_of_jobs(Estimator, shape):
    rng = np.random.default_rng(3)
    X = rng.standard_normal(shape).astype(np.float32)
    X[: shape[0] // 2, :9] += 2
    few = {"n_init": 1, "random_state": 1} | (
        {"penalty": 20.0, "max_iter": 5} if Estimator is PenalizedGaussianMixture else {}
    )
    one, two = (Estimator(3, n_jobs=n_jobs, **few).fit(X) for n_jobs in (1, 2))
    assert_same_bits(one, two, FITTED)


@BASELINES
def test_float32_stays_float32(Estimator, easy_data):
    fit = Estimator(3, random_state=0).fit(easy_data.X.astype(np.float32))
    centers = fit.means_ if Estimator is PenalizedGaussianMixture else fit.cluster_centers_
    assert centers.dtype == np.float32


@BASELINES
def test_the_order_of_samples_and_features_does_not_matter(Estimator, easy_data):
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(45), rng.permutation(30)
    fit = Estimator(3, random_state=0).fit(easy_data.X)
    moved = Estimator(3, random_state=0).fit(easy_data.X[np.ix_(rows, columns)])
    assert sparsekm.classification_error_rate(fit.labels_[rows], moved.labels_) == 0
    np.testing.assert_array_equal(fit.feature_weights_[columns], moved.feature_weights_)
    np.testing.assert_allclose(fit.objective_, moved.objective_, rtol=1e-9)


@BASELINES
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_clusters": 0}, "n_clusters=0 should be >= 1"),
        ({"max_iter": 0}, "max_iter=0 should be >= 1"),
        ({"tol": -1.0}, "tol=-1.0 should be finite and >= 0"),
    ],
)
def test_parameters_out_of_range_are_named(Estimator, parameters, message, easy_data):
    with pytest.raises(ValueError, match=message):
        Estimator(**{"n_clusters": 3} | parameters).fit(easy_data.X)
