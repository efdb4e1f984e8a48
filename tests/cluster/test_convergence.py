"""Rounds are bounded as the parameters say, and who runs out of them warns."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from sparsekm import GapSearch, KMeans, L0KMeans, L1KMeans, PCAKMeans, PenalizedGaussianMixture
from sparsekm.cluster import alternation
from sparsekm.cluster.alternation import Fit, refine_until_fixed_point
from sparsekm.cluster.matrices.matrix import CentredMatrix
from sparsekm.cluster.weight_step import TopFeatures


def noise(n_samples):
    """Draw data on which k-means has far to go."""
    return np.random.default_rng(0).normal(size=(n_samples, 12))


@pytest.mark.parametrize(
    ("Estimator", "n_samples"), [(KMeans, 100), (KMeans, 2500), (PCAKMeans, 800)]
)
def test_k_means_that_runs_out_of_rounds_warns_and_is_worse(Estimator, n_samples):
    X, extra = noise(n_samples), {"n_components": 6} if Estimator is PCAKMeans else {}
    estimators = [Estimator(6, n_init=1, random_state=seed, **extra) for seed in range(5)]
    full = [estimator.fit(X).objective_ for estimator in estimators]
    with pytest.warns(ConvergenceWarning, match="max_iter=1 rounds"):
        cut = [estimator.set_params(max_iter=1).fit(X) for estimator in estimators]
    assert {fit.n_iter_ for fit in cut} == {1}
    assert np.sum([fit.objective_ for fit in cut]) < np.sum(full)


@pytest.mark.parametrize("n_samples", [100, 4500])
def test_a_tolerance_ends_k_means_sooner_and_is_no_failure(n_samples):
    X = noise(n_samples)
    full = [KMeans(6, n_init=1, random_state=seed).fit(X) for seed in range(5)]
    soon = [KMeans(6, n_init=1, random_state=seed, tol=0.05).fit(X) for seed in range(5)]
    assert sum(fit.objective_ for fit in soon) < sum(fit.objective_ for fit in full)
    assert all(one.n_iter_ <= other.n_iter_ for one, other in zip(soon, full, strict=True))


@pytest.mark.parametrize("Estimator", [L0KMeans, L1KMeans])
@pytest.mark.parametrize("n_samples", [100, 400])
def test_an_alternation_that_runs_out_of_rounds_warns(Estimator, n_samples):
    X = noise(n_samples)
    labels = np.random.default_rng(1).integers(6, size=n_samples)
    estimator = Estimator(6, sparsity=2, init=labels, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 rounds"):
        estimator.set_params(max_iter=1).fit(X)
    estimator.set_params(max_iter=500).fit(X)


def test_a_global_search_that_still_gains_at_its_end_warns():
    X = np.random.default_rng(2).normal(size=(250, 40))
    estimator = L0KMeans(6, sparsity=4, search="global", n_init=1, max_iter=1)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 rounds"):
        _ = [clone(estimator).set_params(random_state=seed).fit(X) for seed in range(8)]


def test_a_mixture_that_runs_out_of_iterations_warns():
    X = noise(100)
    with pytest.warns(ConvergenceWarning, match="max_iter=2 rounds"):
        fit = PenalizedGaussianMixture(3, penalty=1.0, max_iter=2, random_state=0).fit(X)
    assert not fit.converged_


def test_a_path_tells_which_fits_converged_and_does_not_warn():
    X = noise(100)
    labels = np.random.default_rng(1).integers(6, size=100)
    estimator = L0KMeans(6, init=labels, max_iter=1, random_state=0)
    path = estimator.path(X, [2, 5])
    assert path.converged.dtype == bool
    assert not path.converged.all()
    place = int(np.argmin(path.converged))
    with pytest.warns(ConvergenceWarning):
        estimator.adopt(X, path, place)
    assert L0KMeans(6, init=labels, max_iter=500).path(X, [2, 5]).converged.all()


@pytest.mark.parametrize(("Estimator", "n_samples"), [(L0KMeans, 500), (L1KMeans, 60)])
def test_default_fits_and_searches_do_not_warn(Estimator, n_samples):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n_samples, 20))
    X[:, :4] += 3 * rng.normal(size=(3, 4))[rng.integers(3, size=n_samples)]
    KMeans(3, random_state=0).fit(X)
    Estimator(3, sparsity=4, random_state=0).fit(X)
    search = GapSearch(Estimator(3, n_init=2), sparsities=[2, 4], n_references=2, random_state=0)
    search.fit(X)


class NeverSettled:
    """A clustering whose every refinement gains and moves."""

    def refine(self, X, weights, labels):
        return labels + 1

    def scores(self, X, labels):
        return np.array([float(labels[0]) + 1.0, 0.0])


def test_settling_is_bounded_and_tells_so(monkeypatch):
    monkeypatch.setattr(alternation, "SETTLING_ROUNDS", 7)
    start = Fit(np.zeros(4, np.int32), np.array([1.0, 0.0]), np.array([1.0, 0.0]), 1.0)
    X = CentredMatrix(np.arange(8.0).reshape(4, 2))
    end = refine_until_fixed_point(X, NeverSettled(), TopFeatures(1), start)
    assert end.labels[0] == 7
    assert not end.converged
