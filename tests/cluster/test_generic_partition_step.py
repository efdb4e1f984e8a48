"""The alternation runs clusterings other than k-means: the paper's steps i to iii."""

import numpy as np
import pytest
from sklearn.cluster import AgglomerativeClustering

from sparsekm.cluster.alternation import alternate
from sparsekm.cluster.weight_step import SoftThreshold, TopFeatures


class WardPartition:
    """Agglomerative clustering by Ward's criterion on weighted columns; no refinement."""

    def __init__(self, n_clusters, score):
        self.n_clusters = n_clusters
        self.score = score

    def start(self, X, weights, rng):
        ward = AgglomerativeClustering(self.n_clusters, linkage="ward")
        return ward.fit_predict(X * np.sqrt(weights)).astype(np.int32)

    def refine(self, X, weights, labels):
        return labels

    def scores(self, X, labels):
        return self.score(X, labels)


class KMediansPartition:
    """Sum of absolute deviations from cluster medians: another criterion, also a sum over features.

    Feature j contributes what the clusters' medians save against the one median of all samples.
    """

    def __init__(self, n_clusters):
        self.n_clusters = n_clusters

    def start(self, X, weights, rng):
        seeds = X[rng.choice(len(X), self.n_clusters, replace=False)]
        return self.refine(X, weights, self._nearest(X, weights, seeds))

    def refine(self, X, weights, labels):
        while True:
            medians = np.array(
                [
                    np.median(X[labels == k], axis=0) if (labels == k).any() else X[k]
                    for k in range(self.n_clusters)
                ]
            )
            following = self._nearest(X, weights, medians)
            before, after = (weights @ self.scores(X, them) for them in (labels, following))
            if after <= before:
                return labels
            labels = following

    def scores(self, X, labels):
        within = sum(
            np.abs(X[labels == k] - np.median(X[labels == k], axis=0)).sum(axis=0)
            for k in np.unique(labels)
        )
        return np.maximum(np.abs(X - np.median(X, axis=0)).sum(axis=0) - within, 0)

    @staticmethod
    def _nearest(X, weights, centers):
        distances = (np.abs(X[:, None, :] - centers) * weights).sum(axis=2)
        return distances.argmin(axis=1).astype(np.int32)


class Recorder:
    """Notes what the alternation asks of a partition step."""

    def __init__(self, partition):
        self.partition = partition
        self.weights = []

    def start(self, X, weights, rng):
        self.weights.append(weights.copy())
        return self.partition.start(X, weights, rng)

    def refine(self, X, weights, labels):
        self.weights.append(weights.copy())
        return self.partition.refine(X, weights, labels)

    def scores(self, X, labels):
        return self.partition.scores(X, labels)


@pytest.fixture(params=["ward", "medians"])
def partition(request, score_by_pairs):
    return WardPartition(3, score_by_pairs) if request.param == "ward" else KMediansPartition(3)


@pytest.mark.parametrize("weight_step", [TopFeatures(4), SoftThreshold(1.8)], ids=["l0", "l1"])
def test_another_clustering_recovers_planted_features(partition, weight_step, clear_data):
    fit = alternate(
        clear_data.X, partition, weight_step, 20, rng=np.random.default_rng(1), max_iter=20
    )
    assert len(set(zip(clear_data.labels, fit.labels, strict=True))) == 3
    assert (fit.weights > 0).tolist() == clear_data.relevant.tolist()


@pytest.mark.parametrize("weight_step", [TopFeatures(5), SoftThreshold(2.0)], ids=["l0", "l1"])
@pytest.mark.parametrize("seed", range(5))
def test_objectives_never_fall_whatever_the_clustering(partition, weight_step, faint_data, seed):
    fit = alternate(
        faint_data.X, partition, weight_step, 25, rng=np.random.default_rng(seed), max_iter=20
    )
    assert len(fit.objectives) >= 2
    assert np.diff(fit.objectives).min() >= -1e-9 * fit.objective
    assert fit.objective == pytest.approx(fit.objectives[-1], rel=1e-12)


def test_the_fit_is_made_of_what_the_steps_answered(partition, faint_data):
    weight_step = TopFeatures(5)
    fit = alternate(faint_data.X, partition, weight_step, 25, rng=np.random.default_rng(0))
    scores = partition.scores(faint_data.X, fit.labels)
    np.testing.assert_array_equal(fit.scores, scores)
    np.testing.assert_array_equal(fit.weights, weight_step.weigh(scores))
    assert fit.objective == pytest.approx(np.sort(scores)[-5:].sum())


def test_the_first_weights_are_one_over_sqrt_p(partition, faint_data):
    recorder = Recorder(partition)
    fit = alternate(faint_data.X, recorder, TopFeatures(5), 25, rng=np.random.default_rng(0))
    np.testing.assert_allclose(recorder.weights[0], 1 / np.sqrt(25), rtol=1e-12)
    assert len(recorder.weights) > 1
    assert all(np.count_nonzero(weights) == 5 for weights in recorder.weights[1:])
    assert fit.n_iter >= 2


def test_another_criterion_than_least_squares_is_optimised(faint_data, score_by_pairs):
    fit = alternate(
        faint_data.X, KMediansPartition(3), TopFeatures(5), 25, rng=np.random.default_rng(0)
    )
    assert not np.allclose(fit.scores, score_by_pairs(faint_data.X, fit.labels), rtol=0.01)
