"""Gaussian references: first and second moments kept, clusters gone, seeded by their index."""

import numpy as np
import pytest

from sparsekm.tuning import gaussian_mixing
from sparsekm.tuning.references import gaussian_reference, shrunk_reference

BOTH = pytest.mark.parametrize("draw", [gaussian_reference, shrunk_reference])


@pytest.fixture(scope="module", name="X")
def data_matrix():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 6)) * [1, 2, 3, 1, 1, 1] + [0, 5, -3, 0, 0, 0]
    X[:, 4] = X[:, 3] + 0.5 * rng.standard_normal(40)
    X[:20, 5] += 8
    X.setflags(write=False)
    return X


def test_means_and_spreads_are_those_of_the_data(X):
    reference = gaussian_reference(X, index=0, seed=1)
    np.testing.assert_allclose(reference.mean(axis=0), X.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(reference.std(axis=0), X.std(axis=0), rtol=1e-12)


@pytest.mark.parametrize("block", [512, 11], ids=["one block", "four blocks"])
def test_correlations_are_those_of_the_data_on_average(X, block, monkeypatch):
    monkeypatch.setattr(gaussian_mixing, "BLOCK", block)
    drawn = [np.corrcoef(gaussian_reference(X, index=b, seed=0).T) for b in range(600)]
    expected = np.corrcoef(X.T)
    # A correlation of 40 draws varies by (1 - r^2) / sqrt(40), their mean over 600 by 1/25 of it;
    # it is biased towards 0 by r (1 - r^2) / 80, which is less.
    assert abs(expected[3, 4]) > 0.8
    assert abs(np.mean(drawn, axis=0) - expected).max() < 5 / np.sqrt(40 * 600)
    assert np.std([r[0, 1] for r in drawn]) == pytest.approx(1 / np.sqrt(40), rel=0.2)


def test_it_is_a_mixture_of_the_rows_by_standard_normals(X):
    rng = np.random.default_rng(np.random.SeedSequence(3, spawn_key=(2, 0)))
    rows = rng.permutation(40)
    draws = rng.standard_normal((40, 40)) @ (X[rows] - X.mean(axis=0))
    expected = np.empty_like(draws)
    expected[rows] = (draws - draws.mean(axis=0)) / draws.std(axis=0)
    expected = expected * X.std(axis=0) + X.mean(axis=0)
    np.testing.assert_allclose(gaussian_reference(X, index=2, seed=3), expected, rtol=1e-10)


@BOTH
def test_a_reference_is_known_by_seed_and_index_alone(draw, X):
    direct = draw(X, index=4, seed=3)
    for index in range(5):
        after_others = draw(X, index=index, seed=3)
    np.testing.assert_array_equal(direct, after_others)
    drawn = {draw(X, index=b, seed=s).tobytes() for b in range(3) for s in range(3)}
    assert len(drawn) == 9


@BOTH
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neither_layout_nor_blas_threads_touch_the_bits(draw, dtype):
    from threadpoolctl import threadpool_limits

    # So large that the BLAS would share the work among threads.
    X = np.random.default_rng(4).standard_normal((120, 300)).astype(dtype)
    rows, columns = (np.array(X, order=order) for order in "CF")
    before = columns.tobytes()
    with threadpool_limits(1):
        one = draw(rows, index=1, seed=1)
    with threadpool_limits(2):
        two = draw(columns, index=1, seed=1)
    assert one.dtype == dtype
    assert one.tobytes() == two.tobytes()
    assert columns.tobytes() == before
