"""References with the data's autocorrelation in space: what they keep, and what they remove."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from scipy.spatial import cKDTree

from sparsekm import GapSearch, L0KMeans
from sparsekm.tuning.references import permuted_reference
from sparsekm.tuning.spatial_reference import spatial_reference

SIDE, N_FEATURES = 20, 30
GRID = np.argwhere(np.ones((SIDE, SIDE))).astype(float)


def field(width):
    """Independent features, as smooth as `width` says."""
    noise = np.random.default_rng(0).standard_normal((N_FEATURES, SIDE, SIDE))
    X = np.stack([gaussian_filter(each, width).ravel() for each in noise], axis=1)
    return ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32)


def likeness(X, n_neighbours):
    """Average the products of standardised features with those of so many nearest samples."""
    neighbours = cKDTree(GRID).query(GRID, n_neighbours + 1)[1][:, 1:]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return np.mean([(X * X[each]).mean() for each in neighbours.T])


@pytest.mark.parametrize("width", [0, 1, 2, 4])
def test_values_and_likeness_of_neighbours_remain(width):
    X = field(width)
    reference = spatial_reference(X, positions=GRID, index=0, seed=1)
    assert reference.dtype == X.dtype
    np.testing.assert_array_equal(np.sort(reference, axis=0), np.sort(X, axis=0))
    for n_neighbours in (8, 80):
        own = likeness(X, n_neighbours)
        assert likeness(reference, n_neighbours) == pytest.approx(own, abs=0.1)
        permuted = permuted_reference(X, index=0, seed=1)
        assert likeness(permuted, n_neighbours) == pytest.approx(0, abs=0.02)


def test_a_reference_is_known_by_seed_and_index_alone_and_the_data_are_not_touched():
    X = field(2)
    before = X.copy()
    first = spatial_reference(X, positions=GRID, index=3, seed=1)
    np.testing.assert_array_equal(spatial_reference(X, positions=GRID, index=3, seed=1), first)
    assert np.any(spatial_reference(X, positions=GRID, index=4, seed=1) != first)
    assert np.any(spatial_reference(X, positions=GRID, index=3, seed=2) != first)
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize(
    "positions",
    [
        np.zeros((5, 2)),
        np.arange(5.0)[:, None],
        np.random.default_rng(0).random((5, 3)) * [1e6, 1, 1e-6],
        np.repeat(np.eye(3), 2, axis=0)[:5],
    ],
)
def test_any_positions_will_do(positions):
    X = np.random.default_rng(1).standard_normal((5, 4))
    X[:, 3] = 1
    reference = spatial_reference(X, positions=positions, index=0, seed=0)
    np.testing.assert_array_equal(np.sort(reference, axis=0), np.sort(X, axis=0))


def test_positions_are_needed_and_one_for_each_sample():
    search = GapSearch(L0KMeans(2), reference="spatial")
    with pytest.raises(ValueError, match=r"reference='spatial' needs the samples' positions"):
        search.fit(field(1))
    with pytest.raises(ValueError, match=r"positions: shape=\(9, 2\) should have 400 rows"):
        search.fit(field(1), positions=GRID[:9])
