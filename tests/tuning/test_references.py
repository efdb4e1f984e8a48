"""References: what each kind keeps of the data and removes, seeded by its index."""

import numpy as np
import pytest
from scipy import sparse
from scipy.ndimage import gaussian_filter
from scipy.spatial import cKDTree
from sklearn.covariance import ledoit_wolf_shrinkage

from sparsekm import GapSearch, L0KMeans
from sparsekm.tuning import references
from sparsekm.tuning.references import (
    correlation_shrinkage,
    gaussian_reference,
    permuted_reference,
    reference_objectives,
    reference_seed,
    shrunk_reference,
    spatial_reference,
)

SIDE, N_FEATURES = 20, 30
GRID = np.argwhere(np.ones((SIDE, SIDE))).astype(float)


def draw_in_space(X, *, index, seed):
    return spatial_reference(X, positions=GRID[: len(X)], index=index, seed=seed)


KINDS = [permuted_reference, gaussian_reference, shrunk_reference, draw_in_space]


@pytest.fixture(scope="module", name="X")
def data_matrix():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 25)).astype(np.float32)
    X[:, 1] = X[:, 0]
    X[:, 2] = np.round(X[:, 2])  # repeated values are a multiset too
    X[:30, 5] += 8
    X.setflags(write=False)
    return X


@pytest.mark.parametrize("draw", KINDS)
def test_a_reference_is_known_by_seed_and_index_alone(draw, X):
    direct = draw(X, index=4, seed=3)
    assert (direct.shape, direct.dtype) == (X.shape, X.dtype)
    for index in range(5):
        after_others = draw(X, index=index, seed=3)
    np.testing.assert_array_equal(direct, after_others)
    assert len({draw(X, index=b, seed=s).tobytes() for b in range(3) for s in range(3)}) == 9


@pytest.mark.parametrize("draw", KINDS)
def test_the_layout_of_the_data_changes_no_bit(draw):
    X = np.random.default_rng(4).standard_normal((120, 300))
    rows, columns = (np.array(X, order=order) for order in "CF")
    assert draw(rows, index=1, seed=1).tobytes() == draw(columns, index=1, seed=1).tobytes()
    assert columns.tobytes() == rows.tobytes() == X.tobytes()


def test_columns_are_permuted_independently_and_keep_their_values(X):
    for index in (0, 7):
        reference = permuted_reference(X, index=index, seed=3)
        np.testing.assert_array_equal(np.sort(reference, axis=0), np.sort(X, axis=0))
        assert (reference != X).mean() > 0.9
    # Columns 0 and 1 were equal, so one permutation for all rows would leave them so.
    assert (reference[:, 0] == reference[:, 1]).mean() < 0.2
    tiled = permuted_reference(np.tile(X[:, :1], 200), index=0, seed=3)
    off_diagonal = np.corrcoef(tiled.T)[np.triu_indices(200, 1)]
    # Independent permutations of n values correlate with variance 1 / (n - 1).
    assert abs(off_diagonal.mean()) < 0.01
    assert off_diagonal.std() == pytest.approx(1 / np.sqrt(59), rel=0.05)


@pytest.mark.parametrize(("n_samples", "search"), [(400, "alternate"), (4100, "global")])
def test_a_reference_is_searched_as_the_data_are_before_they_are_refined(n_samples, search):
    X = np.random.default_rng(2).standard_normal((n_samples, 8))
    sparsities = np.array([3.0, 8.0])
    estimator = L0KMeans(4, n_init=3, search=search)
    found = reference_objectives(estimator, X, sparsities, index=1, seed=5)
    estimator.set_params(random_state=reference_seed(5, 1))
    path = estimator.path(permuted_reference(X, index=1, seed=5), sparsities)
    np.testing.assert_array_equal(found, path.first_objectives)


def test_a_sparse_permuted_reference_has_the_stored_values_of_every_column_in_random_rows():
    rng = np.random.default_rng(1)
    X = sparse.random_array((400, 24), density=0.2, rng=rng).tocsr()
    first, again, other = (permuted_reference(X, index=index, seed=3) for index in (0, 0, 1))
    assert (first != again).nnz == 0 < (first != other).nnz
    assert (first != X).nnz > 0
    np.testing.assert_array_equal(np.sort(first.toarray(), axis=0), np.sort(X.toarray(), axis=0))


