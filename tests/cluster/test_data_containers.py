"""Data enter at one edge: a type that cannot be read is named, with what to give instead."""

from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.cluster import AgglomerativeClustering

from sparsekm import GapSearch, KMeans, L0KMeans, PCAKMeans, SparseClustering, SparseKMeans
from sparsekm.cluster.matrices.dense_parts import as_dense
from sparsekm.cluster.matrices.scaled_data import ScaledData
from sparsekm.cluster.matrices.streamed_matrix import StreamedMatrix
from sparsekm.cluster.screening import marginal_scores

NAMES = [f"g{j}" for j in range(8)]
X = np.random.default_rng(0).normal(size=(30, 8)).astype(np.float32)
X[:15, :3] += 5
X[np.abs(X) < 0.3] = 0
FITTED = KMeans(2, n_init=1, random_state=0).fit(X)
# Everything that a user's data are given to.
DOORS = {
    "L0KMeans.fit": L0KMeans(2).fit,
    "L0KMeans.path": lambda X: L0KMeans(2).path(X, [3]),
    "SparseClustering.fit": SparseClustering(AgglomerativeClustering(2)).fit,
    "PCAKMeans.fit": PCAKMeans(2).fit,
    "GapSearch.fit": GapSearch(L0KMeans(2)).fit,
    "SparseKMeans.fit": SparseKMeans(2).fit,
    "marginal_scores": marginal_scores,
    "predict": FITTED.predict,
    "transform": FITTED.transform,
    "inverse_transform": FITTED.inverse_transform,
}


def labels(data):
    return KMeans(2, n_init=1, random_state=0).fit(data).labels_.tolist()


def stored(folder, *, backed=None):
    anndata.AnnData(sparse.csr_matrix(X)).write_h5ad(folder / "cells.h5ad")
    return anndata.read_h5ad(folder / "cells.h5ad", backed=backed)


def of_raw(_):
    adata = anndata.AnnData(X)
    adata.raw = adata
    return adata.raw


@pytest.mark.parametrize("kind", ["dense", "sparse", "sparse, with a centre"])
def test_a_new_scale_is_that_of_some_samples_and_values_stay_as_they_came(kind):
    came, some = 3 + np.abs(X).astype(float) * np.arange(1, 9), np.arange(0, 30, 2)
    data = ScaledData.standardise(came if kind == "dense" else sparse.csr_array(came))
    if kind == "sparse, with a centre":
        # As files of a workflow have it.
        means, deviations = came.mean(axis=0), came.std(axis=0, ddof=1)
        stored = sparse.csr_array(came / deviations)
        data = ScaledData(stored, means, deviations, means / deviations)
    for one in (data, data.standardise_by(some), data.select(np.arange(8) < 5)):
        p = one.X.shape[1]
        np.testing.assert_allclose(as_dense(one.X) * one.scale + one.location, came[:, :p])
    scaled = as_dense(data.standardise_by(some).X)[some]
    np.testing.assert_allclose(scaled.std(axis=0, ddof=1), 1)
    moved = data.standardise_by(some)
    if moved.means is not None:
        np.testing.assert_allclose(moved.means, came[some].mean(axis=0))
        center = 0 if moved.center is None else moved.center
        np.testing.assert_allclose(scaled.mean(axis=0) - center, 0, atol=1e-12)


@pytest.mark.parametrize("door", DOORS)
def test_every_door_names_a_type_that_it_cannot_read(door):
    refused = {"anndata.AnnData": anndata.AnnData(X), "pathlib.PosixPath": Path("a.csv")}
    if door not in {"L0KMeans.fit", "L0KMeans.path"}:
        refused["sparsekm.StreamedMatrix"] = StreamedMatrix(X)
    for name, data in refused.items():
        with pytest.raises(TypeError, match=rf"^X is of type {name}: give .+\.$"):
            DOORS[door](data)


MAKERS = {
    "anndata.AnnData": lambda _: anndata.AnnData(X),
    "anndata.Raw": of_raw,
    "anndata._CSRDataset": lambda folder: stored(folder, backed="r").X,
    "dict": lambda _: dict(zip(NAMES, X.T, strict=True)),
    "generator": lambda _: (row for row in X),
}


