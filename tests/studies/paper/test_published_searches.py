"""The published searches are what their names say, and no better than the package's own."""

import numpy as np
import pytest

from sparsekm.cluster.matrices.matrix import CentredMatrix
from sparsekm.cluster.weight_step import TopFeatures
from sparsekm.simulation import experiment_2
from sparsekm.studies.paper.published_searches import (
    LloydKMeans,
    LloydPartition,
    OverwritingL0KMeans,
    PrintedL0KMeans,
    run_as_printed,
)

GRID = [5, 20, 50, 80]


@pytest.fixture(scope="module")
def data():
    return experiment_2(mu=0.6, n_features=80, cluster_size=8, random_state=3)


def test_lloyd_ends_where_every_sample_is_nearest_to_its_own_centre(data):
    fitted = LloydKMeans(3, n_init=1, random_state=0).fit(data.X)
    distances = ((data.X[:, None] - fitted.cluster_centers_) ** 2).sum(axis=2)
    np.testing.assert_array_equal(distances.argmin(axis=1), fitted.labels_)


class Answers:
    """A clustering that answers with given labels in turn, and the weights that it was asked."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    def start(self, X, weights, rng):
        self.asked.append(weights.tolist())
        return np.array(self.answers[len(self.asked) - 1], np.int32)

    def scores(self, X, labels):
        return LloydPartition(2).scores(X, labels)


def test_algorithm_1_is_run_word_for_word():
    # Feature 0 tells {0, 1} from {2, 3}, feature 1 {0, 2} from {1, 3}.
    X = CentredMatrix(np.array([[0.0, 0.0], [0.0, 2.0], [3.0, 0.0], [3.0, 2.0]]))
    by_first, by_second = [0, 0, 1, 1], [0, 1, 0, 1]
    step = TopFeatures(1)
    settled = Answers(by_second, by_second)
    fit = run_as_printed(X, settled, step, None, max_iter=6, tol=1e-4)
    # Step 1's weights are 1 / sqrt(2) each; then feature 1 alone counts, with a_1 = 4.
    assert settled.asked == [pytest.approx([0.5**0.5] * 2), [0.0, 1.0]]
    assert (fit.n_iter, fit.objective, fit.weights.tolist()) == (2, 4.0, [0.0, 1.0])
    # A fresh k-means may undo what the last one found: nothing is kept of it.
    restless = Answers(by_first, by_second, by_second)
    fit = run_as_printed(X, restless, step, None, max_iter=6, tol=1e-4)
    assert restless.asked[1:] == [[1.0, 0.0], [0.0, 1.0]]
    assert (fit.n_iter, fit.objective) == (3, 4.0)
    # Overwritten, a dissimilarity of feature 1 that was set to zero stays zero.
    overwritten = Answers(by_first, by_second)
    fit = run_as_printed(X, overwritten, step, None, max_iter=6, tol=1e-4, overwrite=True)
    assert (fit.n_iter, fit.weights.tolist()) == (2, [1.0, 0.0])
    assert fit.objective == 0.0


def test_no_sparsity_is_helped_by_another_where_algorithm_1_is_as_printed(data):
    alone = PrintedL0KMeans(3, n_init=1, random_state=0).path(data.X, [20])
    along = PrintedL0KMeans(3, n_init=1, random_state=0).path(data.X, GRID)
    np.testing.assert_array_equal(alone.labels[0], along.labels[1])
    overwritten = OverwritingL0KMeans(3, n_init=1, random_state=0).path(data.X, GRID)
    assert set(overwritten.n_iter.tolist()) == {2}
