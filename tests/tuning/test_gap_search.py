"""GapSearch: its curve, its choice and its references."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans as ReferenceKMeans

from sparsekm.cluster.estimators import L0KMeans
from sparsekm.runtime.random_state import seed_sequence
from sparsekm.tuning.gap import gap_curve
from sparsekm.tuning.gap_search import GapSearch
from sparsekm.tuning.references import permuted_reference, reference_objectives
from sparsekm.tuning.selection import select_sparsity


def test_the_planted_features_are_found(data, gap_search):
    search = gap_search("l0").fit(data.X)
    assert search.best_sparsity_ == 4
    assert search.get_support().tolist() == data.relevant.tolist()
    assert len(set(zip(data.labels, search.labels_, strict=True))) == 3


def test_results_ascend_and_have_the_columns_of_the_contract(fitted_gap):
    table = fitted_gap.results_
    assert isinstance(table, pd.DataFrame)
    assert table.columns.tolist() == [
        "sparsity",
        "n_selected",
        "objective",
        "log_objective",
        "reference_mean",
        "reference_sd",
        "gap",
        "se",
    ]
    assert table["sparsity"].tolist() == fitted_gap.sparsities
    assert (table["reference_sd"] > 0).all()
    np.testing.assert_allclose(table["log_objective"], np.log(table["objective"]))
    np.testing.assert_allclose(table["gap"], table["log_objective"] - table["reference_mean"])
    np.testing.assert_allclose(table["se"], table["reference_sd"] * np.sqrt(1 + 1 / 4))


def test_the_best_row_is_the_rules_choice(fitted_gap):
    table = fitted_gap.results_
    assert (
        fitted_gap.best_index_ == select_sparsity(table, "max") == table["gap"].to_numpy().argmax()
    )
    assert fitted_gap.best_sparsity_ == table["sparsity"][fitted_gap.best_index_]


def test_the_best_estimator_is_the_paths_own_fit(fitted_gap, data):
    best = fitted_gap.best_estimator_
    row = fitted_gap.results_.iloc[fitted_gap.best_index_]
    assert best.sparsity == fitted_gap.best_sparsity_
    assert best.objective_ == row["objective"]
    assert np.count_nonzero(best.feature_weights_) == row["n_selected"]
    path = clone(best).path(data.X, fitted_gap.results_["sparsity"].to_numpy())
    np.testing.assert_array_equal(path.labels[fitted_gap.best_index_], best.labels_)
    np.testing.assert_array_equal(path.weights[fitted_gap.best_index_], best.feature_weights_)
    np.testing.assert_array_equal(path.scores[fitted_gap.best_index_], best.feature_scores_)
    np.testing.assert_array_equal(path.objectives, fitted_gap.results_["objective"])


def test_of_two_stages_the_better_fit_is_taken():
    sparsities, gains = [3, 10, 25], []
    for seed in (10, 11):
        X = np.random.default_rng(seed).standard_normal((60, 40))
        search = GapSearch(
            L0KMeans(4, n_init=1),
            sparsities=sparsities,
            n_references=2,
            n_refined=4,
            random_state=seed,
        ).fit(X)
        best, refined = search.best_estimator_, search.path_.objectives[search.best_index_]
        first = clone(best).path(X, sparsities).objectives[np.equal(sparsities, best.sparsity)]
        assert best.objective_ == max([refined, *first])
        gains.append(best.objective_ - refined)
    assert max(gains) > 0, "the second stage was as good: the claim was not put to the test"


def test_the_references_are_permutations_each_known_by_its_index(data, gap_search):
    """The curve is made anew from the pure functions that the workflow calls."""
    search = gap_search("l0").fit(data.X)
    seed = int(seed_sequence(0).generate_state(1)[0])
    grid = np.array(search.sparsities, dtype=float)
    objectives = np.array(
        [
            reference_objectives(search.estimator, data.X, grid, index=b, seed=seed)
            for b in (3, 1, 0, 2)
        ]
    )[[2, 1, 3, 0]]
    path = clone(search.best_estimator_).path(data.X, grid)
    table = gap_curve(grid, path.n_selected, path.objectives, objectives)
    pd.testing.assert_frame_equal(table, search.results_)
    log_references = np.log(objectives)
    np.testing.assert_allclose(
        search.results_["gap"], np.log(path.objectives) - log_references.mean(axis=0)
    )
    np.testing.assert_allclose(
        search.results_["se"], log_references.std(axis=0, ddof=1) * np.sqrt(1 + 1 / 4)
    )


def test_objectives_of_a_reference_are_those_of_its_permuted_matrix(data):
    # Keeping one feature, the optimum needs no search: the best split of the best single column,
    # which permuting rows within columns cannot change.
    estimator = L0KMeans(2, n_init=20, search="global")
    X = data.X[:9]
    values = {
        round(float(reference_objectives(estimator, X, np.array([1.0]), index=b, seed=1)[0]), 9)
        for b in range(4)
    }
    own = estimator.set_params(random_state=0).path(X, [1.0]).objectives[0]
    assert values == {round(float(own), 9)}
    # Keeping all, it is the k-means optimum of that very matrix.
    for b in range(2):
        reference = permuted_reference(X, index=b, seed=1)
        value = reference_objectives(estimator, X, np.array([24.0]), index=b, seed=1)[0]
        kmeans = ReferenceKMeans(2, n_init=100, random_state=0).fit(reference)
        total = ((reference - reference.mean(axis=0)) ** 2).sum()
        assert value >= (total - kmeans.inertia_) * (1 - 1e-9)
        assert value < total


def test_more_references_leave_the_first_ones_as_they_were(data, gap_search):
    two, three = (gap_search("l0", n_references=b).fit(data.X).results_ for b in (2, 3))
    third = 3 * three["reference_mean"] - 2 * two["reference_mean"]
    # Mean and deviation of all three then follow from those of the first two.
    deviations = two["reference_sd"] ** 2 + (third - two["reference_mean"]) ** 2 * 2 / 3
    np.testing.assert_allclose(three["reference_sd"] ** 2, deviations / 2, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("method", ["l0", "l1"])
def test_no_bit_depends_on_the_number_of_jobs(data, method, gap_search):
    one, two = (gap_search(method, n_jobs=n_jobs).fit(data.X) for n_jobs in (1, 2))
    pd.testing.assert_frame_equal(one.results_, two.results_, check_exact=True)
    assert one.labels_.tobytes() == two.labels_.tobytes()
    assert one.feature_weights_.tobytes() == two.feature_weights_.tobytes()


def test_the_same_seed_gives_the_same_bits_and_another_gives_other_references(data, gap_search):
    first, again = (gap_search("l0").fit(data.X).results_ for _ in range(2))
    pd.testing.assert_frame_equal(first, again, check_exact=True)
    other = gap_search("l0", random_state=1).fit(data.X).results_
    assert (other["reference_mean"] != first["reference_mean"]).all()


@pytest.mark.parametrize("method", ["l0", "l1"])
@pytest.mark.parametrize("n_refined", [3, 4])
def test_a_second_stage_searches_the_grid_with_more_sparsities_around_the_peak(
    data, method, n_refined, gap_search
):
    coarse = gap_search(method).fit(data.X).results_
    search = gap_search(method, n_refined=n_refined).fit(data.X)
    table = search.results_
    added = np.setdiff1d(table["sparsity"], coarse["sparsity"])
    peak = int(coarse["gap"].argmax())
    low, high = coarse["sparsity"].iloc[[peak - 1, peak + 1]]
    assert 0 < len(added) <= n_refined
    assert len(table) == len(coarse) + len(added)
    assert ((added > low) & (added < high)).all()
    whole = gap_search(method, sparsities=table["sparsity"]).fit(data.X)
    pd.testing.assert_frame_equal(table, whole.results_, check_exact=True)
    assert search.best_index_ == whole.best_index_
    np.testing.assert_array_equal(search.labels_, whole.labels_)
    # One path for all: what a reference comes to never falls with the sparsity.
    assert (np.diff(table["reference_mean"]) >= 0).all()
