"""Every format gives the same matrix."""

import warnings

import anndata
import h5py
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from sparsekm.io.readers.messages import MatrixError
from sparsekm.io.readers.reader import SUFFIXES, read_matrix

GENES = ["Shh", "Pax6", "NA", "4"]
LABELS = ["a", "b", "a", "b", "a", "b"]


def assert_same(raw, X, rtol=1e-6):
    assert raw.X.collect().dtype == np.float32
    np.testing.assert_allclose(raw.X.collect() + raw.offset, X, rtol=rtol, atol=1e-6)
    assert raw.features == GENES


@pytest.mark.parametrize("names", [True, False])
@pytest.mark.parametrize(("suffix", "separator"), [("csv", ","), ("tsv", "\t"), ("csv.gz", ",")])
def test_text_is_read_with_and_without_sample_names(tmp_path, frame, X, names, suffix, separator):
    file = tmp_path / f"m.{suffix}"
    frame.assign(kind=LABELS).to_csv(file, sep=separator, index=names)
    raw = read_matrix(file, labels="kind")
    assert_same(raw, X)
    assert raw.labels.tolist() == LABELS
    assert raw.samples == (list(frame.index) if names else None)


@pytest.mark.parametrize("suffix", [suffix for suffix in SUFFIXES if suffix not in (".mtx", ".gz")])
def test_an_ending_in_capitals_is_the_same_ending(suffix, tmp_path, npz, h5ad, frame, X):
    small, capitals = tmp_path / f"m{suffix}", tmp_path / f"capitals{suffix.upper()}"
    if suffix in (".npz", ".h5ad"):
        {".npz": npz, ".h5ad": h5ad}[suffix]()
    elif suffix in (".xlsx", ".xlsm"):
        frame.to_excel(tmp_path / "m.xlsx")
        (tmp_path / "m.xlsx").rename(small)
    elif suffix == ".parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(small)
    elif suffix == ".zarr":
        with warnings.catch_warnings(action="ignore", category=UserWarning):
            anndata.AnnData(frame).write_zarr(small)
    elif suffix in (".h5", ".hdf5"):
        with h5py.File(small, "w") as file:
            file["X"], file["genes"] = X, GENES
    else:
        frame.to_csv(small, sep="," if "csv" in suffix else "\t")
    small.rename(capitals)
    assert_same(read_matrix(capitals), X)


def test_text_as_r_writes_it_has_one_header_cell_less(tmp_path, frame, X):
    file = tmp_path / "m.csv"
    frame.to_csv(file)
    file.write_text(file.read_text().removeprefix(","))
    raw = read_matrix(file)
    assert_same(raw, X)
    assert raw.samples == list(frame.index)


def test_the_label_column_may_be_the_first_and_the_only_text(tmp_path, frame, X):
    file = tmp_path / "m.csv"
    frame.reset_index(drop=True).assign(kind=LABELS)[["kind", *GENES]].to_csv(file, index=False)
    raw = read_matrix(file, labels="kind")
    assert_same(raw, X)
    assert raw.labels.tolist() == LABELS


def test_h5ad_is_read_dense_sparse_and_by_layer(h5ad, X):
    for matrix in (X, sparse.csr_matrix(X), sparse.csc_matrix(X)):
        raw = read_matrix(h5ad(matrix), labels="kind")
        assert_same(raw, X)
        assert raw.labels.tolist() == LABELS
        assert raw.samples[0] == "cell0"
    assert_same(read_matrix(h5ad(X * 0, layers={"counts": X}), layer="counts"), X)


def test_h5ad_layers_may_be_sparse(h5ad, X):
    for kind in (sparse.csr_matrix, sparse.csc_matrix):
        file = h5ad(X * 0, layers={"counts": kind(X)})
        assert_same(read_matrix(file, layer="counts"), X)


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_matrix])
def test_a_matrix_that_is_mostly_zero_stays_sparse(h5ad, X, kind):
    X = X.astype(np.float64) * (np.arange(X.size).reshape(X.shape) % 3 == 0)
    stored = kind(X)
    # An explicit zero.
    stored.data[0] = 0
    raw = read_matrix(h5ad(stored))
    assert raw.X.is_sparse
    X = raw.X.collect()
    assert X.format == "csr"
    assert X.dtype == np.float32
    assert X.has_canonical_format
    assert raw.X.n_stored.sum() == X.nnz
    np.testing.assert_array_equal(X.toarray(), stored.toarray().astype(np.float32))
    assert not raw.offset.any()


def test_labels_from_obs_may_be_of_any_type(h5ad, frame):
    for values, expected in (
        (LABELS, LABELS),
        (pd.array(LABELS, dtype="string"), LABELS),
        ([True, False] * 3, ["True", "False"] * 3),
        (pd.array([1, 2] * 3, dtype="Int64"), list("121212")),
        (pd.Categorical(LABELS, categories=["z", "b", "a"], ordered=True), LABELS),
    ):
        obs = pd.DataFrame({"kind": values}, frame.index)
        assert read_matrix(h5ad(obs=obs), labels="kind").labels.tolist() == expected


def test_numeric_labels_read_as_floats_are_whole_numbers_again(npz, h5ad, frame):
    assert read_matrix(npz(y=np.array([1.0, 2, 1, 2, 3, 3]))).labels.tolist() == list("121233")
    assert read_matrix(npz(y=np.array([1, 2, 1, 2, 3, 3]))).labels.tolist() == list("121233")
    obs = pd.DataFrame({"kind": pd.Categorical([1.0, 2.0] * 3)}, frame.index)
    assert read_matrix(h5ad(obs=obs), labels="kind").labels.tolist() == list("121212")


def test_the_real_matrices_are_as_described(test_data):
    sizes = {
        "pbmc68k_reduced_700x765": (700, 765, 10),
        "sorlie_85x456": (85, 456, 5),
        "seqfish_embryo_14185x351": (14185, 351, 23),
    }
    for name, (n, p, n_classes) in sizes.items():
        raw = read_matrix(test_data / "expression" / f"{name}.npz", labels="y")
        assert raw.X.shape == (n, p)
        assert len(set(raw.labels)) == n_classes


def test_an_unknown_ending_and_a_needless_layer_are_refused(npz):
    with pytest.raises(MatrixError, match=r"m.xls: .xls is not read. Convert it: soffice"):
        read_matrix("m.xls")
    with pytest.raises(MatrixError, match=r"layer='a' should be left out"):
        read_matrix(npz(), layer="a")
