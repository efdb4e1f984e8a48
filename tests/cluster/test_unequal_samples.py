"""A sample of weight two counts as if it were given twice; outliers are set aside."""

from itertools import combinations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from small_estimators import weighing_estimators

from sparsekm import SparseClustering, StreamedMatrix, classification_error_rate
from sparsekm.cluster.estimators import KMeans, L0KMeans, L1KMeans
from sparsekm.cluster.matrices.matrix import CentredMatrix
from sparsekm.cluster.partition_step import KMeansPartition
from sparsekm.cluster.sample_weights import repeat_counts, repeat_samples
from sparsekm.cluster.trimming import keep_nearest, start_trimmed

pytestmark = pytest.mark.usefixtures("one_repeat")
ESTIMATORS = weighing_estimators(3, kept=4)
LEARNED = ("labels_", "feature_weights_", "feature_scores_", "cluster_centers_", "objective_")


@pytest.fixture(scope="module")
def weights():
    return np.random.default_rng(3).integers(1, 4, size=36)


def assert_same(fit, other, names=LEARNED, **tolerance):
    for name in names:
        one, two = getattr(fit, name), getattr(other, name)
        np.testing.assert_allclose(one, two, err_msg=name, **{"rtol": 1e-12, **tolerance})


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_a_weight_of_two_is_the_sample_twice(make_estimator, clear_data, weights, kind):
    fit = make_estimator(random_state=0).fit(kind(clear_data.X), sample_weight=weights)
    rows = np.repeat(np.arange(36), weights)
    twice = make_estimator(random_state=0).fit(kind(clear_data.X[rows]))
    np.testing.assert_array_equal(fit.labels_[rows], twice.labels_)
    assert_same(fit, twice, LEARNED[1:], atol=1e-9)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_equal_weights_change_nothing(name, faint_data):
    plain, fit = (
        clone(ESTIMATORS[name]).fit(faint_data.X, sample_weight=given) for given in (None, [1] * 30)
    )
    names = ("labels_", "feature_weights_", "objective_")
    assert_same(*(getattr(found, "best_estimator_", found) for found in (fit, plain)), names)


def test_the_scale_of_weights_changes_that_of_scores_only(make_estimator, faint_data, weights):
    fit, scaled = (
        make_estimator(random_state=0).fit(faint_data.X, sample_weight=scale * weights[:30])
        for scale in (1.0, 0.7)
    )
    assert_same(scaled, fit, ["labels_", "feature_weights_", "cluster_centers_"], atol=1e-12)
    assert scaled.objective_ == pytest.approx(0.7 * fit.objective_, rel=1e-12)
    np.testing.assert_allclose(scaled.feature_scores_, 0.7 * fit.feature_scores_, rtol=1e-9)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_weight_of_any_size_is_taken_beside_one(name, clear_data):
    fits = []
    for largest in (1e12, 1e300):
        given = np.where(np.arange(36) == 3, largest, 1.0)
        fits.append(clone(ESTIMATORS[name]).fit(clear_data.X, sample_weight=given))
    best = [getattr(fit, "best_estimator_", fit) for fit in fits]
    assert_same(*best, ["labels_", "feature_weights_"], rtol=1e-9)
    if name in ("KMeans", "L0KMeans", "L1KMeans"):
        assert classification_error_rate(clear_data.labels, fits[0].labels_) == 0
        # All means are next to the sample that has nearly all of the weight.
        away = np.square(best[0].cluster_centers_ - clear_data.X[3]) @ best[0].feature_weights_
        assert best[0].objective_ == pytest.approx(np.bincount(best[0].labels_) @ away, rel=1e-6)


def test_a_weight_of_zero_leaves_a_sample_to_predict(make_estimator, clear_data, weights):
    given = np.where(np.arange(36) % 5 == 0, 0, weights)
    fit = make_estimator(random_state=0).fit(clear_data.X, sample_weight=given)
    kept = given > 0
    alone = make_estimator(random_state=0).fit(clear_data.X[kept], sample_weight=given[kept])
    np.testing.assert_array_equal(fit.labels_[kept], alone.labels_)
    assert_same(fit, alone, LEARNED[1:])
    np.testing.assert_array_equal(fit.labels_, alone.predict(clear_data.X))


