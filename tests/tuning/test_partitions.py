"""The partition that many partitions stand for, and how well others agree with it."""

from itertools import permutations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, jaccard_score

from sparsekm.metrics import classification_error_rate
from sparsekm.tuning.partitions import (
    FoldFit,
    agreement,
    cluster_overlaps,
    coassociation,
    consensus_partition,
    match_clusters,
    place_left_out,
    sample_reproducibility,
)


def noisy_copies(labels, n_copies, share, rng):
    """Copy a partition, give a share of the samples a random label each, and rename the labels."""
    n_clusters = labels.max() + 1
    copies = np.tile(labels, (n_copies, 1))
    wrong = rng.random(copies.shape) < share
    copies[wrong] = rng.integers(n_clusters, size=wrong.sum())
    return np.array([rng.permutation(n_clusters)[copy] for copy in copies])


def test_co_associations_are_the_mean_of_indicators_of_pairs(seed):
    labels = np.random.default_rng(seed).integers(5, size=(13, 20)).astype(np.int16)
    pairs = (labels[:, :, None] == labels[:, None, :]).mean(axis=0)
    found = coassociation(labels)
    np.testing.assert_allclose(found, pairs, rtol=1e-14)
    np.testing.assert_array_equal(found, found.T)


def test_overlaps_are_the_mean_jaccard_score_of_matched_clusters_and_0_without_a_match(seed):
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat([0, 1, 2], [8, 12, 16]))
    others = np.where(rng.random((5, 36)) < 0.2, rng.integers(3, size=(5, 36)), labels)
    by_score = [jaccard_score(labels, other, average=None) for other in others]
    renamed = np.array([rng.permutation(3)[other] for other in others])
    np.testing.assert_allclose(cluster_overlaps(labels, renamed), np.mean(by_score, axis=0))
    # Nothing is left of the last one.
    assert cluster_overlaps(labels, np.minimum(labels, 1)[None])[[0, 1]].tolist() == [1.0, 0.0]


@pytest.mark.parametrize(("sizes", "n_clusters"), [([3, 10, 23], 3), ([36], 1), ([12, 18], 30)])
def test_identical_partitions_give_it_though_more_clusters_are_asked_for(sizes, n_clusters, seed):
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    found = consensus_partition(noisy_copies(labels, 9, 0.0, rng), n_clusters)
    assert classification_error_rate(labels, found) == 0


def test_names_order_and_repetition_of_partitions_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    labels = noisy_copies(np.arange(42) % 3, 4, 0.2, rng)
    found = consensus_partition(labels, 3)
    rows = rng.permutation(42)
    renamed = np.array([rng.permutation(3)[copy] for copy in labels])
    for other in (renamed, labels[::-1], np.tile(labels, (10, 1)), labels + 2):
        assert classification_error_rate(found, consensus_partition(other, 3)) == 0
    assert classification_error_rate(found[rows], consensus_partition(labels[:, rows], 3)) == 0


def test_a_consensus_recovers_a_planted_partition_better_than_its_noisy_copies(seed):
    rng = np.random.default_rng(seed)
    truth = np.repeat([0, 1, 2], [6, 18, 36])
    labels = noisy_copies(truth, 40, 0.4, rng)
    found = consensus_partition(labels, 3)
    single = [classification_error_rate(truth, copy) for copy in labels]
    assert classification_error_rate(truth, found) < 0.05 < min(single)


def test_agreements_are_adjusted_rand_indices(seed):
    rng = np.random.default_rng(seed)
    for n_samples in (2, 3, 40):
        one = rng.integers(4, size=n_samples).astype(np.int16)
        drawn = rng.integers(6, size=(9, n_samples))
        special = np.zeros(n_samples), np.full(n_samples, 7), np.arange(n_samples)
        others = np.array([*drawn, one, 3 - one, *special], dtype=np.int16)
        for labels in others[-5:]:
            expected = [adjusted_rand_score(labels, other) for other in others]
            np.testing.assert_allclose(agreement(labels, others), expected, atol=1e-12)
    # Counts of pairs exceed what 32 bits hold.
    one = np.repeat([0, 1], 120_000).astype(np.int16)
    found = agreement(one, np.array([one, np.roll(one, 60_000)]))
    np.testing.assert_allclose(found, [1.0, adjusted_rand_score(one, np.roll(one, 60_000))])


