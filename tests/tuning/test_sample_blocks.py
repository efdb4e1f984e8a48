"""Blocks of space: what they are, and what single voxels overstate on a made field."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from sparsekm import L0KMeans, SparseKMeans
from sparsekm.annotation.stability import count_kept, draw_half
from sparsekm.tuning import resampled_paths
from sparsekm.tuning.evidence import weigh_evidence
from sparsekm.tuning.resampled_paths import draw_part
from sparsekm.tuning.resampling import split_rows
from sparsekm.tuning.sample_blocks import (
    BLOCKS_PER_CLUSTER,
    check_groups,
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
        count_kept(X, estimator, KEPT, 20, seed=1, blocks=blocks)[kept].mean() / 20
        for blocks in (None, space_blocks(positions, BLOCKS_PER_CLUSTER * K))
    )
    # On another field each would be kept by chance, one in five times.
    assert naive > 0.4
    assert blocked < 0.35


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
    assert "each of whole blocks (16 in all)" in blocked.sentence()


def test_resampled_paths_draw_and_leave_out_whole_blocks(field, monkeypatch):
    X, positions = field
    blocks = space_blocks(positions, BLOCKS_PER_CLUSTER * K)
    for most in (resampled_paths.MOST_SAMPLES, 100):
        monkeypatch.setattr(resampled_paths, "MOST_SAMPLES", most)
        rows, features = draw_part(X, 0, np.random.default_rng(0), K, blocks)
        assert len(features) == N_FEATURES
        assert len(rows) == min(most, 13 * SIDE**2 // 16)
        assert len(np.unique(blocks[rows])) == 13
        # With half of the features every block is drawn.
        rows, features = draw_part(X, 1, np.random.default_rng(0), K, blocks)
        assert len(np.unique(blocks[rows])) == 16


def test_sparse_k_means_takes_groups_whatever_their_names():
    X = np.random.default_rng(0).standard_normal((48, 12))
    X[:24, :4] += 4
    numbers = np.arange(48) % 6
    found, renamed, without = (
        SparseKMeans(2, random_state=0).fit(X, groups=groups)
        for groups in (numbers, [f"donor {5 - number}" for number in numbers], None)
    )
    for one, other, same in ((found, renamed, True), (found, without, False)):
        agree = [
            np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True)
            for name in ("sample_confidence_", "selection_frequency_")
        ]
        assert (all(agree) and one.search_results_.equals(other.search_results_)) == same


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([0, 1], r"groups: shape=\(2,\) should be \(3,\)"),
        ([0, 0, 0], r"groups=\[0\] should be at least two"),
        ([0.0, 1.0, np.nan], r"no missing value, got 1 \(the first at position 2\)"),
        (["a", None, "b"], r"no missing value, got 1 \(the first at position 1\)"),
    ],
)
def test_groups_that_are_none_are_refused(groups, message):
    with pytest.raises(ValueError, match=message):
        check_groups(groups, 3)
