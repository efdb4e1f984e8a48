"""Blocks of space: what they are, and what single voxels overstate on a made field."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from sparsekm import L0KMeans
from sparsekm.annotation.stability import count_kept, draw_half
from sparsekm.tuning.evidence import weigh_evidence
from sparsekm.tuning.resampling import split_rows
from sparsekm.tuning.sample_blocks import (
    BLOCKS_PER_CLUSTER,
    cut_point,
    order_samples,
    space_blocks,
)

SIDE, N_FEATURES, KEPT, K = 24, 40, 8, 4


@pytest.fixture(scope="module")
def field():
    """Smooth features that have nothing to do with each other, on a grid: there are no clusters."""
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((N_FEATURES, SIDE, SIDE))
    X = np.stack([gaussian_filter(each, 4.0, mode="wrap").ravel() for each in noise], axis=1)
    positions = np.argwhere(np.ones((SIDE, SIDE))).astype(float)
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1), positions


def test_space_is_cut_across_its_longest_side_into_equal_blocks():
    positions = np.array([[x, y] for x in range(8) for y in range(2)], dtype=float)
    blocks = space_blocks(positions, 4)
    assert blocks.tolist() == np.repeat([0, 1, 2, 3], 4).tolist()
    # The power of two below, and no more than there are samples.
    assert space_blocks(positions, 7).max() == 3
    assert sorted(space_blocks(positions[:2], 16)) == [0, 1]


def test_blocks_stay_whole_in_halves_and_subsamples():
    blocks = np.repeat(np.arange(7), [3, 1, 5, 2, 2, 4, 3])
    rng = np.random.default_rng(0)
    left, right = split_rows(20, "halves", rng, blocks)
    assert sorted([*left, *right]) == list(range(20))
    (subsample,) = split_rows(20, "subsample", rng, blocks)
    for part in (left, right, subsample, draw_half(20, 0, 1, blocks)):
        assert 0 < len(part) < 20
        inside = np.isin(blocks, blocks[part])
        assert inside.sum() == len(part)
    # The cut nearest to the size asked for.
    order = order_samples(20, np.random.default_rng(1), blocks)
    at = cut_point(10, order, blocks)
    ends = np.cumsum([np.sum(blocks == b) for b in dict.fromkeys(blocks[order].tolist())])
    assert abs(at - 10) == np.abs(ends - 10).min()


def test_samples_of_their_own_are_drawn_as_without_blocks_and_one_block_is_cut():
    assert cut_point(10, np.arange(20)) == 10
    halves = split_rows(21, "halves", np.random.default_rng(0))
    assert [len(half) for half in halves] == [10, 10]
    same = split_rows(20, "halves", np.random.default_rng(0), np.zeros(20, dtype=int))
    assert [len(half) for half in same] == [10, 10]


def test_single_voxels_overstate_how_stable_the_features_of_a_field_are(field):
    X, positions = field
    estimator = L0KMeans(K, sparsity=KEPT, n_init=3, search="alternate", random_state=0).fit(X)
    kept = estimator.feature_weights_ > 0
    naive, blocked = (
        count_kept(X, estimator, estimator.labels_, 20, seed=1, blocks=blocks)[kept].mean() / 20
        for blocks in (None, space_blocks(positions, BLOCKS_PER_CLUSTER * K))
    )
    # On another field each would be kept by chance, one in five times.
    assert naive > 0.8
    assert blocked < 0.5


def test_single_voxels_are_taken_for_evidence_of_clusters_and_blocks_are_not(field):
    X, positions = field
    estimator = L0KMeans(K, n_init=2, search="alternate", random_state=0)
    naive, blocked = (
        weigh_evidence(
            estimator,
            X,
            np.array([5, 10, 20, 40]),
            reference="gaussian",
            n_references=5,
            seed=3,
            blocks=blocks,
        )
        for blocks in (None, space_blocks(positions, BLOCKS_PER_CLUSTER * K))
    )
    assert naive.has_clusters
    assert not blocked.has_clusters
    assert naive.n_blocks == 0
    assert "cut along 16 blocks of space" in blocked.sentence()
