"""The principal subspace of a race: close to the exact one, and the same bits however it is cut."""

from __future__ import annotations

import numpy as np
import pytest

from sparsekm import StreamedMatrix
from sparsekm.cluster.matrix import CentredMatrix
from sparsekm.cluster.partition_step import KMeansPartition
from sparsekm.cluster.principal_subspace import (
    orthonormalise,
    principal_axes_of,
    project,
    reduce_features,
)
from sparsekm.cluster.racing import race_starts


@pytest.fixture(scope="module", name="X")
def data():
    """Six clusters in the span of five directions, and noise in all features."""
    rng = np.random.default_rng(11)
    labels = rng.integers(6, size=3000)
    return 2 * rng.standard_normal((6, 60))[labels] + rng.standard_normal((3000, 60))


def test_leading_axes_span_what_the_singular_vectors_span(X):
    matrix = CentredMatrix(X)
    axes = principal_axes_of(matrix, 10, np.random.default_rng(0))
    exact = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][:5]
    # Five directions stand out: each lies in the span of the axes, which are orthonormal.
    np.testing.assert_allclose(np.linalg.norm(exact @ axes.T, axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(axes @ axes.T, np.eye(10), atol=1e-12)


def test_axes_beyond_the_rank_are_zero():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((400, 3)) @ rng.standard_normal((3, 20))
    axes = principal_axes_of(CentredMatrix(X), 6, rng)
    lengths = np.linalg.norm(axes, axis=1)
    np.testing.assert_allclose(np.sort(lengths), [0, 0, 0, 1, 1, 1], atol=1e-12)
    centred = X - X.mean(axis=0)
    np.testing.assert_allclose(centred @ axes.T @ axes, centred, atol=1e-9)


def test_rows_become_orthonormal_in_their_order():
    rows = np.array([[3.0, 0.0, 0.0], [1.0, 2.0, 0.0], [4.0, 2.0, 0.0], [0.0, 0.0, 0.5]])
    orthonormalise(rows)
    np.testing.assert_allclose(rows, [[1, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 1]], atol=1e-15)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_projections_are_inner_products(X, dtype):
    X = X.astype(dtype)
    axes = np.random.default_rng(2).standard_normal((4, 60))
    scores = project(CentredMatrix(X), axes).columns
    assert scores.dtype == dtype
    exact = axes @ (X - X.mean(axis=0)).T.astype(np.float64)
    np.testing.assert_allclose(scores, exact, atol=2e-4 if dtype == np.float32 else 1e-10)


def test_blocks_and_threads_change_no_bit(X):
    axes = principal_axes_of(CentredMatrix(X), 7, np.random.default_rng(3))
    np.testing.assert_array_equal(
        axes, principal_axes_of(CentredMatrix(X), 7, np.random.default_rng(3), n_threads=3)
    )
    whole = project(CentredMatrix(X), axes).columns
    for block_size in (1, 333, 512, 2999):
        streamed = StreamedMatrix(X, block_size=block_size)
        np.testing.assert_array_equal(project(streamed, axes).columns, whole)
    np.testing.assert_array_equal(project(CentredMatrix(X), axes, n_threads=3).columns, whole)


def test_a_start_on_the_subspace_ends_where_one_on_all_features_does_if_clusters_are_clear(X):
    matrix, partition = CentredMatrix(X), KMeansPartition(6)
    generators = [np.random.default_rng(seed) for seed in range(5)]
    found = race_starts(matrix, partition, np.random.default_rng(4), generators)
    starts = [partition.start(matrix, np.ones(60), np.random.default_rng(s)) for s in range(5, 15)]
    best = max(starts, key=lambda labels: partition.scores(matrix, labels).sum())
    np.testing.assert_array_equal(found, best)


def test_a_race_ends_at_a_partition_that_k_means_on_all_features_does_not_change():
    rng = np.random.default_rng(5)
    matrix, partition = CentredMatrix(rng.standard_normal((1500, 80))), KMeansPartition(8)
    found = race_starts(matrix, partition, rng, [rng])
    np.testing.assert_array_equal(partition.refine(matrix, np.ones(80), found), found)


@pytest.mark.parametrize("n_features", [4, 6])
def test_few_features_stay_what_they_are_but_for_their_weights(n_features):
    rng = np.random.default_rng(6)
    X = rng.standard_normal((500, 8)).astype(np.float32)
    matrix, partition = CentredMatrix(X), KMeansPartition(3)
    weights = np.zeros(8)
    weights[rng.permutation(8)[:n_features]] = 4.0
    reduced = reduce_features(matrix, partition, weights, rng)
    np.testing.assert_array_equal(reduced.columns, 2 * matrix.columns[weights > 0])


def test_the_reduced_matrix_has_the_bits_of_any_blocks_and_leaves_out_what_weighs_nothing(X):
    weights = np.where(np.arange(60) < 40, np.linspace(0.1, 2, 60), 0.0)
    partition = KMeansPartition(6)
    expected = reduce_features(CentredMatrix(X), partition, weights, np.random.default_rng(1))
    streamed = StreamedMatrix(X, block_size=333)
    found = reduce_features(streamed, partition, weights, np.random.default_rng(1))
    np.testing.assert_array_equal(found.columns, expected.columns)
    other = X.copy()
    other[:, 40:] *= 7.0
    again = reduce_features(CentredMatrix(other), partition, weights, np.random.default_rng(1))
    np.testing.assert_array_equal(again.columns, expected.columns)


def test_the_axes_are_those_of_the_weighted_features(X):
    """With all samples shown, the projection has the variances of a full decomposition."""
    few, weights = CentredMatrix(X[:1500]), np.linspace(0.1, 2, 60)
    reduced = reduce_features(few, KMeansPartition(6), weights, np.random.default_rng(1))
    exact = np.linalg.svd(few.columns * np.sqrt(weights)[:, None], compute_uv=False)
    # Those of the clusters stand out; the last ones of an iteration are not exact.
    found = np.linalg.svd(reduced.columns, compute_uv=False)
    np.testing.assert_allclose(found[:5], exact[:5], rtol=1e-3)
