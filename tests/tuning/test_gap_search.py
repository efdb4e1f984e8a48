"""GapSearch: its curve, its choice, its references, and scikit-learn's contract."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans as ReferenceKMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from sparsekm.cluster.estimators import KMeans, L0KMeans, L1KMeans
from sparsekm.simulation.designs import gaussian_clusters
from sparsekm.tuning.gap import gap_curve
from sparsekm.tuning.gap_search import GapSearch
from sparsekm.tuning.references import permuted_reference
from sparsekm.tuning.selection import select_sparsity

GRIDS = {"l0": [2, 4, 8, 16, 24], "l1": [1.2, 1.8, 2.6, 3.6, 4.9]}


@pytest.fixture(scope="module")
def data():
    means = np.outer([3.0, -3.0, 0.0], [1.0, 1.0, 1.0, 1.0])
    data = gaussian_clusters(means, 10, 24, random_state=1)
    data.X.setflags(write=False)
    return data


def make_search(method, n_init=2, **parameters):
    estimator = {"l0": L0KMeans, "l1": L1KMeans}[method](3, n_init=n_init)
    defaults = {"sparsities": GRIDS[method], "n_references": 4, "random_state": 0}
    return GapSearch(estimator, **{**defaults, **parameters})


@pytest.fixture(scope="module", params=["l0", "l1"])
def fitted(request, data):
    return make_search(request.param).fit(data.X)


@parametrize_with_checks(
    [
        GapSearch(L0KMeans(n_clusters=2, n_init=2), n_references=2),
        GapSearch(L1KMeans(n_clusters=2, n_init=2), n_references=2, rule="one-se"),
    ]
)
def test_scikit_learns_own_checks_pass(estimator, check):
    check(estimator)


def test_the_defaults_are_those_of_the_contract():
    estimator = L0KMeans(3)
    parameters = GapSearch(estimator).get_params(deep=False)
    assert parameters == {
        "estimator": estimator,
        "sparsities": None,
        "n_references": 10,
        "reference": "permutation",
        "rule": "max",
        "n_refined": 0,
        "max_samples": None,
        "n_jobs": None,
        "random_state": None,
        "verbose": 0,
    }


def test_the_planted_features_are_found(data):
    search = make_search("l0").fit(data.X)
    assert search.best_sparsity_ == 4
    assert search.get_support().tolist() == data.relevant.tolist()
    assert len(set(zip(data.labels, search.labels_, strict=True))) == 3


def test_results_ascend_and_have_the_columns_of_the_contract(fitted):
    table = fitted.results_
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
    assert table["sparsity"].tolist() == GRIDS["l0" if table["sparsity"][0] == 2 else "l1"]
    assert (table["reference_sd"] > 0).all()
    np.testing.assert_allclose(table["log_objective"], np.log(table["objective"]))
    np.testing.assert_allclose(table["gap"], table["log_objective"] - table["reference_mean"])
    np.testing.assert_allclose(table["se"], table["reference_sd"] * np.sqrt(1 + 1 / 4))


def test_sparsities_in_any_order_give_the_same_table(data):
    ascending = make_search("l0").fit(data.X)
    shuffled = make_search("l0", sparsities=[8, 24, 2, 16, 4]).fit(data.X)
    pd.testing.assert_frame_equal(shuffled.results_, ascending.results_)
    assert shuffled.best_sparsity_ == ascending.best_sparsity_
    np.testing.assert_array_equal(shuffled.labels_, ascending.labels_)


def test_the_best_row_is_the_rules_choice(fitted):
    table = fitted.results_
    assert fitted.best_index_ == select_sparsity(table, "max") == table["gap"].to_numpy().argmax()
    assert fitted.best_sparsity_ == table["sparsity"][fitted.best_index_]


def test_rule_one_se_never_chooses_a_larger_sparsity(data):
    for method in ("l0", "l1"):
        largest = make_search(method).fit(data.X)
        within = make_search(method, rule="one-se").fit(data.X)
        pd.testing.assert_frame_equal(within.results_, largest.results_)
        gap, se = (within.results_[column].to_numpy() for column in ("gap", "se"))
        near = np.flatnonzero(gap >= gap.max() - se[gap.argmax()])
        assert within.best_index_ == near[0] <= largest.best_index_


def test_the_best_estimator_is_the_paths_own_fit(fitted, data):
    best = fitted.best_estimator_
    row = fitted.results_.iloc[fitted.best_index_]
    assert best.sparsity == fitted.best_sparsity_
    assert best.objective_ == row["objective"]
    assert np.count_nonzero(best.feature_weights_) == row["n_selected"]
    path = clone(best).path(data.X, fitted.results_["sparsity"].to_numpy())
    np.testing.assert_array_equal(path.labels[fitted.best_index_], best.labels_)
    np.testing.assert_array_equal(path.weights[fitted.best_index_], best.feature_weights_)
    np.testing.assert_array_equal(path.scores[fitted.best_index_], best.feature_scores_)
    np.testing.assert_array_equal(path.objectives, fitted.results_["objective"])


def test_it_is_the_paths_fit_also_where_a_refit_would_differ():
    X = np.random.default_rng(5).standard_normal((400, 30))
    differing = 0
    for seed in range(4):
        estimator = L0KMeans(5, n_init=1, search="alternate", max_iter=3)
        search = GapSearch(
            estimator, sparsities=[2, 5, 10, 20, 30], n_references=2, random_state=seed
        ).fit(X)
        refit = clone(search.best_estimator_).fit(X)
        # The grid ascends, so rows of the results are places of the path.
        assert search.best_estimator_.objective_ == search.path_.objectives[search.best_index_]
        differing += not np.array_equal(refit.labels_, search.labels_)
    assert differing > 0, "every refit agreed: the claim was not put to the test"


def test_refined_fits_are_taken_but_the_gap_compares_the_search_on_a_sample():
    X = np.random.default_rng(5).standard_normal((4500, 12))
    search = GapSearch(L0KMeans(4, n_init=1), sparsities=[2, 5, 12], n_references=2, random_state=1)
    search.fit(X)
    assert np.all(search.path_.objectives > search.path_.first_objectives)
    np.testing.assert_array_equal(search.path_.first_objectives, search.results_["objective"])


def test_what_the_best_estimator_knows_is_handed_on(fitted, data):
    best = fitted.best_estimator_
    np.testing.assert_array_equal(fitted.labels_, best.labels_)
    np.testing.assert_array_equal(fitted.feature_weights_, best.feature_weights_)
    np.testing.assert_array_equal(fitted.predict(data.X), best.predict(data.X))
    np.testing.assert_array_equal(fitted.predict(data.X), fitted.labels_)
    np.testing.assert_array_equal(fitted.transform(data.X), best.transform(data.X))
    np.testing.assert_array_equal(fitted.get_support(), best.get_support())
    assert fitted.n_features_in_ == 24


def test_the_references_are_permutations_each_known_by_its_index(data):
    """The curve is made anew from the pure functions that the workflow calls."""
    from sparsekm.runtime.random_state import seed_sequence
    from sparsekm.tuning.references import reference_objectives

    search = make_search("l0").fit(data.X)
    seed = int(seed_sequence(0).generate_state(1)[0])
    grid = np.array(GRIDS["l0"], dtype=float)
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
    from sparsekm.tuning.references import reference_objectives

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


def test_more_references_leave_the_first_ones_as_they_were(data):
    two, three = (make_search("l0", n_references=b).fit(data.X).results_ for b in (2, 3))
    third = 3 * three["reference_mean"] - 2 * two["reference_mean"]
    # Mean and deviation of all three then follow from those of the first two.
    deviations = two["reference_sd"] ** 2 + (third - two["reference_mean"]) ** 2 * 2 / 3
    np.testing.assert_allclose(three["reference_sd"] ** 2, deviations / 2, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("method", ["l0", "l1"])
def test_no_bit_depends_on_the_number_of_jobs(data, method):
    one, two = (make_search(method, n_jobs=n_jobs).fit(data.X) for n_jobs in (1, 2))
    pd.testing.assert_frame_equal(one.results_, two.results_, check_exact=True)
    assert one.labels_.tobytes() == two.labels_.tobytes()
    assert one.feature_weights_.tobytes() == two.feature_weights_.tobytes()


def test_the_same_seed_gives_the_same_bits_and_another_gives_other_references(data):
    first, again = (make_search("l0").fit(data.X).results_ for _ in range(2))
    pd.testing.assert_frame_equal(first, again, check_exact=True)
    other = make_search("l0", random_state=1).fit(data.X).results_
    assert (other["reference_mean"] != first["reference_mean"]).all()


@pytest.mark.parametrize("method", ["l0", "l1"])
def test_a_second_stage_adds_sparsities_around_the_peak_and_leaves_the_first_as_it_was(
    data, method
):
    coarse = make_search(method).fit(data.X).results_
    search = make_search(method, n_refined=3).fit(data.X)
    table = search.results_.set_index("sparsity")
    pd.testing.assert_frame_equal(table.loc[coarse["sparsity"]].reset_index(), coarse)
    added = table.index.difference(coarse["sparsity"])
    peak = int(coarse["gap"].argmax())
    low, high = coarse["sparsity"].iloc[[peak - 1, peak + 1]]
    assert 0 < len(added) <= 3
    assert ((added > low) & (added < high)).all()
    assert table.index.is_monotonic_increasing
    # A curve over all these sparsities at once has the references of either stage.
    assert table["gap"].max() == search.results_["gap"][search.best_index_]
    np.testing.assert_array_equal(search.path_.weights[search.best_index_], search.feature_weights_)
    np.testing.assert_array_equal(search.path_.sparsities, table.index)


def test_the_estimator_given_is_not_changed(data):
    search = make_search("l0")
    before = search.estimator.get_params()
    search.fit(data.X)
    assert search.estimator.get_params() == before
    assert not hasattr(search.estimator, "labels_")


def test_the_default_grid_is_the_one_for_the_data(data):
    from sparsekm.tuning.grid import default_sparsities

    for method in ("l0", "l1"):
        search = make_search(method, sparsities=None, n_references=2).fit(data.X)
        np.testing.assert_allclose(search.results_["sparsity"], default_sparsities(method, 24))


def test_it_works_in_a_pipeline(data):
    X = data.X * np.arange(1, 25) + 5
    pipeline = make_pipeline(StandardScaler(), make_search("l0")).fit(X)
    assert pipeline[-1].get_support().tolist() == data.relevant.tolist()
    np.testing.assert_array_equal(pipeline.predict(X), pipeline[-1].labels_)
    assert pipeline.transform(X).shape == (30, 4)


def test_pandas_output_names_the_kept_columns(data):
    names = [f"gene {j}" for j in range(24)]
    frame = pd.DataFrame(data.X, columns=names)
    search = make_search("l0").set_output(transform="pandas")
    kept = search.fit_transform(frame)
    assert kept.columns.tolist() == names[:4]
    assert search.feature_names_in_.tolist() == names
    np.testing.assert_array_equal(search.predict(frame), search.labels_)


def test_it_can_be_pickled_and_cloned(fitted, data):
    copy = pickle.loads(pickle.dumps(fitted))  # noqa: S301 - bytes made on the same line
    np.testing.assert_array_equal(copy.predict(data.X), fitted.predict(data.X))
    pd.testing.assert_frame_equal(copy.results_, fitted.results_)
    again = clone(fitted)
    assert not hasattr(again, "results_")
    pd.testing.assert_frame_equal(again.fit(data.X).results_, fitted.results_)


def test_float32_stays_float32(data):
    X = data.X.astype(np.float32)
    search = make_search("l0").fit(X)
    assert search.transform(X).dtype == np.float32
    assert search.best_estimator_.cluster_centers_.dtype == np.float32
    assert search.best_sparsity_ == 4


@pytest.mark.parametrize("estimator", [KMeans(3), ReferenceKMeans(3)], ids=["ours", "theirs"])
def test_an_estimator_without_sparsity_is_a_type_error(estimator, data):
    with pytest.raises(TypeError, match=r"KMeans\(n_clusters=3.*sparsity"):
        GapSearch(estimator).fit(data.X)


@pytest.mark.parametrize(
    ("parameters", "parts"),
    [
        ({"rule": "2se"}, ["rule='2se'", "max", "one-se", "auto"]),
        ({"reference": "gauss"}, ["reference='gauss'", "permutation"]),
        ({"n_references": 1}, ["n_references=1", ">= 2"]),
        ({"n_references": 0}, ["n_references=0", ">= 2"]),
        ({"n_refined": -1}, ["n_refined=-1", ">= 0"]),
        ({"max_samples": 0}, ["max_samples=0", ">= 1"]),
        ({"sparsities": []}, ["sparsities", "1"]),
        ({"sparsities": [4, 25]}, ["sparsity=25", "<= n_features=24"]),
        ({"sparsities": [0, 4]}, ["sparsity=0", ">= 1"]),
    ],
)
def test_refusals_hold_the_value_the_rule_and_the_bound(parameters, parts, data):
    with pytest.raises(ValueError, match="should") as caught:
        make_search("l0", **parameters).fit(data.X)
    assert [part for part in parts if part not in str(caught.value)] == []


def test_values_that_are_not_finite_are_refused(data):
    X = data.X.copy()
    X[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        make_search("l0").fit(X)
