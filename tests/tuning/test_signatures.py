"""The smallest set of features that tells clusters apart on samples that did not choose it."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import f_oneway, false_discovery_control

from sparsekm.cluster.matrices.matrix import feature_scores
from sparsekm.cluster.matrices.scaled_data import ScaledData
from sparsekm.cluster.matrices.sparse_matrix import as_matrix
from sparsekm.tuning.feature_ranking import count_differing
from sparsekm.tuning.fold_fits import N_REPEATS, draw_folds
from sparsekm.tuning.partitions import FoldFit, agreement
from sparsekm.tuning.signatures import LEAST_AGREEMENT, STEP, find_signatures

TRUTH = np.repeat([0, 1, 2], 20)


def draw(shift, n_planted=30, n_features=200, seed=0):
    X = np.random.default_rng(seed).standard_normal((60, n_features))
    X[:, :n_planted] += shift * (TRUTH[:, None] == np.arange(n_planted) % 3)
    return ScaledData.standardise(X).X


def matched(labels, folds):
    """Return folds whose samples drawn have the clusters of all."""
    drawn = [np.setdiff1d(np.arange(len(labels)), left_out) for left_out in folds]
    parts = zip(drawn, folds, strict=True)
    return [FoldFit(*of, labels, np.arange(1), np.arange(1)) for of in parts]


def signatures_of(X, labels):
    return find_signatures(
        X, labels, matched(labels, draw_folds(np.arange(len(labels)), seed=0)), N_REPEATS
    )


def place(X, labels, fitted, others, features):
    """Put samples to the nearest centroid of others in some features."""
    X, own = X[:, features], labels[fitted]
    centers = np.array([X[fitted][own == k].mean(axis=0) for k in range(labels.max() + 1)])
    return ((X[others][:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)


@pytest.mark.parametrize(("shift", "most"), [(2.0, 30), (6.0, 10)])
def test_planted_features_are_the_signature_and_clearer_ones_are_fewer(shift, most):
    found = signatures_of(draw(shift), TRUTH)[0]
    assert set(found.features) <= set(range(30))
    assert 2 <= len(found.features) <= most
    assert (np.diff(found.features) > 0).all()
    assert 0.9 < found.agreement <= 1


def test_agreements_are_those_of_samples_left_out_by_nearest_centroids():
    X, folds = draw(1.5), draw_folds(np.arange(60), seed=0)
    for target, found in enumerate(signatures_of(X, TRUTH)):
        placed = np.zeros((N_REPEATS, 60), int)
        for number, others in enumerate(folds):
            fitted = np.setdiff1d(np.arange(60), others)
            own = TRUTH[fitted]
            means = np.array([X[fitted][own == k].mean(axis=0) for k in range(3)])
            # For one cluster, the terms of a_j that involve it.
            about = means[target - 1] if target else X[fitted].mean(axis=0)
            scores = (np.bincount(own)[:, None] * (means - about) ** 2).sum(axis=0)
            top = np.argsort(-scores)[: len(found.features)]
            nearest = place(X, TRUTH, fitted, others, top)
            put = nearest == target - 1 if target else nearest
            placed[number * N_REPEATS // len(folds), others] = put
        truth = (TRUTH == target - 1).astype(int) if target else TRUTH
        assert found.agreement == pytest.approx(agreement(truth, placed).mean())


def test_a_signature_is_the_smallest_set_that_does_nearly_as_well_as_the_best():
    X, folds = draw(1.6), draw_folds(np.arange(60), seed=0)
    sizes = np.unique(np.rint(STEP ** np.arange(24))).astype(int)
    placed = np.zeros((N_REPEATS, len(sizes), 60), int)
    for number, others in enumerate(folds):
        fitted = np.setdiff1d(np.arange(60), others)
        means = np.array([X[fitted][TRUTH[fitted] == k].mean(axis=0) for k in range(3)])
        squares = (means - X[fitted].mean(axis=0)) ** 2
        order = np.argsort(-np.bincount(TRUTH[fitted]) @ squares)
        for row, size in zip(placed[number * N_REPEATS // len(folds)], sizes, strict=True):
            row[others] = place(X, TRUTH, fitted, others, order[:size])
    agreements = np.mean([agreement(TRUTH, repeat) for repeat in placed], axis=0)
    smallest = sizes[agreements >= agreements.max() - 0.05][0]
    assert smallest < sizes[agreements.argmax()]
    assert len(signatures_of(X, TRUTH)[0].features) == smallest


def test_features_that_only_one_cluster_has_are_its_signature_alone():
    for cluster, found in enumerate(signatures_of(draw(3.0), TRUTH)[1:]):
        assert set(found.features % 3) == {cluster}
        assert found.features.max() < 30
        assert found.agreement > 0.9


def test_a_cluster_between_two_others_has_a_signature():
    # The others together have its centre.
    X = draw(0)
    X[:, :30] += 1.5 * (TRUTH[:, None] - 1)
    all_three, _, middle, upper = signatures_of(X, TRUTH)
    assert set(middle.features) | set(upper.features) <= set(range(30))
    assert min(all_three.agreement, middle.agreement, upper.agreement) > 0.8


def test_random_labels_of_noise_have_no_signature(seed):
    X = draw(0, n_features=500, seed=seed)
    for found in signatures_of(X, np.random.default_rng(seed).permutation(TRUTH)):
        assert found.features is None
        assert found.agreement < LEAST_AGREEMENT


def test_samples_left_out_do_not_choose_the_features_that_place_them(seed):
    # Chosen by all samples, 50 of 5,000 features of noise tell random labels of any apart.
    X = draw(0, n_features=5000, seed=seed)
    labels = np.random.default_rng(seed).permutation(TRUTH)
    means = np.array([X[labels == k].mean(axis=0) for k in range(3)])
    top = np.argsort(-(means**2).sum(axis=0))[:50]
    folds = draw_folds(np.arange(60), seed=0)[:10]
    placed = np.zeros(60, int)
    for others in folds:
        placed[others] = place(X, labels, np.setdiff1d(np.arange(60), others), others, top)
    assert agreement(labels, placed[None])[0] > 0.8
    assert find_signatures(X, labels, matched(labels, folds), 1)[0].agreement < 0.25


@pytest.mark.parametrize("shift", [0.6, 1.0, 1.4])
def test_features_that_differ_are_those_of_an_analysis_of_variance(shift):
    X = draw(shift, n_planted=90)
    parts = [X[TRUTH == k] for k in range(3)]
    found = false_discovery_control(f_oneway(*parts).pvalue) <= 0.1
    between = sum(len(part) * (part.mean(axis=0) - X.mean(axis=0)) ** 2 for part in parts)
    # A medium effect: Cohen's f of a quarter.
    share = between / X.var(axis=0) / 60
    expected = np.count_nonzero(found & (share / (1 - share) >= 0.25**2))
    assert count_of(X, TRUTH) == max(1, expected)
    assert shift == 0.6 or 10 < expected < 150


def count_of(X, labels):
    matrix = as_matrix(X)
    return count_differing(matrix, labels, feature_scores(matrix, labels, 3))


def test_sparse_features_have_the_signature_of_dense_ones():
    X = np.where(np.random.default_rng(0).random((60, 200)) < 0.5, 0, draw(0))
    X[:, :30] += 3 * (TRUTH[:, None] == np.arange(30) % 3)
    dense, stored = (signatures_of(data, TRUTH)[0] for data in (X, csr_array(X)))
    np.testing.assert_array_equal(stored.features, dense.features)
    assert stored.agreement == pytest.approx(dense.agreement)
    assert count_of(csr_array(X), TRUTH) == count_of(X, TRUTH)


def test_features_that_differ_are_counted_by_their_effect_whatever_their_scale(seed):
    X = draw(2.0, seed=seed)
    found = count_of(X, TRUTH)
    assert 25 <= found <= 36
    scales = 10.0 ** np.random.default_rng(seed).uniform(-3, 3, 200)
    assert count_of(X * scales + 5, TRUTH) == found
    assert count_of(np.column_stack([X, np.full((60, 50), 0.1)]), TRUTH) <= found
    assert max([count_of(draw(0, seed=number), TRUTH) for number in range(5)]) <= 3
    # Of many samples small effects are beyond chance, and are not counted.
    many = np.random.default_rng(seed).standard_normal((6000, 40))
    labels = np.arange(6000) % 3
    many += 0.2 * (labels == 0)[:, None] * (np.arange(40) < 20)
    many[:, :5] += (labels == 0)[:, None]
    assert count_of(many, labels) == 5
