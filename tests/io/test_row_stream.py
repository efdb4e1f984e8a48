"""A matrix in blocks is the matrix, whatever the blocks and however the file cuts it."""

from dataclasses import replace
from itertools import pairwise

import anndata
import h5py
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, csr_matrix, issparse

from sparsekm.io.normalised_file import read_normalised, write_normalised
from sparsekm.io.readers.raw_matrix import RawMatrix
from sparsekm.io.readers.reader import read_matrix
from sparsekm.pipeline.normalisation import normalise


@pytest.fixture(name="counts")
def raw_counts(seed):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(rng.gamma(0.5, 0.6, size=40), size=(300, 40)).astype(np.float32)
    counts[:, 0] += 1
    counts[:, [3, 4]] = 0, 2
    return counts


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
@pytest.mark.parametrize("heights", [[300], [1] * 300, [7, 150, 143]])
def test_rows_are_cut_anew(counts, kind, heights):
    X, edges = kind(counts), np.cumsum([0, *heights])
    parts = [X[start:stop] for start, stop in pairwise(edges)]
    stream = replace(RawMatrix.of(X), read=lambda: parts)
    found = list(stream.blocks(64))
    assert [(rows.start, rows.stop) for rows, _ in found][-2:] == [(192, 256), (256, 300)]
    for rows, block in found:
        assert issparse(block) == stream.is_sparse
        assert (block != X[rows]).sum() == 0
    doubled = stream.change(lambda block, rows: block * 2).select(np.array([1, 5]))
    assert doubled.shape == (300, 2)
    assert (doubled.collect() != 2 * X[:, [1, 5]]).sum() == 0
    if stream.is_sparse:
        assert doubled.n_stored.sum() == X[:, [1, 5]].nnz


@pytest.mark.parametrize("how", ["zscore", "counts", "none"])
@pytest.mark.parametrize("n_top_features", [None, 20])
@pytest.mark.parametrize("kind", [np.asarray, csr_matrix])
def test_a_file_is_normalised_as_the_matrix_in_memory(
    tmp_path, counts, monkeypatch, how, n_top_features, kind
):
    obs, var = (pd.DataFrame(index=[f"{i}" for i in range(length)]) for length in counts.shape)
    file = tmp_path / "cells.h5ad"
    anndata.AnnData(kind(counts), obs=obs, var=var).write_h5ad(file, compression="gzip")
    made = []
    for in_memory in (True, False):
        raw = read_matrix(file)
        if in_memory:
            raw = RawMatrix.of(raw.collect(), raw.offset, about=raw.about)
        else:
            for name, size in (("_STORED_AT_ONCE", 500), ("_CELLS_AT_ONCE", 333)):
                monkeypatch.setattr(f"sparsekm.io.readers.value_blocks.{name}", size)
        result = normalise(raw, how, n_top_features)
        known = {} if result.center is None else {"center": result.center}
        about = var.loc[result.about.features].assign(**known)
        write_normalised(tmp_path / "normalised.h5ad", result, obs, about, {})
        made.append(read_normalised(tmp_path / "normalised.h5ad"))
        with h5py.File(tmp_path / "normalised.h5ad") as opened:
            stored = opened["X/data"] if issparse(made[-1].X) else opened["X"]
            assert stored.chunks is None
    first, second = made
    assert issparse(second.X) == (kind is csr_matrix)
    assert (first.X != second.X).sum() == 0
    np.testing.assert_array_equal(first.center, second.center)
    assert first.about.features == second.about.features


def test_rows_without_values_and_indices_in_any_order_are_read(tmp_path, seed):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((50, 30)) < 0.2, rng.random((50, 30)), 0)
    X[[0, 7, 8, 49]] = 0
    stored = csr_matrix(X)
    order = np.concatenate(
        [rng.permutation(np.arange(a, b)) for a, b in pairwise(stored.indptr)]
    ).astype(int)
    obs, var = (pd.DataFrame(index=[f"{i}" for i in range(length)]) for length in X.shape)
    anndata.AnnData(obs=obs, var=var).write_h5ad(tmp_path / "cells.h5ad")
    with h5py.File(tmp_path / "cells.h5ad", "a") as opened:
        opened.pop("X", None)
        group = opened.create_group("X")
        group.attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0"})
        group.attrs["shape"] = X.shape
        # Every value in two halves.
        group["data"] = np.repeat(stored.data[order] / 2, 2)
        group["indices"] = np.repeat(stored.indices[order].astype(np.int64), 2)
        group["indptr"] = 2 * stored.indptr.astype(np.int64)
    raw = read_matrix(tmp_path / "cells.h5ad")
    np.testing.assert_allclose(raw.collect().toarray(), X, rtol=1e-6)
    assert raw.collect().has_canonical_format