@pytest.mark.parametrize("seed", range(2))
def test_uneven_weights_reach_the_optimum(seed, make_sparse_estimator, try_every_partition):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(8, 5))
    X[:, :3] += 2 * rng.integers(2, size=(8, 1))
    weights = rng.exponential(size=8) + 0.05
    fit = make_sparse_estimator(2, random_state=0).fit(X, sample_weight=weights)
    best = try_every_partition(X, 2, fit.penalty, fit.sparsity, sample_weight=weights)
    assert fit.objective_ == pytest.approx(best, rel=1e-6)
    for k in range(2):
        own = fit.labels_ == k
        center = np.average(X[own], axis=0, weights=weights[own])
        np.testing.assert_allclose(fit.cluster_centers_[k], center, rtol=1e-9)


@pytest.mark.parametrize(
    ("weights", "counts", "unit"),
    [
        ([2, 4, 6], [1, 2, 3], 2),
        ([1, 1.5, 3], [2, 3, 6], 0.5),
        ([1, 1.1, 2.3], [10, 11, 23], 0.1),
        # No tenth of the smallest: eight times on average, so that running sums are met.
        ([1, 1.51, 1.49], [6, 9, 9], 1 / 6),
        # Beside large ones, each once.
        ([1e12, 1, 1], [24, 1, 1], 1e12 / 24),
    ],
)
def test_samples_are_given_as_often_as_they_count_worked_by_hand(weights, counts, unit):
    found, each = repeat_counts(np.array(weights, float), 3)
    assert found.tolist() == counts
    assert each == pytest.approx(unit)
    # Of weight 0, never.
    rows = repeat_samples([0, *weights, 0], 5).tolist()
    assert rows == np.repeat([1, 2, 3], counts).tolist()


def test_weights_of_many_samples_are_met():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 6))
    X[:3000, :2] += 4
    weights = rng.exponential(size=6000)
    fit = L0KMeans(2, sparsity=2, n_init=2, random_state=0).fit(X, sample_weight=weights)
    assert fit.get_support(indices=True).tolist() == [0, 1]
    assert np.mean(fit.labels_[:3000] == fit.labels_[0]) > 0.99
    own = fit.labels_ == 0
    center = np.average(X[own], axis=0, weights=weights[own])
    np.testing.assert_allclose(fit.cluster_centers_[0], center, rtol=1e-9)


def test_weights_are_routed_through_a_pipeline(clear_data, weights):
    scaled = StandardScaler().fit_transform(clear_data.X)
    with config_context(enable_metadata_routing=True):
        clusterer = L0KMeans(3, sparsity=4, random_state=0).set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, clusterer).fit(clear_data.X, sample_weight=weights)
    alone = L0KMeans(3, sparsity=4, random_state=0).fit(scaled, sample_weight=weights)
    assert_same(pipeline[-1], alone)


@pytest.mark.parametrize(
    ("parameters", "weights", "message"),
    [
        ({}, [1, 1], r"sample_weight: shape=\(2,\) should be \(n_samples,\)=\(36,\)"),
        ({}, [-1.0] + [1] * 35, r"sample_weight\[0\]=-1.0 should be >= 0, and not all zero"),
        ({}, [0] * 36, r"sample_weight\[0\]=0.0 should be >= 0, and not all zero"),
        ({}, [np.nan] + [1] * 35, r"sample_weight\[0\]=nan should be finite"),
        ({"trim": 0.1}, [2] + [1] * 35, r"trim=0.1 should be 0 with sample_weight"),
        ({"min_cluster_size": 2}, [2] + [1] * 35, r"min_cluster_size=2 should be 1 with sample"),
        ({"init": [0, 1] * 18}, [0] + [1] * 35, r"sample_weight of 0 should not be combined"),
    ],
)
def test_weights_that_cannot_be_are_refused(clear_data, parameters, weights, message):
    with pytest.raises(ValueError, match=message):
        L0KMeans(3, sparsity=4, **parameters).fit(clear_data.X, sample_weight=weights)


