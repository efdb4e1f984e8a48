"""Resampled paths: what is drawn, fitted, labelled and kept."""

import numpy as np
import pytest

from sparsekm.cluster.estimators import L0KMeans, L1KMeans
from sparsekm.metrics import classification_error_rate
from sparsekm.tuning import resampled_paths
from sparsekm.tuning.resampled_paths import (
    FAMILIES,
    consensus_sparsities,
    resample_all,
    resample_paths,
)
from sparsekm.tuning.separation import margin_ratio

METHODS = pytest.mark.parametrize("Estimator", [L0KMeans, L1KMeans])
FIELDS = ("labels", "kept", "drawn", "separation")


@pytest.fixture(scope="module", name="clear")
def three_far_clusters():
    X = np.random.default_rng(0).standard_normal((45, 24))
    X[:15, :8] += 12
    X[15:30, :8] -= 12
    X.setflags(write=False)
    return X


def assert_same(one, other):
    for field in FIELDS:
        np.testing.assert_array_equal(getattr(one, field), getattr(other, field))


@METHODS
def test_a_resampling_depends_on_seed_and_index_alone(Estimator, clear):
    grid = consensus_sparsities(Estimator.penalty, 24)
    estimator = Estimator(3, random_state=0)

    def draw(index, seed, estimator=estimator):
        return resample_paths(estimator, clear, grid, index=index, seed=seed)

    found = {index: draw(index, 4) for index in (3, 0, 2, 1)}
    for index in range(4):
        assert_same(draw(index, 4), found[index])
        others = Estimator(3, random_state=9, n_init=7, n_jobs=2, verbose=1, sparsity=2)
        assert_same(draw(index, 4, others), found[index])
    assert (found[1].drawn != found[3].drawn).any()
    assert (draw(1, 5).drawn != found[1].drawn).any()


@METHODS
@pytest.mark.parametrize("n_jobs", [None, 1, 2])
def test_all_come_in_the_order_asked_for_however_many_at_once(Estimator, clear, n_jobs):
    grid, told = consensus_sparsities(Estimator.penalty, 24), []
    estimator = Estimator(3, n_jobs=n_jobs)
    found = resample_all(
        estimator, clear, grid, [3, 0], seed=4, progress=lambda *done: told.append(done)
    )
    assert told == [(1, 2), (2, 2)]
    for index, resampled in zip([3, 0], found, strict=True):
        assert_same(resampled, resample_paths(Estimator(3), clear, grid, index=index, seed=4))


@METHODS
def test_families_are_fitted_as_if_alone(Estimator, clear):
    grid = consensus_sparsities(Estimator.penalty, 24)
    estimator = Estimator(3)
    for index in (0, 1):
        together = resample_paths(estimator, clear, grid, index=index, seed=0)
        for f, family in enumerate(FAMILIES):
            alone = resample_paths(estimator, clear, grid, index=index, seed=0, families=[family])
            np.testing.assert_array_equal(alone.labels[0], together.labels[f])
            np.testing.assert_array_equal(alone.kept[0], together.kept[f])
            np.testing.assert_array_equal(alone.separation[0], together.separation[f])


@METHODS
def test_neither_data_nor_estimator_are_changed(Estimator):
    X = np.random.default_rng(1).standard_normal((30, 10))
    before, estimator = X.copy(), Estimator(2, init="random", n_init=4)
    parameters = dict(estimator.get_params())
    resample_paths(estimator, X, np.array([2.0]), index=0, seed=0)
    np.testing.assert_array_equal(X, before)
    assert estimator.get_params() == parameters
    assert not hasattr(estimator, "labels_")


@METHODS
@pytest.mark.parametrize("index", range(4))
def test_everyone_is_labelled_even_those_left_out(Estimator, clear, index):
    grid = consensus_sparsities(Estimator.penalty, 24)
    found = resample_paths(Estimator(3), clear, grid, index=index, seed=1)
    assert found.labels.shape == (len(FAMILIES), len(grid), 45)
    truth = np.repeat([0, 1, 2], 15)
    for labels in found.labels.reshape(-1, 45):
        assert classification_error_rate(truth, labels) == 0
    assert np.isfinite(found.separation).all() == (index % 2 == 0)
    assert np.isnan(found.separation).all() == (index % 2 == 1)


@pytest.mark.parametrize("index", range(4))
def test_features_are_kept_among_those_drawn_and_as_many_as_asked_for(clear, index):
    grid = np.array([2.0, 6.0, 8.0])
    found = resample_paths(L0KMeans(3), clear, grid, index=index, seed=2)
    by_samples = index % 2 == 0
    assert np.count_nonzero(found.drawn) == (24 if by_samples else 12)
    assert not found.kept[..., ~found.drawn].any()
    expected = grid if by_samples else grid / 2
    for kept in found.kept:
        np.testing.assert_array_equal(np.count_nonzero(kept, axis=1), expected)
    # As many as the clusters differ in, of those drawn: these and no others.
    differ = np.flatnonzero(found.drawn[:8])
    enough = expected <= len(differ)
    assert found.kept[:, enough, 8:].sum() == 0


