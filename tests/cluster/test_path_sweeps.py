"""Sweeps along the path of an alternating search, beyond 300 samples."""

from __future__ import annotations

import numpy as np
import pytest

from sparsekm import L0KMeans, L1KMeans
from sparsekm.cluster import lineages as lineages_module
from sparsekm.cluster.alternation import Fit
from sparsekm.cluster.path import SearchEffort

GRIDS = {L0KMeans: [2, 4, 8, 15, 30, 40], L1KMeans: [1.2, 1.8, 2.7, 4.0, 5.5]}


@pytest.fixture(scope="module", name="X")
def data():
    """Clusters that few features show, and modules of features that do not follow them."""
    rng = np.random.default_rng(3)
    labels = rng.integers(6, size=500)
    X = rng.standard_normal((500, 40))
    X[:, :10] += rng.normal(scale=1.5, size=(6, 10))[labels]
    X[:, 10:25] += rng.standard_normal((500, 3)) @ rng.normal(scale=0.9, size=(3, 15))
    return X


def paths(X, kind, **parameters):
    """Fit the path of four seeds."""
    for seed in range(4):
        estimator = kind(6, n_init=2, random_state=seed, search="alternate", **parameters)
        yield estimator.path(X, GRIDS[kind])


@pytest.mark.parametrize("kind", [L0KMeans, L1KMeans])
def test_no_sweep_is_the_first_pass_of_any_number(X, kind):
    for unswept, swept in zip(paths(X, kind, n_sweeps=0), paths(X, kind), strict=True):
        np.testing.assert_array_equal(unswept.objectives, unswept.first_objectives)
        np.testing.assert_array_equal(unswept.objectives, swept.first_objectives)


@pytest.mark.parametrize("kind", [L0KMeans, L1KMeans])
def test_every_sweep_keeps_or_raises_every_objective(X, kind):
    before = [path.objectives for path in paths(X, kind, n_sweeps=0)]
    gained = 0
    for n_sweeps in (1, 2, 5):
        after = [path.objectives for path in paths(X, kind, n_sweeps=n_sweeps)]
        assert np.all(np.array(after) >= np.array(before))
        gained += np.any(np.array(after) > np.array(before) * (1 + 1e-3))
        before = after
    assert gained > 0, "no sweep gained anything: the claim was not put to the test"


@pytest.mark.parametrize("n_sweeps", [0, 2])
def test_objectives_rise_with_the_sparsity_and_no_fit_is_bettered_by_anothers_labels(X, n_sweeps):
    for path in paths(X, L0KMeans, n_sweeps=n_sweeps):
        assert np.all(np.diff(path.objectives) >= 0)
        # With s features alike, labels are worth the s largest of their scores.
        totals = np.cumsum(-np.sort(-path.scores, axis=1), axis=1)
        for sparsity, objective in zip(path.sparsities.astype(int), path.objectives, strict=True):
            assert np.all(totals[:, sparsity - 1] <= objective * (1 + 1e-9))


def test_a_path_of_many_sweeps_ends_where_neighbours_lead_nowhere_new(X):
    (few, *_), (many, *_) = (list(paths(X, L0KMeans, n_sweeps=n)) for n in (30, 32))
    np.testing.assert_array_equal(few.labels, many.labels)


def test_lineages_find_what_the_first_alone_does_not(X, monkeypatch):
    many = [path.objectives for path in paths(X, L0KMeans)]
    monkeypatch.setattr(lineages_module, "LINEAGES", 1)
    one = [path.objectives for path in paths(X, L0KMeans)]
    assert np.mean(np.log(many)) > np.mean(np.log(one))


def test_the_first_lineage_takes_up_the_best_neighbour_of_any(X, monkeypatch):
    """Where nothing is found along the path, what another lineage has is all there is to gain."""
    monkeypatch.setattr(lineages_module, "_carry_on", lambda X, partition, step, effort, fit: fit)
    fits = [Fit(np.zeros(1), np.ones(1), np.ones(1), value) for value in (1.0, 5.0, 2.0, 3.0)]
    lineages = [[fits[0], fits[0]], [fits[1], fits[2]], [fits[3], fits[3]]]
    effort = SearchEffort(1, 1, 0.0, n_sweeps=1)
    found = lineages_module._sweep(None, None, [None, None], lineages, effort, lambda: None)
    assert [fit.objective for fit in found] == [5.0, 5.0]


def test_a_path_from_given_labels_has_one_lineage(X):
    labels = np.random.default_rng(0).integers(6, size=500)
    steps = []
    estimator = L0KMeans(6, init=labels, search="alternate", n_sweeps=2)
    estimator.path(X, [4, 15, 40], progress=lambda done, total: steps.append((done, total)))
    assert steps == [(done, 3 + 2 * 2) for done in range(1, 8)]


def test_progress_counts_every_step_of_every_lineage(X):
    steps = []
    estimator = L0KMeans(6, n_init=2, search="alternate", n_sweeps=2, random_state=0)
    estimator.path(X, [4, 15, 40], progress=lambda done, total: steps.append((done, total)))
    total = lineages_module.LINEAGES * (3 + 2 * 2)
    assert steps == [(done, total) for done in range(1, total + 1)]


def test_a_single_fit_has_nothing_to_sweep(X):
    fits = [L0KMeans(6, sparsity=8, n_sweeps=n, random_state=1).fit(X) for n in (0, 3)]
    np.testing.assert_array_equal(fits[0].labels_, fits[1].labels_)


@pytest.mark.parametrize(("n_sweeps", "error"), [(-1, ValueError), (1.5, TypeError)])
def test_sweeps_are_counted(X, n_sweeps, error):
    with pytest.raises(error, match="n_sweeps"):
        L0KMeans(6, n_sweeps=n_sweeps).path(X, [5, 10])
