"""Permuted references: margins kept, dependence gone, seeded by their index."""

import numpy as np
import pytest

from sparsekm import L0KMeans
from sparsekm.tuning.references import (
    permuted_reference,
    reference_objectives,
    reference_seed,
)


@pytest.fixture(scope="module", name="X")
def data_matrix():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 25)).astype(np.float32)
    X[:, 1] = X[:, 0]
    X[:, 2] = np.round(X[:, 2])  # repeated values are a multiset too
    X.setflags(write=False)
    return X


@pytest.mark.parametrize("index", [0, 1, 7])
def test_every_column_keeps_its_values(X, index):
    reference = permuted_reference(X, index=index, seed=3)
    assert reference.shape == X.shape
    assert reference.dtype == X.dtype
    np.testing.assert_array_equal(np.sort(reference, axis=0), np.sort(X, axis=0))
    assert (reference != X).mean() > 0.9


def test_columns_are_permuted_independently(X):
    reference = permuted_reference(X, index=0, seed=3)
    # Columns 0 and 1 were equal, so one permutation for all rows would leave them so.
    assert (X[:, 0] == X[:, 1]).all()
    assert (reference[:, 0] == reference[:, 1]).mean() < 0.2
    correlations = np.corrcoef(permuted_reference(np.tile(X[:, :1], 200), index=0, seed=3).T)
    off_diagonal = correlations[np.triu_indices(200, 1)]
    # Independent permutations of n values correlate with variance 1 / (n - 1).
    assert abs(off_diagonal.mean()) < 0.01
    assert off_diagonal.std() == pytest.approx(1 / np.sqrt(59), rel=0.05)


def test_a_reference_is_known_by_seed_and_index_alone(X):
    direct = permuted_reference(X, index=4, seed=3)
    for index in range(5):
        after_others = permuted_reference(X, index=index, seed=3)
    np.testing.assert_array_equal(direct, after_others)


@pytest.mark.parametrize(
    ("n_samples", "search"), [(200, "global"), (400, "alternate"), (4100, "global")]
)
def test_a_reference_is_searched_as_the_data_are_before_they_are_refined(n_samples, search):
    X = np.random.default_rng(2).standard_normal((n_samples, 8))
    sparsities = np.array([3.0, 8.0])
    estimator = L0KMeans(4, n_init=3, search=search)
    found = reference_objectives(estimator, X, sparsities, index=1, seed=5)
    estimator.set_params(random_state=reference_seed(5, 1))
    path = estimator.path(permuted_reference(X, index=1, seed=5), sparsities)
    np.testing.assert_array_equal(found, path.first_objectives)
