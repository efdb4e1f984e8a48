"""Groups of features where `SparseKMeans` ranks, keeps and shows features."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import adjusted_rand_score

from sparsekm import L0KMeans, SparseKMeans
from sparsekm.cluster.description import Description
from sparsekm.cluster.matrices.scaled_data import ScaledData
from sparsekm.tuning.choices import compare_choices
from sparsekm.tuning.feature_ranking import rank_features

pytestmark = pytest.mark.usefixtures("one_repeat")
TRUTH = np.repeat([0, 1, 2], 20)
GROUPS = np.arange(120) // 3
LEARNT = ["labels_", "feature_weights_", "feature_scores_", "objective_", "selection_frequency_"]


@pytest.fixture(scope="module", name="X")
def planted_groups():
    X = np.random.default_rng(0).normal(size=(60, 120))
    X[:20, :12] += 3
    X[20:40, :12] -= 3
    return X


def fit(X, groups=None, penalty="l0", **parameters):
    own = {"penalty": penalty, "feature_groups": groups, "random_state": 0, **parameters}
    return SparseKMeans(3, **own).fit(X)


@pytest.fixture(scope="module", params=["l0", "l1"])
def single(request, X):
    return fit(X, penalty=request.param)


@pytest.fixture(scope="module")
def grouped(X):
    return fit(X, GROUPS)


def test_groups_of_one_feature_change_no_bit(X, single):
    other = fit(X, [f"g{j}" for j in range(120)], single.penalty)
    for name in LEARNT:
        np.testing.assert_array_equal(getattr(other, name), getattr(single, name))
    assert other.search_results_.equals(single.search_results_)
    np.testing.assert_array_equal(other.signature_, single.signature_)


def test_copies_of_a_feature_as_one_group_are_that_feature(X, single):
    copies = fit(np.repeat(X, 2, axis=1), np.arange(240) // 2, single.penalty)
    np.testing.assert_array_equal(copies.labels_, single.labels_)
    np.testing.assert_allclose(copies.feature_weights_[::2] * 2, single.feature_weights_)
    chosen = 2 * np.repeat(single.signature_, 2) + np.tile([0, 1], len(single.signature_))
    np.testing.assert_array_equal(copies.signature_, chosen)


@pytest.mark.parametrize("penalty", ["l0", "l1"])
def test_planted_groups_are_found_and_everything_is_of_whole_groups(X, penalty):
    found = fit(X, GROUPS, penalty)
    assert adjusted_rand_score(TRUTH, found.labels_) == 1
    np.testing.assert_array_equal(found.get_support(indices=True), np.arange(12))
    sets = [found.signature_, *found.cluster_signatures_]
    for features in sets:
        assert len(features) == 3 * len(np.unique(GROUPS[features]))
        assert set(features) <= set(range(12))
    frequency = found.selection_frequency_.reshape(-1, 3)
    assert (frequency == frequency[:, :1]).all()
    if penalty == "l0":
        assert found.sparsity_ == 4
        # The weight of a group is that of one feature.
        np.testing.assert_allclose(found.feature_weights_[:12], 1 / 3)


def test_the_order_of_features_changes_nothing(X, grouped):
    order = np.random.default_rng(1).permutation(120)
    other = fit(X[:, order], GROUPS[order])
    np.testing.assert_array_equal(other.labels_, grouped.labels_)
    np.testing.assert_allclose(other.feature_weights_, grouped.feature_weights_[order])
    np.testing.assert_array_equal(np.sort(order[other.signature_]), grouped.signature_)


def test_a_number_as_sparsity_counts_groups_and_constant_features_have_no_part(X):
    wider = np.column_stack([np.ones(60), X, np.zeros((60, 2))])
    groups = np.r_[0, GROUPS, 99, 99]
    for sparsity, kept in ((2, 6), (0.05, 6), (41, 120)):
        assert np.count_nonzero(fit(wider, groups, sparsity=sparsity).feature_weights_) == kept


def test_sparse_values_and_samples_that_are_drawn_or_set_aside_keep_groups_whole(X):
    stored = csr_array(np.maximum(X, 0))
    for found in (fit(stored, GROUPS), fit(X, GROUPS, max_samples=45), fit(X, GROUPS, trim=0.05)):
        support = found.get_support().reshape(-1, 3)
        assert support[:4].all()
        assert (support == support[:, :1]).all()


def test_a_ranking_puts_groups_by_their_mean_ranks():
    X = np.random.default_rng(2).normal(size=(50, 6)) * [1, 9, 2, 3, 8, 4]
    groups = np.array(["a", "b", "a", "c", "b", "c"], object)
    data = replace(ScaledData.standardise(X), about=Description(feature_groups=groups))
    assert rank_features(data, "variance").tolist() == [1, 4, 3, 5, 0, 2]
    assert rank_features(data, "all").tolist() == [0, 2, 1, 4, 3, 5]


def test_a_category_of_many_levels_counts_as_one_feature():
    rng = np.random.default_rng(4)
    kinds = np.where(rng.random(60) < 0.9, TRUTH, rng.integers(0, 3, 60))
    table = pd.DataFrame(rng.normal(size=(60, 20)), columns=[f"n{j}" for j in range(20)])
    table[["n0", "n1"]] += 5 * (TRUTH == 1)[:, None]
    table[["n2", "n3"]] += 5 * (TRUTH == 2)[:, None]
    table["kind"] = kinds.astype(str)
    table["ward"] = rng.choice(list("ABCDEFGH"), 60)
    levels = pd.get_dummies(table, prefix_sep=": ", dtype=float)
    found = fit(levels, levels.columns.str.split(": ").str[0], sparsity=5)
    kept = set(found.get_feature_names_out())
    assert adjusted_rand_score(TRUTH, found.labels_) == 1
    assert kept == {"n0", "n1", "n2", "n3", "kind: 0", "kind: 1", "kind: 2"}


def test_other_choices_are_compared_with_groups_kept_whole(X, grouped):
    estimator = L0KMeans(3, feature_groups=GROUPS, random_state=0)
    kept = grouped.get_support(indices=True)
    data = replace(ScaledData.standardise(X), about=Description(feature_groups=GROUPS))
    table = compare_choices(estimator, data, grouped.labels_, kept, seed=1)
    assert (table["agreement"][table["n_clusters"] == 3] == 1).all()
    assert table["n_features"].max() == 40
