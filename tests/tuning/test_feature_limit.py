"""At most a quarter of correlated features is kept, and what decided is said."""

import numpy as np
import pandas as pd
import pytest

from sparsekm import GapSearch, L0KMeans, L1KMeans
from sparsekm.simulation import gaussian_clusters
from sparsekm.tuning.feature_limit import FeatureLimit, NoiseCorrelation
from sparsekm.tuning.selection import select_sparsity

INDEPENDENT, CORRELATED = NoiseCorrelation(1.0, 1000), NoiseCorrelation(2.0, 1000)


def curve(gaps, n_selected):
    return pd.DataFrame({"n_selected": n_selected, "gap": gaps, "se": 0.0})


def independent_features(seed):
    """Three clusters told apart by a third of 120 features, all else independent."""
    means = np.outer([1.2, -1.2, 0.0], np.ones(40))
    return gaussian_clusters(means, 20, 120, random_state=seed).X


def correlated_features(seed):
    """Two clusters in 10 of 120 features, all of which share three factors."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 120)) + rng.standard_normal((60, 3)) @ rng.normal(0, 1.5, (3, 120))
    X[:30, :10] += 4
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)


@pytest.mark.parametrize(
    ("gaps", "n_selected", "correlation", "chosen"),
    [
        ([0.1, 0.3, 0.2, 0.9], [5, 20, 25, 100], INDEPENDENT, 3),
        ([0.1, 0.3, 0.2, 0.9], [5, 20, 25, 100], CORRELATED, 1),
        # A quarter itself is allowed.
        ([0.1, 0.3, 0.4, 0.9], [5, 20, 25, 100], CORRELATED, 2),
        ([0.1, 0.3, 0.4, 0.9], [5, 20, 26, 100], CORRELATED, 1),
        # Where all keep more, the sparsest.
        ([0.1, 0.3, 0.4, 0.9], [30, 40, 50, 100], CORRELATED, 0),
    ],
)
def test_the_largest_gap_below_the_limit_is_chosen(gaps, n_selected, correlation, chosen):
    limit = FeatureLimit(correlation, 100)
    assert select_sparsity(curve(gaps, n_selected), "auto", limit) == chosen


def test_the_sentence_says_whether_data_or_limit_decided():
    n_selected = [5, 20, 40, 100]
    by_data = FeatureLimit(CORRELATED, 100).sentence(curve([0.4, 0.3, 0.5, 0.9], n_selected), 0)
    by_limit = FeatureLimit(CORRELATED, 100).sentence(curve([0.1, 0.3, 0.5, 0.9], n_selected), 1)
    assert not FeatureLimit(CORRELATED, 100).decides(curve([0.4, 0.3, 0.5, 0.9], n_selected), 0)
    assert FeatureLimit(CORRELATED, 100).decides(curve([0.1, 0.3, 0.5, 0.9], n_selected), 1)
    free = FeatureLimit(INDEPENDENT, 100).sentence(curve([0.1, 0.3, 0.5, 0.9], n_selected), 3)
    assert "at most 25 may be kept" in by_data
    assert by_data.endswith("Below this limit the largest gap keeps 5 of 100 features.")
    assert by_limit.endswith("This limit, not the data, decides to keep 20 of 100 features.")
    assert "no correlation" in free
    assert free.endswith("keeps 100 of 100 features.")


def search_by_both_rules(estimator, X, seed):
    return [
        GapSearch(estimator, n_references=3, rule=rule, random_state=seed).fit(X)
        for rule in ("max", "auto")
    ]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("estimator", [L0KMeans(3, n_init=3), L1KMeans(3, n_init=3)])
def test_on_independent_features_auto_is_the_papers_rule(estimator, seed):
    X = independent_features(seed)
    paper, auto = search_by_both_rules(estimator, X, seed)
    assert paper.best_sparsity_ == auto.best_sparsity_
    np.testing.assert_array_equal(paper.labels_, auto.labels_)
    assert auto.limit_.most == 120
    assert auto.conclusion_.startswith("The dropped features show no correlation")
    # More than a quarter, which would not be allowed of correlated ones.
    if isinstance(estimator, L0KMeans):
        assert auto.get_support().sum() > 30


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("estimator", [L0KMeans(2, n_init=3), L1KMeans(2, n_init=3)])
def test_of_correlated_features_at_most_a_quarter_is_kept(estimator, seed):
    X = correlated_features(seed)
    paper, auto = search_by_both_rules(estimator, X, seed)
    # Without the limit everything would be kept.
    assert paper.get_support().all()
    assert auto.limit_.most == 30
    assert 1 <= auto.get_support().sum() <= 30
    assert "correlate" in auto.conclusion_