@pytest.mark.parametrize("name", MAKERS)
def test_what_is_to_be_given_instead_can_be_clustered(tmp_path, name):
    if "." in name:
        pytest.importorskip(name.partition(".")[0])
    data = MAKERS[name](tmp_path)
    with pytest.raises(TypeError, match=f"^X is of type {name}: give ") as caught:
        labels(data)
    advice = str(caught.value).partition(": give ")[2].removesuffix(".")
    # Of several the first, without the condition.
    code = advice.partition(", one of")[0].partition(" if ")[0]
    given = eval(code, {"X": data, "anndata": anndata, "pandas": pd})
    assert labels(given) == labels(X[:, :1] if "to_frame" in code else X)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([["a", "1"], ["b", "2"]], "X is of type list and dtype <U1: every value should be a numb"),
        (pd.DataFrame({"x": X[:, 0], "d": ["a"] * 30}), "X has the column 'd' of dtype .*'a'"),
        (pd.DataFrame({"t": pd.date_range("2020", periods=30)}), "column 't' of dtype datetime"),
        (X.astype("timedelta64[s]"), "X is of type numpy.ndarray and dtype timedelta64"),
    ],
)
def test_values_that_are_no_numbers_are_refused_with_their_column(data, message):
    with pytest.raises((TypeError, ValueError), match=message):
        labels(data)


@pytest.mark.parametrize(
    "data",
    [
        X.astype(object).tolist(),
        list(X),
        memoryview(X),
        pd.DataFrame(X).astype({0: object, 1: "Float32"}),
        pd.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(X)),
        sparse.coo_array(X),
    ],
)
def test_what_holds_numbers_is_read_whatever_holds_them(data):
    assert labels(data) == labels(X)


@pytest.mark.parametrize("package", ["polars", "pyarrow"])
def test_the_columns_of_any_data_frame_name_the_features(package):
    module = pytest.importorskip(package)
    columns = dict(zip(NAMES, X.T.copy(), strict=True))
    frame = module.DataFrame(columns) if package == "polars" else module.table(columns)
    fitted = KMeans(2, n_init=1, random_state=0).fit(frame)
    assert fitted.feature_names_in_.tolist() == NAMES
    np.testing.assert_array_equal(fitted.predict(frame), FITTED.labels_)


def in_chunks(kind):
    array = pytest.importorskip("dask.array")
    return array.from_array(X, chunks=(10, 5)).map_blocks(kind, dtype=X.dtype)


SEARCH = GapSearch(L0KMeans(2, n_init=1), sparsities=[3, 8], n_references=2, random_state=0)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_arrays_of_dask_are_computed(kind):
    expected = SEARCH.fit(sparse.csr_array(X) if kind is not np.asarray else X).labels_
    np.testing.assert_array_equal(SEARCH.fit(in_chunks(kind)).labels_, expected)
    np.testing.assert_array_equal(SEARCH.predict(in_chunks(kind)), expected)


def test_sparse_arrays_of_pydata_are_read_alone_and_as_chunks_of_dask():
    kind = pytest.importorskip("sparse").COO
    assert labels(kind.from_numpy(X)) == labels(in_chunks(kind)) == labels(X)


def test_a_data_frame_of_dask_is_computed_once_and_names_the_features():
    pytest.importorskip("pyarrow")
    frames = pytest.importorskip("dask.dataframe")
    computed = []

    def count(part):
        computed.append(len(part))
        return part

    frame = frames.from_pandas(pd.DataFrame(X, columns=NAMES), npartitions=1, sort=False)
    frame = frame.map_partitions(count, meta=frame._meta)
    computed.clear()
    search = SEARCH.fit(frame)
    assert computed == [30]
    for fit in (search, search.best_estimator_):
        assert fit.feature_names_in_.tolist() == NAMES


def test_sparse_rows_of_a_file_are_read_in_blocks(tmp_path):
    backed = stored(tmp_path, backed="r")
    estimator = L0KMeans(2, sparsity=3, n_init=1, random_state=0)
    expected = estimator.fit(X).objective_
    assert estimator.fit(StreamedMatrix(backed.X, block_size=7)).objective_ == expected
    with pytest.raises(TypeError, match=r"^source is of type anndata.AnnData: give source.X, "):
        StreamedMatrix(backed)
