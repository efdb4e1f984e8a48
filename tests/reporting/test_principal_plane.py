"""Two principal components, as exact as they were, for the price of two."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest

from sparsekm.io.matrix_file import NUMBERS_AT_ONCE, MatrixFile
from sparsekm.io.normalised_file import write_normalised
from sparsekm.reporting.answer_figure import first_components


def decompose(X, weights):
    """Give the plane by its definition, from all components, up to signs."""
    scaled = (X - X.mean(axis=0)) * np.sqrt(weights)
    left, values, _ = np.linalg.svd(scaled, full_matrices=False)
    return left[:, :2] * values[:2], values[:2] ** 2 / np.sum(values**2)


def peak_megabytes(call):
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


@pytest.fixture(scope="module")
def wide():
    """Three clusters, twice as many features and samples as a decomposition of all would like."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2500, 3000), dtype=np.float32)
    X[:800, :40] += 2
    X[800:1500, 40:60] -= 2
    return X + np.float32(5)


@pytest.fixture(scope="module")
def wide_file(wide, tmp_path_factory):
    file = tmp_path_factory.mktemp("wide") / "normalised.h5ad"
    obs, var = (
        pd.DataFrame(index=[f"{kind}{i}" for i in range(size)])
        for kind, size in zip("sg", wide.shape, strict=True)
    )
    write_normalised(file, wide, obs, var, {})
    return MatrixFile(file)


def test_the_plane_of_many_features_is_that_of_a_full_decomposition(wide):
    X = wide[::5, :400]
    weights = np.linspace(0.5, 1, X.shape[1])
    components, explained = first_components(X, weights)
    expected, shares = decompose(X.astype(np.float64), weights)
    signs = np.sign((components * expected).sum(axis=0))
    np.testing.assert_allclose(components * signs, expected, atol=1e-4 * expected.std())
    np.testing.assert_allclose(explained, shares, rtol=1e-6)


def test_two_components_cost_two_components(wide):
    X, weights = wide[:, :], np.ones(wide.shape[1])
    # All components of 3,000 features are 72 MB; a block and its products are 32 MB each.
    assert peak_megabytes(lambda: first_components(X, weights)) < 2.5 * NUMBERS_AT_ONCE * 8 / 2**20


def test_signs_and_numbers_are_the_same_each_time(wide):
    weights = np.ones(wide.shape[1])
    for left, right in zip(
        first_components(wide, weights), first_components(wide.copy(), weights), strict=True
    ):
        np.testing.assert_array_equal(left, right)


def test_of_a_file_only_blocks_are_read(wide, wide_file):
    weights = np.ones(wide.shape[1])
    in_memory = first_components(wide, weights)
    tracemalloc.start()
    from_file = first_components(wide_file, weights)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    for left, right in zip(in_memory, from_file, strict=True):
        np.testing.assert_array_equal(left, right)
    assert peak < 3 * NUMBERS_AT_ONCE * 8


def test_few_columns_are_read_into_memory_and_many_are_not(wide, wide_file):
    few = wide_file.select([1, 5])
    assert isinstance(few, np.ndarray)
    np.testing.assert_array_equal(few, wide[:, [1, 5]])
    many = wide_file.select(np.arange(1, 2900))
    assert isinstance(many, MatrixFile)
    assert many.shape == (2500, 2899)
    np.testing.assert_array_equal(many[10:20], wide[10:20, 1:2900])
