"""How stability is counted: which halves are drawn, what is kept in them, what the file holds."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from sparsekm.annotation.gene_stability_file import read_stability, write_stability
from sparsekm.annotation.stability import count_kept, draw_half
from sparsekm.cluster.estimators import L0KMeans, L1KMeans


@pytest.fixture
def blobs(seed):
    """Three far clusters in 4 of 12 features."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(3), 20)
    X = rng.normal(size=(60, 12))
    X[:, :4] += 4 * rng.permuted(np.array([[-1.0], [0], [1]]) * np.ones((3, 4)), axis=0)[labels]
    return X


def test_halves_differ_but_come_back_with_their_number_and_seed():
    np.testing.assert_array_equal(draw_half(100, 3, seed=5), draw_half(100, 3, seed=5))
    assert not np.array_equal(draw_half(100, 3, seed=5), draw_half(100, 4, seed=5))
    assert not np.array_equal(draw_half(100, 3, seed=5), draw_half(100, 3, seed=6))


@pytest.mark.parametrize(("estimator", "sparsity"), [(L0KMeans(3), 4), (L1KMeans(3), 1.9)])
def test_features_that_make_the_clusters_are_kept_in_every_half(blobs, estimator, sparsity):
    counts = count_kept(blobs, estimator, sparsity, 6, seed=1)
    assert (counts[:4] == 6).all()
    assert counts[4:].max() < 6


def test_without_clusters_the_kept_features_are_rarely_kept_in_halves():
    shares = []
    for seed in range(3):
        X = np.random.default_rng(seed).normal(size=(120, 60))
        kept = L0KMeans(3, sparsity=12, n_init=2, random_state=seed).fit(X).get_support()
        shares.append(count_kept(X, L0KMeans(3), 12, 10, seed)[kept].mean() / 10)
    # By chance .2, and somewhat more since a half is a part of the whole. From the labels of the
    # whole it is above .8.
    assert np.mean(shares) < 0.45


@pytest.mark.parametrize("container", [np.asarray, csr_array])
def test_halves_start_as_the_resamplings_of_the_consensus_do(container):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 30))
    X[:, :4] += 6 * np.repeat([0, 1], 120)[:, None]
    # Features that share a factor hold more of the variance than the two groups.
    X[:, 4:8] = 6 * (rng.normal(size=(240, 1)) + 0.2 * X[:, 4:8])
    optimum, screened = (
        count_kept(container(X), L0KMeans(2), 4, 4, seed=1, family=family)
        for family in ("optimum", "kolmogorov-smirnov")
    )
    assert (optimum[4:8] == 4).all()
    assert (screened[:4] == 4).all()


def test_more_subsamples_leave_the_first_as_they_are(blobs):
    counts = [count_kept(blobs, L0KMeans(3), 5, n, seed=1) for n in (3, 4)]
    step = counts[1] - counts[0]
    assert set(step) == {0, 1}
    assert step.sum() == 5


def test_a_half_with_too_few_distinct_samples_has_fewer_clusters():
    X = np.repeat(np.eye(4), [9, 9, 9, 1], axis=0)
    assert not all(27 in draw_half(28, index, seed=1) for index in range(4))
    counts = count_kept(X, L0KMeans(4), 3, 4, seed=1)
    assert counts.tolist()[:3] == [4, 4, 4]


def test_shares_survive_their_file_and_another_data_sets_file_is_refused(tmp_path):
    file = tmp_path / "stability.csv"
    write_stability(file, ["NA", "1", "x"], np.array([0, 5, 20]), 20)
    assert list(read_stability(file, ["NA", "1", "x"])) == [0, 0.25, 1]
    with pytest.raises(ValueError, match="written by rule gene_stability"):
        read_stability(file, ["NA", "x", "1"])
    write_stability(file, ["NA"], np.array([3]), 2)
    with pytest.raises(ValueError, match="between 0 and subsamples"):
        read_stability(file, ["NA"])