def test_what_has_no_weights_refuses_them_by_name(clear_data):
    X = np.random.default_rng(0).normal(size=(5000, 2))
    with pytest.raises(ValueError, match="sample_weight should be None for a StreamedMatrix"):
        KMeans(2).fit(StreamedMatrix(X), sample_weight=np.ones(5000))
    with pytest.raises(TypeError, match="sample_weight"):
        SparseClustering(KMeans(3)).fit(clear_data.X, sample_weight=np.ones(36))


@pytest.fixture(scope="module")
def contaminated(clear_data):
    """Three clusters that nobody can miss, and two outliers among them: X and their rows."""
    X = clear_data.X.copy()
    rows = np.array([5, 30])
    X[rows] += 40 * np.random.default_rng(0).standard_normal((2, X.shape[1]))
    return X, rows


def least_within(X, weights, n_clusters, n_trimmed, all_partitions):
    """The least weighted sum of squares within clusters over all trimmed partitions."""
    labels = all_partitions(len(X) - n_trimmed, n_clusters)
    least = np.inf
    for kept in combinations(range(len(X)), len(X) - n_trimmed):
        points = X[list(kept)] * np.sqrt(weights)
        within = np.sum(points**2)
        for k in range(n_clusters):
            members = (labels == k).astype(float)
            within = within - np.sum((members @ points) ** 2, axis=1) / members.sum(axis=1)
        least = min(least, within.min())
    return least


@pytest.mark.parametrize("seed", range(2))
def test_no_trimmed_partition_is_better_under_the_weights_and_no_weights_for_it(
    seed, make_estimator, all_partitions, score_by_pairs, best_value
):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(9, 6))
    X[:, :4] += 4 * (np.arange(9) % 2)[:, None]
    X[seed] += 9 * rng.standard_normal(6)
    fit = make_estimator(2, trim=0.23, random_state=0).fit(X)
    kept = fit.labels_ >= 0
    assert np.count_nonzero(kept) == 7
    least = least_within(X, fit.feature_weights_, 2, 2, all_partitions)
    scores = score_by_pairs(X[kept], fit.labels_[kept])
    within = X[kept].var(axis=0) * 7 - scores
    assert fit.feature_weights_ @ within == pytest.approx(least, rel=1e-9)
    np.testing.assert_allclose(fit.feature_scores_, scores, rtol=1e-9, atol=1e-9)
    penalty = "l1" if isinstance(fit, L1KMeans) else "l0"
    best = best_value(scores, penalty, getattr(fit, "sparsity", 6))[0]
    assert fit.objective_ == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_outliers_are_set_aside_and_predicted(make_estimator, contaminated, clear_data, kind):
    X, rows = contaminated
    fit = make_estimator(trim=0.06, random_state=0).fit(kind(X))
    np.testing.assert_array_equal(np.flatnonzero(fit.labels_ == -1), rows)
    kept = fit.labels_ >= 0
    assert classification_error_rate(clear_data.labels[kept], fit.labels_[kept]) == 0
    everyone = fit.predict(X)
    assert everyone.min() >= 0
    np.testing.assert_array_equal(everyone[kept], fit.labels_[kept])
    alone = make_estimator(random_state=0).fit(X[kept])
    np.testing.assert_allclose(fit.cluster_centers_, alone.cluster_centers_, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(fit.feature_weights_, alone.feature_weights_, rtol=1e-9)
    assert fit.objective_ == pytest.approx(alone.objective_, rel=1e-9)


def test_a_share_of_nothing_changes_no_bit(make_estimator, faint_data):
    plain = make_estimator(random_state=0).fit(faint_data.X)
    # A share of less than one sample.
    for trim in (0, 0.01):
        assert_same(make_estimator(trim=trim, random_state=0).fit(faint_data.X), plain, rtol=0)


def test_paths_set_aside_at_every_sparsity(contaminated):
    X, rows = contaminated
    estimator = L0KMeans(3, trim=0.06, random_state=0)
    path = estimator.path(X, [4, 20])
    for place in range(2):
        np.testing.assert_array_equal(np.flatnonzero(path.labels[place] == -1), rows)
    fit = estimator.set_params(sparsity=4).fit(X)
    np.testing.assert_array_equal(path.labels[0], fit.labels_)
    assert estimator.adopt(X, path, 0).cluster_centers_.tolist() == fit.cluster_centers_.tolist()


def test_an_outlier_is_hardly_ever_a_centre_that_trimmed_k_means_starts_from():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 5))
    X[:18, 0] += 9
    X[36:] += 1e3 * rng.standard_normal((4, 5))
    given = CentredMatrix(X), KMeansPartition(2), 4, 1
    seeds = map(np.random.SeedSequence, range(30))
    kept = [start_trimmed(*given, seed, np.ones(5))[1].tolist() for seed in seeds]
    # Only the first of the two is drawn from all samples.
    assert np.mean([found == [*range(36)] for found in kept]) > 0.8


