"""SparseClustering over partition steps of one's own, and what it refuses."""

import doctest
from pathlib import Path

import numpy as np
import pytest
from partition_steps import FOUR, BestOfAll, Given, KMediansPartition, Recorder
from sklearn.cluster import DBSCAN, AgglomerativeClustering, FeatureAgglomeration
from sklearn.cluster import KMeans as ReferenceKMeans
from sklearn.exceptions import ConvergenceWarning

from sparsekm import SparseClustering
from sparsekm.cluster.alternation import alternate
from sparsekm.cluster.weight_step import TopFeatures

PENALTIES = pytest.mark.parametrize(("penalty", "sparsity"), [("l0", 4), ("l1", 1.8)])


@PENALTIES
@pytest.mark.parametrize("seed", range(2))
def test_an_exact_partition_step_ends_where_neither_step_gains(
    penalty, sparsity, seed, all_partitions, score_by_pairs, best_value, try_every_partition
):
    X = np.random.default_rng(seed).normal(size=(7, 6))
    partitions = all_partitions(7, 3).astype(int)
    sparsity = sparsity / 2
    step = BestOfAll(partitions, score_by_pairs)
    fit = SparseClustering(step, penalty=penalty, sparsity=max(sparsity, 1.2), n_init=1).fit(X)
    scores = np.array([score_by_pairs(X, labels) for labels in partitions])
    assert fit.objective_ == pytest.approx((scores @ fit.feature_weights_).max(), rel=1e-9)
    allowed = 2 if penalty == "l0" else 1.2
    best = best_value(fit.feature_scores_, penalty, allowed)[0]
    assert fit.objective_ == pytest.approx(best, rel=1e-9)
    assert fit.objective_ <= try_every_partition(X, 3, penalty, allowed) * (1 + 1e-9)


def test_rounds_that_run_out_are_told(faint_data):
    estimator = SparseClustering(KMediansPartition(3), sparsity=2, max_iter=1, random_state=0)
    with pytest.warns(ConvergenceWarning, match="after max_iter=1 rounds"):
        estimator.fit(faint_data.X)


@pytest.mark.parametrize("scores", [[1.0], [1.0, -1.0], [1.0, np.nan]])
def test_scores_that_cannot_be_weighed_are_refused(scores):
    class Wrong(BestOfAll):
        def scores(self, X, labels):
            return np.array(scores)

    step = Wrong([np.array([0, 0, 1, 1])], lambda X, labels: np.ones(2))
    with pytest.raises(ValueError, match="should be 2 finite numbers >= 0"):
        SparseClustering(step).fit(FOUR)


def test_the_first_weights_are_one_over_sqrt_p(faint_data):
    recorder = Recorder(KMediansPartition(3))
    fit = alternate(faint_data.X, recorder, TopFeatures(5), 25, rng=np.random.default_rng(0))
    np.testing.assert_allclose(recorder.weights[0], 1 / np.sqrt(25), rtol=1e-12)
    assert len(recorder.weights) > 1
    assert all(np.count_nonzero(weights) == 5 for weights in recorder.weights[1:])
    assert fit.n_iter >= 2


def test_another_criterion_than_least_squares_is_optimised(faint_data, score_by_pairs):
    step = KMediansPartition(3)
    fit = SparseClustering(step, sparsity=5, random_state=0).fit(faint_data.X)
    np.testing.assert_array_equal(fit.feature_scores_, step.scores(faint_data.X, fit.labels_))
    assert not np.allclose(
        fit.feature_scores_, score_by_pairs(faint_data.X, fit.labels_), rtol=0.01
    )
    assert fit.objective_ == pytest.approx(np.sort(fit.feature_scores_)[-5:].sum())


@pytest.mark.parametrize(
    ("clusterer", "error", "message"),
    [
        (ReferenceKMeans, TypeError, "should be a scikit-learn clusterer .* or a partition step"),
        (KMediansPartition, TypeError, "should be a scikit-learn clusterer"),
        ("ward", TypeError, "clusterer='ward' should be"),
        (FeatureAgglomeration(2), TypeError, "should be a scikit-learn clusterer"),
        (DBSCAN(), ValueError, r"DBSCAN\(\) should have a number as n_clusters"),
        (AgglomerativeClustering(0), ValueError, "n_clusters=0 should be >= 1"),
        (AgglomerativeClustering(5), ValueError, "n_samples=4 should be >= n_clusters=5"),
        (Given([[0, -1, 1, -1]]), ValueError, "left 2 of n_samples=4 samples without a cluster"),
        (Given([[0, 1, 2, 2]]), ValueError, "found 3 clusters; should be <= 2"),
        (Given([[0, 1, 1]]), ValueError, r"should be n_samples=4 integers; .* shape \(3,\)"),
    ],
)
def test_what_is_no_partition_is_refused(clusterer, error, message):
    with pytest.raises(error, match=message):
        SparseClustering(clusterer).fit(FOUR)


def test_fewer_clusters_than_asked_for_are_a_partition():
    fit = SparseClustering(Given([[7, 7, 3, 3]], n_clusters=3), sparsity=1).fit(FOUR)
    assert fit.labels_.tolist() == [0, 0, 1, 1]
    assert fit.cluster_centers_.shape == (2, 2)


PAGE = Path(__file__).resolve().parents[2] / "docs" / "own_clustering.md"


def test_the_page_prints_what_it_says():
    text = PAGE.read_text(encoding="utf-8")
    # Every fence opens or closes a block of Python, so that none goes untried.
    assert text.count("```python\n>>> ") * 2 == text.count("```") > 8
    outcome = doctest.testfile(str(PAGE), module_relative=False)
    assert outcome.attempted > 20
    assert outcome.failed == 0