def test_shares_worked_by_hand_in_which_clusters_without_a_partner_give_none():
    # The first only has other names; the second puts the third sample elsewhere.
    others = np.array([[1, 1, 0, 0], [0, 0, 0, 1]])
    assert sample_reproducibility(np.array([0, 0, 1, 1]), others).tolist() == [1.0, 1.0, 0.5, 1.0]
    labels = np.array([0, 0, 0, 1, 1])
    assert sample_reproducibility(labels, np.array([[0, 0, 2, 1, 1]])).tolist() == [1, 1, 0, 1, 1]
    assert sample_reproducibility(labels, np.zeros((1, 5), int)).tolist() == [1, 1, 1, 0, 0]
    # Clusters of folds that match none of joined ones.
    assert sample_reproducibility(labels, np.array([[-1, 1, 1, 0, -1]])).tolist() == [0, 1, 1, 1, 0]
    assert sample_reproducibility(labels, np.full((1, 5), -1)).tolist() == [0] * 5


def test_a_fold_is_matched_and_completed_worked_by_hand():
    labels = np.array([0, 0, 0, 1, 1, 1, 1, 0, 0, 1])
    drawn, left_out = np.arange(1, 7), np.array([0, 7, 8, 9])
    # The second agrees more on the samples drawn, the first on all. Of the second, cluster 0 shares
    # two of three with our 0, but cluster 1 only two of our four, no more than a half.
    partitions = np.array([[0, 0, 1, 0, 1, 1, 1, 0, 0, 1], [1, 0, 0, 0, 1, 1, 2, 1, 1, 0]])
    on_drawn, on_all = (agreement(labels[of], partitions[:, of]) for of in (drawn, slice(None)))
    assert (on_drawn.argmax(), on_all.argmax()) == (1, 0)
    fits = [FoldFit(drawn, left_out, own, np.array([0]), np.arange(2)) for own in partitions]
    assert [fit.agreement(labels) for fit in fits] == on_drawn.tolist()
    fold = fits[1].name_after(labels)
    assert fold.labels.tolist() == [-1, 0, 0, 0, -1, -1, -1, -1, -1, 0]
    # The samples without a match join the nearest mean in the kept feature alone, of those drawn.
    named = np.array([1, 0, 0, 1, 1, -1, -1])
    X = np.array([[99, 0], [0, 9], [2, 9], [10, 0], [12, 0], [3, 0], [8, 9]], float)
    fold = fold._replace(labels=named)
    assert fold.complete(X).labels[drawn].tolist() == [0, 0, 1, 1, 0, 1]
    assert fold._replace(labels=labels).complete(X).labels.tolist() == labels.tolist()


def test_a_left_out_sample_is_placed_where_most_folds_put_it():
    everyone = np.arange(4)
    put = [[0, 0, 1, -1], [0, 1, 1, -1], [1, 1, -1, -1]]
    folds = [FoldFit(everyone, everyone, np.array(own), everyone, everyone) for own in put]
    # What a fold says of the samples that it fitted does not count.
    labels = np.array([1, 0, 0, 0])
    folds.append(FoldFit(everyone[1:], everyone[:1], labels, everyone, everyone))
    assert place_left_out(folds, 4, 2).tolist() == [0, 1, 1, -1]


@pytest.mark.parametrize(("n_own", "n_theirs"), [(2, 4), (4, 2)])
def test_clusters_are_matched_as_the_best_of_all_ways_does(n_own, n_theirs, seed):
    rng = np.random.default_rng(seed)
    for _ in range(20):
        labels, other = rng.permutation(np.arange(12) % n_own), rng.integers(n_theirs, size=12)
        other[0] = n_theirs - 1
        samples = np.sort(rng.choice(12, 8, replace=False))
        # -1 stands for none, so that each way names every cluster of the other partition.
        names = [*range(n_own), *[-1] * n_theirs]
        ways = np.array(list(set(permutations(names, n_theirs))))
        best = (ways[:, other[samples]] == labels[samples]).sum(axis=1).max()
        found = match_clusters(labels, other, samples)
        assert (found[samples] == labels[samples]).sum() == best
        renamed = {(old, new) for old, new in zip(other, found, strict=True) if new >= 0}
        assert len({old for old, _ in renamed}) == len({new for _, new in renamed}) == len(renamed)


def test_a_consensus_keeps_the_smallest_size_of_a_cluster(seed):
    labels = noisy_copies(np.repeat([0, 1, 2], [3, 20, 27]), 30, 0.1, np.random.default_rng(seed))
    assert np.bincount(consensus_partition(labels, 3, min_cluster_size=9)).min() >= 9