def test_of_the_samples_that_trimmed_k_means_starts_on_as_large_a_share_is_set_aside():
    # As many of the 2,048 as of all would be the outliers and the second cluster.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 3))
    truth = np.repeat([0, 1, 2], [2430, 120, 450])
    X[truth == 1] += 9
    X[truth == 2] += 1e3 * rng.standard_normal((450, 3))
    given = CentredMatrix(X), KMeansPartition(2), 500, 3
    labels, kept, _ = start_trimmed(*given, np.random.SeedSequence(0), np.ones(3))
    assert len(kept) == 2500
    assert classification_error_rate(truth[kept], labels[kept]) == 0


def test_those_farthest_from_their_centres_by_the_weights_are_not_kept_worked_by_hand():
    X = CentredMatrix(np.array([[0.0, 5], [1, 0], [9, 0], [10, 9], [5, 0], [8, 1]]) + 7)
    centers = np.array([[0.0, 0], [9, 0]]) + 7
    # The squares of the first feature are 0, 1, 0, 1, 16, 1; of equals the first are kept.
    assert keep_nearest(X, centers, np.array([1.0, 0]), 2).tolist() == [0, 1, 2, 3]
    assert keep_nearest(X, centers, np.array([1.0, 1]), 2).tolist() == [1, 2, 4, 5]


def test_many_samples_are_trimmed():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(5000, 12)).astype(np.float32)
    X[:2500, :3] += 4
    X[::500] += 30 * rng.standard_normal((10, 12)).astype(np.float32)
    fit = L0KMeans(2, sparsity=3, trim=0.01, n_init=2, random_state=0).fit(X)
    far = np.flatnonzero(np.abs(X[::500, :3]).max(axis=1) > 15) * 500
    assert np.count_nonzero(fit.labels_ == -1) == 50
    assert (fit.labels_[far] == -1).all()
    assert fit.get_support(indices=True).tolist() == [0, 1, 2]


def test_the_outliers_of_the_reference_data_are_found(test_data):
    file = test_data / "rskc_reference" / "contaminated_exp2.npz"
    if not file.is_file():
        pytest.skip(f"{file} is absent")
    found, errors = 0, []
    with np.load(file) as data:
        for X, outliers, rows in zip(
            data["X"], data["outliers"], data["outlying_rows"], strict=True
        ):
            X[outliers] = rows
            fit = L0KMeans(3, sparsity=50, trim=0.05, random_state=0).fit(X)
            found += set(np.flatnonzero(fit.labels_ == -1)) == set(outliers)
            others = np.setdiff1d(np.arange(60), outliers)
            errors.append(classification_error_rate(data["y"][others], fit.predict(X)[others]))
    assert found >= 9
    assert np.mean(errors) <= 0.05


@pytest.mark.parametrize(
    ("trim", "n_samples", "error", "message"),
    [
        (0.5, 9, ValueError, r"trim=0.5 should be < 0.5"),
        (-0.1, 9, ValueError, r"trim=-0.1 should be finite and >= 0"),
        ("some", 9, TypeError, r"trim='some' should be a number"),
        (0.45, 9, ValueError, r"trim=0.45 leaves 5 of n_samples=9; should leave >= .*= 6"),
        # What is not read at once.
        (0.1, 5000, ValueError, "trim=0.1 should be 0 for a StreamedMatrix"),
    ],
)
def test_shares_that_cannot_be_are_refused(trim, n_samples, error, message):
    X = StreamedMatrix(np.random.default_rng(0).normal(size=(n_samples, 3)))
    with pytest.raises(error, match=message):
        KMeans(6, trim=trim).fit(X)
