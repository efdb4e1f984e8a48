"""Sweeps along the path of an alternating search, beyond 300 samples."""

from __future__ import annotations

from string import ascii_lowercase

import numpy as np
import pytest

from sparsekm import L0KMeans, L1KMeans
from sparsekm.cluster import sweeps
from sparsekm.cluster.alternation import Fit, weigh_partition

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
def test_every_sweep_keeps_or_raises_every_objective(X, kind, monkeypatch):
    # Settling comes after the sweeps: from a higher start it can end lower, by a hair.
    monkeypatch.setattr(sweeps, "settle", lambda X, partition, weight_step, fit: fit)
    before = [path.objectives for path in paths(X, kind, n_sweeps=0)]
    gained = 0
    for n_sweeps in (1, 2, 5):
        after = [path.objectives for path in paths(X, kind, n_sweeps=n_sweeps)]
        assert np.all(np.array(after) >= np.array(before))
        gained += np.any(np.array(after) > np.array(before) * (1 + 1e-3))
        before = after
    assert gained > 0, "no sweep gained anything: the claim was not put to the test"


@pytest.mark.parametrize(("kind", "grid"), [(L0KMeans, [8, 20, 40]), (L1KMeans, [2, 4, 6])])
def test_swept_fits_are_settled_in_the_end(kind, grid, monkeypatch):
    """Labels are those of the nearest centres, weights the best for them, nothing is lost."""
    # Samples everywhere between the centres: k-means gains little for a long time.
    rng = np.random.default_rng(1)
    many = rng.standard_normal((6000, 3)) @ rng.standard_normal((3, 40))
    many += rng.standard_normal((6000, 40)) * np.linspace(0.5, 2, 40)
    estimator = kind(12, n_init=2, random_state=0)
    path = estimator.path(many, grid)
    for index, labels in enumerate(path.labels):
        estimator.adopt(many, path, index)
        np.testing.assert_array_equal(estimator.predict(many), labels)
        weight_step = estimator._weight_step(path.sparsities[index], 40)
        np.testing.assert_array_equal(weight_step.weigh(path.scores[index]), path.weights[index])
    monkeypatch.setattr(sweeps, "settle", lambda X, partition, weight_step, fit: fit)
    rough = kind(12, n_init=2, random_state=0).path(many, grid).objectives
    assert np.all(path.objectives >= rough)
    assert np.any(path.objectives > rough)


@pytest.mark.parametrize("n_sweeps", [0, 2])
def test_objectives_rise_with_the_sparsity_and_no_fit_is_bettered_by_anothers_labels(X, n_sweeps):
    for path in paths(X, L0KMeans, n_sweeps=n_sweeps):
        assert np.all(np.diff(path.objectives) >= 0)
        # With s features alike, labels are worth the s largest of their scores.
        totals = np.cumsum(-np.sort(-path.scores, axis=1), axis=1)
        for sparsity, objective in zip(path.sparsities.astype(int), path.objectives, strict=True):
            assert np.all(totals[:, sparsity - 1] <= objective * (1 + 1e-9))


@pytest.fixture(name="sweep_letters")
def sweep_of_letters(monkeypatch):
    """Sweep 26 fits, the best at the end, where no search finds more than the neighbour has."""

    def sweep(n_sweeps):
        carried, searched = [], []

        def carry(X, partition, weight_step, effort, neighbour):
            carried.append((weight_step, id(neighbour)))
            return neighbour

        def search(X, partition, weight_step, effort, neighbour, rng):
            searched.append(weight_step)
            return neighbour

        monkeypatch.setattr(sweeps, "_carry", carry)
        monkeypatch.setattr(sweeps, "_advance", search)
        letters = list(ascii_lowercase)
        fits = [Fit(np.zeros(1), np.ones(1), np.ones(1), value) for value in range(26)]
        draws = np.random.default_rng(0).spawn(n_sweeps)
        found = sweeps._sweep(None, None, letters, fits, None, draws, lambda: None)
        return found, carried, searched

    return sweep


def test_a_partition_is_carried_all_along_the_path_by_the_sweep_that_goes_down(sweep_letters):
    found, *_ = sweep_letters(2)
    assert [fit.objective for fit in found] == [25] * 26


def test_a_fit_that_was_carried_on_is_not_carried_on_again(sweep_letters):
    """Where nothing better is found, sweeps beyond the second have nothing left to carry."""
    _, carried, _ = sweep_letters(12)
    assert len(carried) == len(set(carried))
    assert len(carried) <= 2 * 25


def test_however_long_a_path_a_sweep_searches_at_a_few_of_its_sparsities(sweep_letters):
    _, _, searched = sweep_letters(12)
    assert len(searched) == 12 * sweeps.SEARCHES
    # Every sweep draws its own: none is left out for good but the one that sweeps start from.
    assert len(set(searched)) > 20


@pytest.mark.parametrize("move", ["regroup", "start_elsewhere"])
def test_each_move_of_whole_clusters_finds_what_the_sweeps_miss_without_it(X, monkeypatch, move):
    full = [path.objectives for path in paths(X, L0KMeans)]
    monkeypatch.setattr(sweeps, move, _leave_as_it_is)
    without = [path.objectives for path in paths(X, L0KMeans)]
    assert np.mean(np.log(full)) > np.mean(np.log(without))


def _leave_as_it_is(X, partition, weight_step, start, rng):
    """Stand in for either move: `start` is a fit or labels."""
    labels = getattr(start, "labels", start)
    return weigh_partition(X, partition, weight_step, labels)


# Given labels are the only start: there is nothing to sweep.
@pytest.mark.parametrize(("init", "total"), [("k-means++", 3 + 2 * 2), ("labels", 3)])
def test_progress_counts_every_step(X, init, total):
    steps = []
    labels = np.random.default_rng(0).integers(6, size=500)
    start = {"init": labels} if init == "labels" else {"n_init": 2}
    estimator = L0KMeans(6, search="alternate", n_sweeps=2, random_state=0, **start)
    estimator.path(X, [4, 15, 40], progress=lambda done, total: steps.append((done, total)))
    assert steps == [(done, total) for done in range(1, total + 1)]


def test_a_single_fit_has_nothing_to_sweep(X):
    fits = [L0KMeans(6, sparsity=8, n_sweeps=n, random_state=1).fit(X) for n in (0, 3)]
    np.testing.assert_array_equal(fits[0].labels_, fits[1].labels_)


@pytest.mark.parametrize(("n_sweeps", "error"), [(-1, ValueError), (1.5, TypeError)])
def test_sweeps_are_counted(X, n_sweeps, error):
    with pytest.raises(error, match="n_sweeps"):
        L0KMeans(6, n_sweeps=n_sweeps).path(X, [5, 10])
