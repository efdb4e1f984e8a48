"""GapSearch: its curve, its choice, its references, what it hands on and refuses."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans as ReferenceKMeans

from sparsekm import GapSearch, KMeans, L0KMeans
from sparsekm.runtime.random_state import seed_sequence
from sparsekm.tuning.gap import gap_curve, select_sparsity
from sparsekm.tuning.references import reference_objectives
from sparsekm.tuning.separation import LEVEL


def test_the_planted_features_are_found_and_the_estimator_given_is_not_changed(data, gap_search):
    search = gap_search("l0")
    before = search.estimator.get_params()
    search.fit(data.X)
    assert search.estimator.get_params() == before
    assert not hasattr(search.estimator, "labels_")
    assert search.best_sparsity_ == 4
    assert search.get_support().tolist() == data.relevant.tolist()
    assert len(set(zip(data.labels, search.labels_, strict=True))) == 3


def test_the_best_estimator_is_the_paths_own_fit(fitted_gap, data):
    best = fitted_gap.best_estimator_
    table = fitted_gap.results_
    assert table["sparsity"].tolist() == fitted_gap.sparsities
    assert (table["reference_sd"] > 0).all()
    assert fitted_gap.best_index_ == select_sparsity(table, "max")
    row = table.iloc[fitted_gap.best_index_]
    assert best.sparsity == fitted_gap.best_sparsity_
    assert best.objective_ == row["objective"]
    assert np.count_nonzero(best.feature_weights_) == row["n_selected"]
    path = clone(best).path(data.X, fitted_gap.results_["sparsity"].to_numpy())
    fit = path.fit_at(fitted_gap.best_index_)
    np.testing.assert_array_equal(fit.labels, best.labels_)
    np.testing.assert_array_equal(fit.weights, best.feature_weights_)
    np.testing.assert_array_equal(fit.scores, best.feature_scores_)
    np.testing.assert_array_equal(path.objectives, fitted_gap.results_["objective"])
    np.testing.assert_array_equal(fitted_gap.labels_, best.labels_)
    np.testing.assert_array_equal(fitted_gap.feature_weights_, best.feature_weights_)
    np.testing.assert_array_equal(fitted_gap.predict(data.X), best.labels_)
    np.testing.assert_array_equal(fitted_gap.transform(data.X), best.transform(data.X))


def test_of_many_samples_too_the_table_has_the_objective_of_the_fit():
    X = np.random.default_rng(0).standard_normal((4500, 12))
    search = GapSearch(L0KMeans(2, n_init=1), sparsities=[3, 12], n_references=2, random_state=0)
    assert search.fit(X).best_estimator_.objective_ in search.results_["objective"].to_numpy()
    # References are compared with the search on a sample.
    assert (search.results_["log_objective"] < np.log(search.results_["objective"])).all()


def test_of_two_stages_the_better_fit_is_taken():
    sparsities, gains = [3, 10, 25], []
    for seed in (10, 11):
        X = np.random.default_rng(seed).standard_normal((60, 40))
        options = {"sparsities": sparsities, "n_references": 2, "n_refined": 4}
        search = GapSearch(L0KMeans(4, n_init=1), random_state=seed, **options).fit(X)
        best, refined = search.best_estimator_, search.path_.objectives[search.best_index_]
        first = clone(best).path(X, sparsities).objectives[np.equal(sparsities, best.sparsity)]
        assert best.objective_ == max([refined, *first])
        gains.append(best.objective_ - refined)
    assert max(gains) > 0, "the second stage was as good: the claim was not put to the test"


def test_the_curve_is_that_of_the_functions_that_the_workflow_calls(data, gap_search):
    search, seed = gap_search("l0").fit(data.X), int(seed_sequence(0).generate_state(1)[0])
    grid = np.array(search.sparsities, dtype=float)
    of_each = {
        index: reference_objectives(search.estimator, data.X, grid, index=index, seed=seed)
        for index in (3, 1, 0, 2)
    }
    path = clone(search.best_estimator_).path(data.X, grid)
    table = gap_curve(path, np.array([of_each[index] for index in range(4)]))
    pd.testing.assert_frame_equal(table, search.results_)


@pytest.mark.parametrize(("method", "n_refined"), [("l0", 3), ("l1", 4)])
def test_a_second_stage_adds_sparsities_around_the_peak(data, method, n_refined, gap_search):
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


@pytest.mark.parametrize("estimator", [KMeans(3), ReferenceKMeans(3)], ids=["ours", "theirs"])
def test_an_estimator_without_sparsity_is_a_type_error(estimator, data):
    with pytest.raises(TypeError, match=r"KMeans\(n_clusters=3.*sparsity"):
        GapSearch(estimator).fit(data.X)


def test_a_verbose_search_tells_what_is_done(data, capsys):
    options = {"sparsities": [2, 6], "n_references": 2, "random_state": 0, "n_jobs": 1}
    GapSearch(L0KMeans(2, n_init=1), verbose=1, **options).fit(data.X)
    # Two references and the data.
    lines = [f"GapSearch: step {done} of 3" for done in (1, 2, 3)]
    assert capsys.readouterr().out.splitlines() == lines


@pytest.mark.parametrize(("rule", "kept"), [("max", 6), ("one-se", 5)])
def test_the_rule_that_is_set_chooses(rule, kept):
    X = np.random.default_rng(1).normal(size=(40, 30))
    X[:20, :6] += 4
    # The gap at 5 is less than that at 6, by less than its standard error.
    options = {"sparsities": [5, 6, 7], "n_references": 2, "random_state": 0, "rule": rule}
    assert GapSearch(L0KMeans(2, n_init=1), **options).fit(X).best_sparsity_ == kept


@pytest.mark.usefixtures("one_repeat")
def test_far_clusters_stand_apart_and_pieces_of_noise_do_not():
    noise = np.random.default_rng(0).standard_normal((40, 30))
    clusters = noise.copy()
    clusters[:20, :6] += 4
    options = {"sparsities": [6, 12], "n_references": 2, "random_state": 0}
    apart, touching = (
        GapSearch(L0KMeans(2, n_init=2), **options).fit(X) for X in (clusters, noise)
    )
    assert apart.separation(clusters)["p_adjusted"].tolist()[0] <= LEVEL
    assert touching.separation(noise)["p_adjusted"].tolist()[0] > LEVEL
    # Groups are counted once, and other data are refused.
    grouped = apart.separation(clusters, groups=np.arange(40) // 4)
    assert grouped[["n_a", "n_b"]].to_numpy().sum() <= 10
    with pytest.raises(ValueError, match=r"n_samples=39 should be 40, as in `fit`"):
        apart.separation(clusters[:39])


def test_the_path_of_weighted_samples_has_each_sample_once(data, gap_search):
    weights = np.arange(30) % 3 + 1
    fit = gap_search("l0").fit(data.X, sample_weight=weights)
    assert fit.path_.labels.shape == (5, 30)
    np.testing.assert_array_equal(fit.path_.labels[fit.best_index_], fit.labels_)
    assert gap_search("l0").fit(data.X, sample_weight=weights - 1).path_.labels.shape[1] == 20
