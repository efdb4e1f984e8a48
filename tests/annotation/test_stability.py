"""How stability is counted: which halves are drawn, what is kept in them, what the file holds."""

import numpy as np
import pytest

from sparsekm.annotation.gene_stability_file import read_stability, write_stability
from sparsekm.annotation.stability import count_kept, draw_half
from sparsekm.cluster.estimators import L0KMeans, L1KMeans


@pytest.fixture
def blobs(seed):
    """Three far clusters in 4 of 12 features, and their labels."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(3), 20).astype(np.int32)
    X = rng.normal(size=(60, 12))
    X[:, :4] += 4 * rng.permuted(np.array([[-1.0], [0], [1]]) * np.ones((3, 4)), axis=0)[labels]
    return X, labels


def test_a_half_is_half_of_the_samples_each_once():
    rows = draw_half(11, 0, seed=5)
    assert len(rows) == 6
    assert (np.diff(rows) > 0).all()
    assert 0 <= rows[0]
    assert rows[-1] < 11


def test_halves_differ_but_come_back_with_their_number_and_seed():
    np.testing.assert_array_equal(draw_half(100, 3, seed=5), draw_half(100, 3, seed=5))
    assert not np.array_equal(draw_half(100, 3, seed=5), draw_half(100, 4, seed=5))
    assert not np.array_equal(draw_half(100, 3, seed=5), draw_half(100, 3, seed=6))


@pytest.mark.parametrize("method", [L0KMeans(3, sparsity=4), L1KMeans(3, sparsity=1.9)])
def test_features_that_make_the_clusters_are_kept_in_every_half(blobs, method):
    X, labels = blobs
    counts = count_kept(X, method, labels, 6, seed=1)
    assert (counts[:4] == 6).all()
    assert counts[4:].max() < 6


def test_a_feature_like_another_shares_the_place_with_it(blobs, seed):
    X, labels = blobs
    X[:, 4:] = np.random.default_rng(seed + 1).normal(size=(60, 8))
    counts = count_kept(X, L0KMeans(3, sparsity=5), labels, 8, seed=1)
    # One place is left for eight kinds of noise.
    assert counts[4:].sum() == 8
    assert counts[4:].max() < 8


def test_more_subsamples_leave_the_first_as_they_are(blobs):
    X, labels = blobs
    estimator = L0KMeans(3, sparsity=5)
    counts = [count_kept(X, estimator, labels, n, seed=1) for n in (3, 4)]
    step = counts[1] - counts[0]
    assert set(step) == {0, 1}
    assert step.sum() == 5


def test_a_cluster_too_small_for_a_half_is_left_out_there(blobs):
    X, labels = blobs
    labels = labels.copy()
    labels[0] = 3
    X[0, :4] += 40
    counts = count_kept(X, L0KMeans(4, sparsity=4, min_cluster_size=1), labels, 6, seed=1)
    assert (counts[:4] == 6).all()


def test_the_estimator_is_left_as_it_was(blobs):
    X, labels = blobs
    estimator = L0KMeans(3, sparsity=4, min_cluster_size=3)
    before = estimator.get_params()
    count_kept(X, estimator, labels, 1, seed=1)
    assert estimator.get_params() == before
    assert not hasattr(estimator, "labels_")


def test_wrong_numbers_are_refused(blobs):
    X, labels = blobs
    with pytest.raises(ValueError, match=r"n_subsamples=0 should be >= 1"):
        count_kept(X, L0KMeans(3, sparsity=4), labels, 0, seed=1)
    with pytest.raises(ValueError, match=r"labels: shape=\(59,\) should be \(60,\)"):
        count_kept(X, L0KMeans(3, sparsity=4), labels[1:], 2, seed=1)


def test_shares_survive_their_file_and_another_data_sets_file_is_refused(tmp_path):
    file = tmp_path / "stability.csv"
    write_stability(file, ["NA", "1", "x"], np.array([0, 5, 20]), 20)
    assert list(read_stability(file, ["NA", "1", "x"])) == [0, 0.25, 1]
    with pytest.raises(ValueError, match="written by rule gene_stability"):
        read_stability(file, ["NA", "x", "1"])
    write_stability(file, ["NA"], np.array([3]), 2)
    with pytest.raises(ValueError, match="between 0 and subsamples"):
        read_stability(file, ["NA"])
