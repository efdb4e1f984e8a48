"""A matrix read in blocks gives the bits of the same matrix in memory, in less memory."""

from functools import cache

import h5py
import numpy as np
import pytest
from sklearn.base import clone

from sparsekm.cluster.estimators import KMeans, L0KMeans, L1KMeans
from sparsekm.cluster.matrices.streamed_matrix import StreamedMatrix

GRIDS = {L0KMeans: [3, 20, 60], L1KMeans: [1.5, 4.0, 7.7]}


def draw(n=4000, p=60, dtype=np.float32):
    rng = np.random.default_rng(5)
    centers = np.zeros((4, p))
    centers[:, :12] = rng.normal(size=(4, 12))
    X = centers[rng.integers(4, size=n)] + rng.standard_normal((n, p)) + 3.0
    X[:, 7] = 1.5
    return X.astype(dtype)


@cache
def path_in_memory(Estimator, dtype):
    estimator = Estimator(4, n_init=3, random_state=2, n_jobs=2)
    return estimator, estimator.path(draw(dtype=dtype), GRIDS[Estimator])


@pytest.mark.parametrize(("dtype", "block_size"), [(np.float32, 333), (np.float64, 10_000)])
@pytest.mark.parametrize("Estimator", GRIDS)
def test_a_path_over_an_hdf5_dataset_has_the_same_bits(tmp_path, Estimator, block_size, dtype):
    X = draw(dtype=dtype)
    estimator, expected = path_in_memory(Estimator, dtype)
    with h5py.File(tmp_path / "X.h5", "w") as file:
        file.create_dataset("X", data=X, chunks=(100, 60))
    with h5py.File(tmp_path / "X.h5", "r") as file:
        path = estimator.path(StreamedMatrix(file["X"], block_size=block_size), GRIDS[Estimator])
    for attribute in ("labels", "objectives", "weights", "scores", "n_iter"):
        expectation, value = getattr(expected, attribute), getattr(path, attribute)
        assert value.tobytes() == expectation.tobytes(), attribute


@pytest.mark.parametrize(("Estimator", "n"), [(KMeans, 1500), (L0KMeans, 1500), (L1KMeans, 40)])
def test_a_fit_is_the_fit_in_memory_for_few_samples_too(Estimator, n):
    X = draw(n)
    estimator = Estimator(3, random_state=0)
    expected = clone(estimator).fit(X)
    found = estimator.fit(StreamedMatrix(X, block_size=64))
    for name in ("labels_", "cluster_centers_", "objective_", "feature_scores_", "n_features_in_"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    np.testing.assert_array_equal(found.predict(X), found.labels_)


def test_memory_is_set_by_the_block_size_and_not_by_the_number_of_samples(tmp_path, peak_bytes):
    n, p = 120_000, 64
    rng = np.random.default_rng(0)
    source = np.lib.format.open_memmap(tmp_path / "X.npy", "w+", np.float32, (n, p))
    source[:] = rng.standard_normal((n, p))
    source[: n // 2, :9] += 4
    estimator = L0KMeans(2, n_init=2, random_state=0)
    estimator.path(draw(1100), [5])
    whole = source.nbytes
    peak, larger = (
        peak_bytes(estimator.path, StreamedMatrix(source, block_size=size), [9, 40])
        for size in (500, 20_000)
    )
    # Labels, norms and the like take a few numbers a sample whatever the number of features.
    assert peak < whole / 4
    assert peak < larger


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_value_that_is_not_finite_is_named_with_its_place(value):
    X = draw(1500)
    X[1234, 56] = value
    with pytest.raises(ValueError, match=r"source\[1234, 56\]=(nan|inf) should be finite"):
        StreamedMatrix(X, block_size=100)


def test_what_is_no_matrix_of_floats_is_refused():
    with pytest.raises(ValueError, match=r"shape \(5,\) should be samples x features"):
        StreamedMatrix(np.zeros(5))
    with pytest.raises(ValueError, match="dtype int64 should be float32 or float64"):
        StreamedMatrix(np.zeros((5, 2), np.int64))
    with pytest.raises(ValueError, match="block_size=0 should be >= 1"):
        StreamedMatrix(np.zeros((5, 2)), block_size=0)