@pytest.mark.parametrize("index", range(4))
def test_l1_weights_keep_no_fewer_features_than_the_square_of_their_bound(clear, index):
    grid = np.sqrt([4.0, 8.0])
    found = resample_paths(L1KMeans(3), clear, grid, index=index, seed=2)
    share = 1.0 if index % 2 == 0 else 0.5
    counts = np.count_nonzero(found.kept, axis=2)
    assert (counts >= share * grid**2 - 1e-9).all()
    assert not found.kept[..., ~found.drawn].any()
    assert (counts < np.count_nonzero(found.drawn)).any()


def test_separation_is_the_margin_ratio_of_the_samples_left_out():
    # On clear clusters labels and centres of the part are known, whoever finds them.
    rng = np.random.default_rng(3)
    truth = np.arange(50) % 2
    X = rng.standard_normal((50, 4)) + 30 * truth[:, None]
    found = resample_paths(L0KMeans(2), X, np.array([4.0]), index=0, seed=3)
    assert (1 <= found.separation).all()
    rows = np.random.default_rng(np.random.SeedSequence(3, spawn_key=(0, 6))).permutation(50)[:40]
    held = np.setdiff1d(np.arange(50), rows)
    expected = margin_ratio(X[held], X[rows], truth[rows], np.ones(4))
    np.testing.assert_allclose(found.separation, expected, rtol=1e-9)


@METHODS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("n_samples", "n_features"), [(4, 1), (5, 2), (6, 3), (9, 1), (12, 2), (12, 3)]
)
def test_tiny_data_can_be_resampled(Estimator, dtype, n_samples, n_features):
    X = np.random.default_rng(n_samples).standard_normal((n_samples, n_features)).astype(dtype)
    grid = consensus_sparsities(Estimator.penalty, n_features)
    for n_clusters in sorted({1, 2, n_samples}):
        for index in range(4):
            found = resample_paths(Estimator(n_clusters), X, grid, index=index, seed=0)
            assert found.labels.min() >= 0
            assert found.labels.max() < n_clusters
            assert found.drawn.any()
            assert found.kept.any(axis=2).all()


@METHODS
@pytest.mark.parametrize("n_samples", [10, 60])
@pytest.mark.parametrize("n_clusters", [1, 2, 3])
def test_a_few_distinct_samples_among_many_duplicates_can_be_resampled(
    Estimator, n_samples, n_clusters
):
    X = np.zeros((n_samples, 6))
    X[3], X[7] = [1, 0, 2, 0, 0, 1], [0, 5, 0, 0, 3, 1]
    for index in range(8):
        found = resample_paths(Estimator(n_clusters), X, np.array([2.0]), index=index, seed=0)
        assert (found.labels < n_clusters).all()


@METHODS
def test_constant_features_are_never_kept_where_others_vary(Estimator):
    X = np.random.default_rng(0).standard_normal((30, 12))
    X[:, 2:] = 0.1
    grid = np.array([1.0])
    for index in range(8):
        found = resample_paths(Estimator(2), X, grid, index=index, seed=0)
        assert not found.kept[..., 2:].any()


@METHODS
def test_a_guard_keeps_an_outlier_from_being_a_cluster(Estimator, monkeypatch):
    # Without the guard that all resamplings have.
    monkeypatch.setattr(resampled_paths, "SMALLEST_CLUSTER", 1)
    X = np.random.default_rng(0).standard_normal((40, 6))
    X[0] = 8.0
    grid = np.array([1.5, 2.0])
    for index in (1, 3):
        free, guarded = (
            resample_paths(Estimator(2, min_cluster_size=size), X, grid, index=index, seed=0)
            for size in (1, 10)
        )
        # Labels are those of the nearest centre: a few samples may leave a cluster of ten again.
        sizes = [
            np.array([np.bincount(row, minlength=2).min() for row in found.labels.reshape(-1, 40)])
            for found in (free, guarded)
        ]
        assert (sizes[0] == 1).any()
        assert (sizes[1] > 4).all()


@METHODS
def test_a_guard_that_leaves_no_choice_is_scaled_to_the_part(Estimator):
    X = np.random.default_rng(0).standard_normal((40, 6))
    for index in range(4):
        found = resample_paths(
            Estimator(4, min_cluster_size=10), X, np.array([2.0]), index=index, seed=0
        )
        assert (found.labels < 4).all()


@METHODS
def test_numpy_integers_mean_the_same(Estimator, clear):
    grid = consensus_sparsities(Estimator.penalty, 24)[:2]
    plain = resample_paths(Estimator(3, min_cluster_size=4), clear, grid, index=0, seed=1)
    numpy = resample_paths(
        Estimator(np.int8(3), min_cluster_size=np.int8(4)),
        clear,
        grid,
        index=np.int64(0),
        seed=np.int64(1),
    )
    assert_same(numpy, plain)


@METHODS
@pytest.mark.parametrize("n_features", [1, 2, 3, 10, 1000])
def test_consensus_sparsities_are_allowed_distinct_and_ascending(Estimator, n_features):
    grid = consensus_sparsities(Estimator.penalty, n_features)
    assert (np.diff(grid) > 0).all()
    counts = grid if Estimator is L0KMeans else grid**2
    assert counts[0] >= 1 - 1e-9
    assert counts[-1] <= n_features