@pytest.fixture(scope="module", name="factors")
def more_features_than_samples():
    """Draw two factors and noise, so that about half of the correlations is chance."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 2)) @ rng.standard_normal((2, 20)) + rng.standard_normal((12, 20))
    X = X * np.linspace(0.5, 3, 20) + np.linspace(-5, 5, 20)
    X.setflags(write=False)
    return X


def z_score(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def test_a_gaussian_reference_has_the_means_and_spreads_of_the_data(factors):
    for draw in (gaussian_reference, shrunk_reference):
        found = draw(factors, index=2, seed=3)
        np.testing.assert_allclose(found.mean(axis=0), factors.mean(axis=0), atol=1e-10)
        np.testing.assert_allclose(found.std(axis=0), factors.std(axis=0), rtol=1e-10)


@pytest.mark.parametrize(("draw", "share"), [(gaussian_reference, 0), (shrunk_reference, 1)])
def test_correlations_are_on_average_the_datas_or_shrunk_ones(factors, monkeypatch, draw, share):
    monkeypatch.setattr(references, "BLOCK", 7)
    correlations = np.corrcoef(factors.T)
    intensity = share * ledoit_wolf_shrinkage(z_score(factors))
    expected = (1 - intensity) * correlations + intensity * np.eye(20)
    # So far apart that one is not mistaken for the other.
    assert share == 0 or abs(expected - correlations).max() > 0.2
    drawn = [np.corrcoef(draw(factors, index=b, seed=0).T) for b in range(1000)]
    # A correlation of 12 draws varies by less than 1 / sqrt(11), and is biased by less than .02.
    assert abs(np.mean(drawn, axis=0) - expected).max() < 0.02 + 4 / np.sqrt(11 * 1000)


@pytest.mark.parametrize("shape", [(12, 40), (40, 12)])
def test_the_intensity_is_scikit_learns(shape):
    rng = np.random.default_rng(1)
    X = rng.standard_normal(shape) + rng.standard_normal((shape[0], 1))
    expected = ledoit_wolf_shrinkage(z_score(X))
    assert 0.02 < expected < 0.5
    assert correlation_shrinkage(X) == pytest.approx(expected, rel=1e-10)
    assert correlation_shrinkage(3 * X - 7) == pytest.approx(expected, rel=1e-10)


def field(width):
    """Independent features, as smooth as `width` says."""
    noise = np.random.default_rng(0).standard_normal((N_FEATURES, SIDE, SIDE))
    return z_score(np.stack([gaussian_filter(each, width).ravel() for each in noise], axis=1))


def likeness(X, n_neighbours):
    """Average the products of standardised features with those of so many nearest samples."""
    neighbours = cKDTree(GRID).query(GRID, n_neighbours + 1)[1][:, 1:]
    X = z_score(X)
    return np.mean([(X * X[each]).mean() for each in neighbours.T])


@pytest.mark.parametrize("width", [0, 4])
def test_in_space_values_and_likeness_of_neighbours_remain(width):
    X = field(width).astype(np.float32)
    reference = spatial_reference(X, positions=GRID, index=0, seed=1)
    np.testing.assert_array_equal(np.sort(reference, axis=0), np.sort(X, axis=0))
    for n_neighbours in (8, 80):
        own = likeness(X, n_neighbours)
        assert likeness(reference, n_neighbours) == pytest.approx(own, abs=0.1)
        permuted = permuted_reference(X, index=0, seed=1)
        assert likeness(permuted, n_neighbours) == pytest.approx(0, abs=0.02)


def test_opposite_sides_of_space_are_not_neighbours():
    left, right = (GRID[:, 0] == side for side in (GRID[:, 0].min(), GRID[:, 0].max()))
    made = [spatial_reference(field(4), positions=GRID, index=b, seed=1) for b in range(3)]
    alike = [(z_score(X)[left] * z_score(X)[right]).mean() for X in made]
    assert max(map(abs, alike)) < 0.5


@pytest.mark.parametrize(
    "positions",
    [
        np.zeros((5, 2)),
        np.arange(5.0)[:, None],
        np.random.default_rng(0).random((5, 3)) * [1e6, 1, 1e-6],
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
