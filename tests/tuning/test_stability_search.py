"""StabilitySearch: its choice, what it hands on, and what it concludes."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import sparsekm.tuning.evidence as evidence_module
from sparsekm.cluster.estimators import KMeans, L0KMeans, L1KMeans
from sparsekm.simulation.gaussian_clusters import gaussian_clusters
from sparsekm.tuning.evidence import reference_stability, weigh_evidence
from sparsekm.tuning.resampling import gather_resamplings, resample
from sparsekm.tuning.stability import select_stable, stability_curve
from sparsekm.tuning.stability_search import StabilitySearch

GRID = [2, 4, 8, 16, 24]


@pytest.fixture(scope="module")
def correlated():
    """Draw twelve relevant features among 120 that correlate strongly with their neighbours."""
    means = np.outer([3.0, -3.0, 0.0], np.ones(12))
    return gaussian_clusters(means, 20, 120, correlation=0.9, random_state=0)


def make_search(estimator=None, **parameters):
    estimator = L0KMeans(3, n_init=2) if estimator is None else estimator
    few = {"sparsities": GRID, "n_splits": 4, "n_references": 2, "random_state": 0}
    return StabilitySearch(estimator, **{**few, **parameters})


@pytest.fixture(scope="module")
def fitted(data):
    return make_search().fit(data.X)


@parametrize_with_checks(
    [
        StabilitySearch(L0KMeans(n_clusters=2, n_init=1), n_splits=2, n_references=0),
        StabilitySearch(L1KMeans(n_clusters=2, n_init=1), n_splits=2, n_references=2),
    ]
)
def test_scikit_learns_own_checks_pass(estimator, check):
    check(estimator)


def test_the_planted_features_are_found(fitted, data):
    assert fitted.best_sparsity_ == 4
    assert fitted.get_support().tolist() == data.relevant.tolist()
    assert len(set(zip(data.labels, fitted.labels_, strict=True))) == 3


@pytest.mark.parametrize("scheme", ["subsample", "halves"])
def test_the_curve_is_made_of_resamplings_each_known_by_its_index(data, scheme):
    from sparsekm.runtime.random_state import seed_sequence

    search = make_search(scheme=scheme, rule="sparse-end", n_references=0).fit(data.X)
    seed = int(seed_sequence(0).generate_state(1)[0])
    path = search.path_
    resamplings = [
        resample(
            search.estimator,
            data.X,
            path.sparsities,
            scheme=scheme,
            index=index,
            seed=seed,
            labels=path.labels,
        )
        for index in (3, 0, 2, 1)
    ]
    resamplings = [resamplings[place] for place in (1, 3, 2, 0)]
    table = stability_curve(path, *gather_resamplings(resamplings))
    pd.testing.assert_frame_equal(table, search.results_)
    assert search.best_index_ == select_stable(table, "sparse-end")
    assert search.has_clusters_ is None


def test_what_the_best_estimator_knows_is_handed_on(fitted, data):
    best = fitted.best_estimator_
    assert best.sparsity == fitted.best_sparsity_
    row = fitted.results_.iloc[fitted.best_index_]
    assert row["sparsity"] == fitted.best_sparsity_
    assert row["objective"] == best.objective_
    np.testing.assert_array_equal(fitted.path_.labels[fitted.best_index_], fitted.labels_)
    np.testing.assert_array_equal(fitted.labels_, best.labels_)
    np.testing.assert_array_equal(fitted.feature_weights_, best.feature_weights_)
    np.testing.assert_array_equal(fitted.predict(data.X), fitted.labels_)
    np.testing.assert_array_equal(fitted.transform(data.X), data.X[:, fitted.get_support()])
    assert fitted.n_features_in_ == 24


def test_no_bit_depends_on_the_number_of_jobs(data):
    one, two = (make_search(n_jobs=n_jobs).fit(data.X) for n_jobs in (1, 2))
    pd.testing.assert_frame_equal(one.results_, two.results_, check_exact=True)
    assert one.labels_.tobytes() == two.labels_.tobytes()
    assert one.evidence_.strength == two.evidence_.strength
    assert one.conclusion_ == two.conclusion_


def test_neither_shifts_nor_one_scale_for_all_nor_the_order_of_features_matter(data):
    search = make_search(n_references=0).fit(data.X)
    moved = make_search(n_references=0).fit(4 * data.X + np.arange(24))
    np.testing.assert_allclose(moved.results_["stability"], search.results_["stability"])
    np.testing.assert_array_equal(moved.get_support(), search.get_support())
    turned = make_search(n_references=0).fit(data.X[:, ::-1])
    assert turned.best_sparsity_ == search.best_sparsity_
    np.testing.assert_array_equal(turned.get_support()[::-1], search.get_support())


def test_more_splits_leave_the_first_ones_as_they_were(data):
    four, five = (
        make_search(n_splits=m, n_references=0).fit(data.X).results_["stability"] for m in (4, 5)
    )
    fifth = 5 * five - 4 * four
    assert (abs(fifth) <= 1 + 1e-9).all()
    seed_free = make_search(n_splits=5, n_references=0, random_state=1).fit(data.X)
    assert (seed_free.results_["stability"] != five).any()


def test_l1_can_be_tuned_too(data):
    search = make_search(
        estimator=L1KMeans(3, n_init=2), sparsities=[1.2, 2.0, 4.9], n_references=0
    ).fit(data.X)
    assert search.best_sparsity_ == 2
    assert search.get_support()[:4].all()


def test_far_clusters_are_evidence_and_noise_is_none(data):
    found = make_search(n_references=4).fit(data.X)
    assert found.has_clusters_ is True
    assert found.conclusion_.startswith("Evidence of clusters:")
    noise = np.random.default_rng(3).standard_normal((40, 24))
    nothing = make_search(n_references=4).fit(noise)
    assert nothing.has_clusters_ is False
    assert nothing.conclusion_.startswith("No evidence of clusters:")


def test_correlation_alone_is_taken_for_clusters_beside_permutations_only(correlated):
    """Without clusters an elongated cloud is cut across its length: the Gaussian does so too."""
    noise = np.random.default_rng(1)
    factors = noise.standard_normal((60, 1)) * np.ones(30) + noise.standard_normal((60, 30))
    search = make_search(sparsities=[5, 30], n_references=5).fit(factors)
    assert search.has_clusters_ is False
    beside = search.weigh_evidence(factors, reference="permutation", n_references=5)
    assert beside.has_clusters is True


def test_references_are_known_by_their_index(data):
    search = make_search(n_references=3).fit(data.X)
    third = reference_stability(
        search.estimator,
        data.X,
        search.results_["sparsity"].to_numpy(),
        reference="permutation",
        index=2,
        seed=search._seed,
    )
    assert search.evidence_.reference_stabilities[2] == third


@pytest.mark.parametrize(("min_cluster_size", "half"), [(1, 500), (250, 1000)])
def test_a_thousand_samples_stand_for_more_where_their_halves_have_room(min_cluster_size, half):
    X = np.random.default_rng(0).standard_normal((2500, 6)) + np.repeat([[0], [9]], 1250, axis=0)
    seen = []

    class Watched(L0KMeans):
        def path(self, X, sparsities, *, progress=None):
            seen.append(len(X))
            return super().path(X, sparsities, progress=progress)

    evidence = weigh_evidence(
        Watched(2, n_init=1, min_cluster_size=min_cluster_size),
        X,
        np.array([6.0]),
        reference="permutation",
        n_references=5,
        seed=0,
    )
    assert set(seen) == {half}
    assert evidence.has_clusters is True
    assert f"halves of the samples (a sample of {2 * half:,} of 2,500) agree" in evidence.sentence()


def test_more_samples_show_clusters_that_are_hidden_in_fewer():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((800, 300))
    X[:, :20] += 0.4 * rng.choice([-1, 1], size=(800, 1))
    found = [
        weigh_evidence(
            L0KMeans(2, n_init=1),
            X,
            np.array([20.0]),
            reference="permutation",
            n_references=5,
            seed=0,
            max_samples=n_samples,
        )
        for n_samples in (40, 800)
    ]
    assert [evidence.has_clusters for evidence in found] == [False, True]
    assert [evidence.sampled for evidence in found] == [(40, 800), None]
    assert found[0].sentence().endswith(" More samples may show clusters.")


def test_among_many_features_sparse_data_are_compared_as_dense_data_are():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2200, 4500)) * (rng.random((2200, 4500)) < 0.05)
    X[:, :20] += rng.integers(2, size=(2200, 1)) * (rng.random((2200, 20)) < 0.7)
    dense, sparse = (
        weigh_evidence(
            L0KMeans(2, n_init=1),
            matrix,
            np.array([20.0]),
            reference="permutation",
            n_references=5,
            seed=0,
        )
        for matrix in (X, csr_array(X))
    )
    assert dense.sampled == sparse.sampled == (2000, 2200)
    assert dense.stability == pytest.approx(sparse.stability, abs=1e-9)
    assert dense.has_clusters is sparse.has_clusters is True


@pytest.mark.parametrize(
    ("own", "n_samples", "expected"),
    [
        ({}, 300, ("correlated", "global", 100, [4.0, 15.0])),
        ({"search": "alternate"}, 300, (None, "alternate", 100, [4.0, 15.0])),
        # All samples there are, and not many.
        ({}, 90, (None, "auto", 45, [4.0, 15.0, 60.0])),
    ],
    ids=["many", "alternate", "few samples"],
)
def test_among_many_features_a_search_begins_with_those_that_correlate(
    own, n_samples, expected, monkeypatch
):
    for name, value in (("MANY_FEATURES", 50), ("MOST_SAMPLES", 100)):
        monkeypatch.setattr(evidence_module, name, value)
    monkeypatch.setattr(evidence_module, "MOST_SAMPLES_AMONG_MANY", 200)
    seen = set()

    class Watched(L0KMeans):
        def path(self, X, sparsities, *, progress=None):
            seen.add((self.init, self.search, len(X), tuple(sparsities)))
            return super().path(X, sparsities, progress=progress)

    grid = np.array([4.0, 15.0, 60.0])
    X = np.random.default_rng(0).standard_normal((n_samples, 60))
    weigh_evidence(
        Watched(2, n_init=1, **own),
        X,
        grid,
        reference="permutation",
        n_references=2,
        seed=0,
        n_selected=grid.astype(int),
    )
    assert seen == {(*expected[:3], tuple(expected[3]))}


def test_samples_too_few_to_be_halved_are_not_asked(data):
    evidence = weigh_evidence(
        L0KMeans(3, min_cluster_size=8),
        data.X,
        np.array([4.0]),
        reference="permutation",
        n_references=2,
        seed=0,
    )
    assert evidence.has_clusters is None
    assert evidence.sentence().endswith(
        f"half of {len(data.X)} samples is too few for clusters that need 24 at least."
    )


def test_independent_features_are_compared_with_permutations_and_correlated_ones_not(
    data, correlated
):
    search = make_search().fit(data.X)
    assert search.noise_correlation_ == pytest.approx(1, abs=0.2)
    assert search.evidence_.reference == "permutation"
    search = make_search(sparsities=[3, 12, 40]).fit(correlated.X)
    assert search.noise_correlation_ > 1.5
    assert search.evidence_.reference == "gaussian"
    assert "Gaussian references" in search.conclusion_


def test_it_works_in_a_pipeline_and_can_be_cloned(fitted, data):
    pipeline = make_pipeline(StandardScaler(), clone(fitted)).fit(data.X * np.arange(1, 25) + 5)
    assert pipeline[-1].get_support().tolist() == data.relevant.tolist()
    assert not hasattr(clone(fitted), "results_")


def test_an_estimator_without_sparsity_is_a_type_error(data):
    with pytest.raises(TypeError, match=r"KMeans\(n_clusters=3.*sparsity"):
        StabilitySearch(KMeans(3)).fit(data.X)
    with pytest.raises(TypeError, match=r"L0KMeans'> should be an estimator.*as L0KMeans\(3\)"):
        StabilitySearch(L0KMeans).fit(data.X)


@pytest.mark.parametrize(
    ("parameters", "parts"),
    [
        ({"rule": "2se"}, ["rule='2se'", "sparse-end"]),
        ({"scheme": "thirds"}, ["scheme='thirds'", "halves"]),
        ({"reference": "gauss"}, ["reference='gauss'", "gaussian"]),
        ({"n_splits": 1}, ["n_splits=1", ">= 2"]),
        ({"n_references": 1}, ["n_references=1", ">= 2"]),
        ({"n_references": -1}, ["n_references=-1", ">= 0"]),
    ],
)
def test_refusals_hold_the_value_the_rule_and_the_bound(parameters, parts, data):
    with pytest.raises(ValueError, match="should") as caught:
        make_search(**parameters).fit(data.X)
    assert [part for part in parts if part not in str(caught.value)] == []


def test_parts_too_small_for_so_many_clusters_are_refused():
    X = np.random.default_rng(0).standard_normal((7, 4))
    with pytest.raises(ValueError, match="n_clusters=4"):
        make_search(estimator=L0KMeans(4, n_init=1), sparsities=[2], scheme="halves").fit(X)
