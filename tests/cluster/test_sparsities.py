"""What a sparsity stands for: a number of features, or a share of them."""

import numpy as np
import pytest

from sparsekm import GapSearch, L0KMeans, L1KMeans
from sparsekm.cluster.weight_step import TopFeatures


@pytest.fixture(scope="module", name="X")
def hundred_features():
    X = np.random.default_rng(0).normal(size=(30, 100))
    X[:15, :5] += 4
    return X


@pytest.mark.parametrize(
    ("share", "n_features", "kept"),
    [(0.29, 100, 29), (0.294, 100, 29), (0.296, 100, 30), (0.001, 100, 1)],
)
def test_a_share_is_rounded_to_the_nearest_number_of_features(share, n_features, kept):
    assert TopFeatures.check(share, n_features) == kept


def test_every_share_of_whole_features_keeps_them():
    for n_features in (7, 100, 326, 1724):
        for kept in range(1, n_features):
            assert TopFeatures.check(kept / n_features, n_features) == kept


@pytest.mark.parametrize("sparsity", [1.0, np.float32(1)])
def test_a_sparsity_of_one_point_zero_is_refused_and_the_ways_out_are_named(X, sparsity):
    with pytest.raises(ValueError, match="write 1 to keep one feature, None to keep all"):
        L0KMeans(2, sparsity=sparsity).fit(X)


@pytest.mark.parametrize("sparsity", [1, np.int64(1)])
def test_a_sparsity_of_one_keeps_one_feature(X, sparsity):
    assert L0KMeans(2, sparsity=sparsity, random_state=0).fit(X).get_support().sum() == 1


def test_in_a_grid_every_value_from_one_up_is_a_count(X):
    path = L0KMeans(2, n_init=2, random_state=0).path(X, [1.0, 10, 0.5, 2.7])
    assert path.n_selected.tolist() == [1, 10, 50, 2]
    assert path.sparsities.tolist() == [1, 10, 50, 2]
    # In ascending order of what they stand for the objective never falls.
    assert np.all(np.diff(path.objectives[np.argsort(path.n_selected)]) >= 0)


def test_the_limit_of_the_rule_auto_holds_for_shares_too():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 1)) + 0.3 * rng.normal(size=(60, 100))
    search = GapSearch(
        L0KMeans(2, n_init=2), sparsities=[0.9, 10], n_references=2, rule="auto", random_state=0
    ).fit(X)
    assert search.limit_.most == 25
    assert search.get_support().sum() == 10


@pytest.mark.parametrize("grid", [[1.0, 5.5], None])
def test_the_best_sparsity_of_an_l0_search_is_a_whole_number_that_fits_again(X, grid):
    search = GapSearch(L0KMeans(2, n_init=1), sparsities=grid, n_references=2, random_state=0)
    best = search.fit(X).best_sparsity_
    assert type(best) is int
    assert type(search.best_estimator_.sparsity) is int
    again = L0KMeans(2, sparsity=best, random_state=0).fit(X)
    assert again.get_support().sum() == best


def test_the_best_sparsity_of_an_l1_search_is_a_float(X):
    search = GapSearch(L1KMeans(2, n_init=1), sparsities=[1, 4], n_references=2, random_state=0)
    assert type(search.fit(X).best_sparsity_) is float
