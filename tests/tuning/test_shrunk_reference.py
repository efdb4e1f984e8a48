"""Shrunk references: margins kept, correlations kept less what may be chance."""

import numpy as np
import pytest
from sklearn.covariance import ledoit_wolf_shrinkage

from sparsekm import GapSearch, L0KMeans
from sparsekm.tuning import gaussian_mixing
from sparsekm.tuning.gaussian_mixing import correlation_shrinkage, mix_rows
from sparsekm.tuning.references import gaussian_reference, shrunk_reference


@pytest.fixture(scope="module", name="X")
def more_features_than_samples():
    """Draw two factors and noise, so that about half of the correlations is chance."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 2)) @ rng.standard_normal((2, 20)) + rng.standard_normal((12, 20))
    X = X * np.linspace(0.5, 3, 20) + np.linspace(-5, 5, 20)
    X.setflags(write=False)
    return X


def z_score(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def test_the_intensity_hand_worked():
    # z-scored with r = 1 / sqrt(2). The squared norms of the samples are 3, 1, 1, 3; of their
    # squares, 5 on average, |R|^2 = 3 is subtracted: (5 - 3) / 4 by chance, of |R - I|^2 = 1.
    z = np.array([[1, np.sqrt(2)], [1, 0], [-1, 0], [-1, -np.sqrt(2)]])
    assert correlation_shrinkage(z) == pytest.approx(0.5, rel=1e-12)
    assert correlation_shrinkage(z * [3, 0.1] + [5, -7]) == pytest.approx(0.5, rel=1e-12)


@pytest.mark.parametrize("shape", [(12, 40), (40, 12), (30, 30)])
def test_the_intensity_is_scikit_learns(shape):
    rng = np.random.default_rng(1)
    X = rng.standard_normal(shape) + rng.standard_normal((shape[0], 1))
    expected = ledoit_wolf_shrinkage(z_score(X))
    assert 0.02 < expected < 0.5
    assert correlation_shrinkage(X) == pytest.approx(expected, rel=1e-10)


def test_independent_features_are_shrunk_to_nothing_and_equal_ones_are_not():
    rng = np.random.default_rng(2)
    assert correlation_shrinkage(rng.standard_normal((60, 400))) > 0.95
    # p equal columns of kurtosis k: p^2 (k - 1) / n by chance, of p (p - 1).
    column = z_score(rng.standard_normal((500, 1)))
    expected = 20**2 * (np.mean(column**4) - 1) / 500 / (20 * 19)
    assert expected < 0.005
    assert correlation_shrinkage(np.tile(column, 20)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("block", [512, 7], ids=["one block", "two blocks"])
def test_correlations_are_the_shrunk_ones_on_average(X, block, monkeypatch):
    monkeypatch.setattr(gaussian_mixing, "BLOCK", block)
    correlations = np.corrcoef(X.T)
    intensity = ledoit_wolf_shrinkage(z_score(X))
    expected = (1 - intensity) * correlations + intensity * np.eye(20)
    # So far apart that one is not mistaken for the other.
    assert abs(expected - correlations).max() > 0.2
    drawn = [np.corrcoef(shrunk_reference(X, index=b, seed=0).T) for b in range(2000)]
    # A correlation of 12 draws varies by less than 1 / sqrt(11), and is biased by less than .02.
    assert abs(np.mean(drawn, axis=0) - expected).max() < 0.02 + 4 / np.sqrt(11 * 2000)


def test_without_shrinkage_it_is_the_gaussian_and_with_all_of_it_the_noise_alone(X):
    def generator():
        return np.random.default_rng(np.random.SeedSequence(3, spawn_key=(2, 0)))

    bare = mix_rows(X, generator(), 0.0)
    assert bare.tobytes() == gaussian_reference(X, index=2, seed=3).tobytes()
    rng = generator()
    rows = rng.permutation(12)
    rng.standard_normal((12, 12))
    noise = np.empty((12, 20))
    noise[rows] = rng.standard_normal((12, 20))
    expected = z_score(noise) * X.std(axis=0) + X.mean(axis=0)
    np.testing.assert_allclose(mix_rows(X, generator(), 1.0), expected, rtol=1e-10)


def test_on_independent_features_the_gap_chooses_as_beside_permutations():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((60, 120))
    X[:, :30] += np.repeat([1.5, -1.5, 0], 20)[:, None]
    # Few features carry clusters, the others are independent: the Gaussian has chance's own
    # correlations, and a lower gap, the shrunk one almost none.
    chosen = {
        reference: GapSearch(
            L0KMeans(3, n_init=2),
            sparsities=[10, 30, 60, 120],
            n_references=3,
            reference=reference,
            random_state=0,
        ).fit(X)
        for reference in ("permutation", "gaussian", "shrunk")
    }
    assert chosen["shrunk"].best_sparsity_ == chosen["permutation"].best_sparsity_ == 30
    gaps = {name: search.results_["gap"].to_numpy() for name, search in chosen.items()}
    assert (gaps["gaussian"] < gaps["shrunk"]).all()
    assert (gaps["shrunk"] < gaps["permutation"]).all()
