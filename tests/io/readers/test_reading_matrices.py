"""Every format gives the same matrix in the memory that it declares; mistakes give one message."""

import gzip
from functools import partial

import anndata
import h5py
import numpy as np
import pytest
from reading import KINDS, STORED, readings, refused
from scipy import sparse

from sparsekm.annotation.gene_sets import read_gene_sets
from sparsekm.io.input_error import InputError
from sparsekm.io.readers.messages import MatrixError
from sparsekm.io.readers.reader import SUFFIXES, measure_matrix, read_matrix
from sparsekm.pipeline.normalisation import read_feature_groups


def assert_same(raw, X, rtol=1e-6):
    assert raw.collect().dtype == np.float32
    np.testing.assert_allclose(raw.collect() + raw.offset, X, rtol=rtol, atol=1e-6)
    assert raw.about.features == STORED


@pytest.mark.parametrize(("suffix", "separator"), [("csv", ","), ("tsv", "\t")])
def test_text_is_read_with_and_without_names_of_samples(put, frame, X, suffix, separator):
    nameless = frame.reset_index(drop=True).assign(kind=KINDS)
    texts = {
        "names": frame.assign(kind=KINDS).to_csv(sep=separator),
        # As R writes it.
        "short header": frame.assign(kind=KINDS).to_csv(sep=separator).removeprefix(separator),
        "classes last": nameless.to_csv(sep=separator, index=False),
        "classes first": nameless[["kind", *STORED]].to_csv(sep=separator, index=False),
    }
    for kind, content in texts.items():
        raw = read_matrix(put(content, f"m.{suffix}"), labels="kind")
        assert_same(raw, X)
        assert raw.about.labels.tolist() == KINDS
        assert raw.about.samples == (None if "classes" in kind else list(frame.index))


@pytest.mark.parametrize("suffix", [suffix for suffix in SUFFIXES if suffix not in (".mtx", ".gz")])
@pytest.mark.filterwarnings("ignore::UserWarning")  # of AnnData's, on Zarr's second format
def test_an_ending_in_capitals_is_the_same_ending(suffix, tmp_path, npz, h5ad, frame, X):
    def write_arrays(file):
        with h5py.File(file, "w") as opened:
            opened["X"], opened["genes"] = X, STORED

    write = {
        ".npz": lambda file: npz().rename(file),
        ".h5ad": lambda file: h5ad().rename(file),
        ".h5": write_arrays,
        ".hdf5": write_arrays,
        ".zarr": anndata.AnnData(frame).write_zarr,
        ".xlsx": partial(frame.to_excel, engine="openpyxl"),
        ".xlsm": partial(frame.to_excel, engine="openpyxl"),
        ".parquet": frame.to_parquet,
        ".csv": frame.to_csv,
    }.get(suffix, partial(frame.to_csv, sep="\t"))
    small, capitals = tmp_path / f"small{suffix}", tmp_path / f"capitals{suffix.upper()}"
    write(small)
    small.rename(capitals)
    assert_same(read_matrix(capitals), X)


def test_h5ad_is_read_dense_sparse_and_by_layer(h5ad, X):
    for kind in (np.asarray, sparse.csr_matrix, sparse.csc_matrix):
        raw = read_matrix(h5ad(kind(X)), labels="kind")
        assert_same(raw, X)
        assert raw.about.labels.tolist() == KINDS
        assert raw.about.samples[0] == "cell0"
        assert_same(read_matrix(h5ad(X * 0, layers={"counts": kind(X)}), layer="counts"), X)
    refused(h5ad(layers={"counts": X}), r"there is no layer='raw'\. .*\['counts'\]", layer="raw")


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_matrix])
def test_a_matrix_that_is_mostly_zero_stays_sparse(h5ad, X, kind):
    X = X.astype(np.float64) * (np.arange(X.size).reshape(X.shape) % 3 == 0)
    stored = kind(X)
    # An explicit zero.
    stored.data[0] = 0
    raw = read_matrix(h5ad(stored))
    assert raw.is_sparse
    X = raw.collect()
    assert X.format == "csr"
    assert X.dtype == np.float32
    assert X.has_canonical_format
    assert raw.n_stored.sum() == X.nnz
    np.testing.assert_array_equal(X.toarray(), stored.toarray().astype(np.float32))
    assert not raw.offset.any()


def test_the_real_matrices_are_as_described(test_data):
    sizes = {
        "pbmc68k_reduced_700x765": (700, 765, 10),
        "sorlie_85x456": (85, 456, 5),
        "seqfish_embryo_14185x351": (14185, 351, 23),
    }
    for name, (n, p, n_classes) in sizes.items():
        raw = read_matrix(test_data / "expression" / f"{name}.npz", labels="y")
        assert raw.shape == (n, p)
        assert len(set(raw.about.labels)) == n_classes


@pytest.mark.parametrize("name", ["m.csv", "m.tsv.gz", "m.xlsx", "m.npz", "m.h5ad", "m.parquet"])
def test_what_is_read_only_once_is_refused(unread, name):
    for read in (read_matrix, partial(read_feature_groups, features=["a"]), read_gene_sets):
        with pytest.raises(InputError, match=rf"{name}: should be a file; .* a pipe, .*to a file"):
            read(unread(name))
    assert measure_matrix(unread(name)).memory == 0


@pytest.mark.parametrize(
    "name", ["m.csv", "m.tsv.gz", "m.xlsx", "m.npz", "m.h5", "m.h5ad", "m.zarr"]
)
def test_a_folder_in_place_of_a_file_is_refused_and_the_reverse(tmp_path, name):
    file = tmp_path / name
    with pytest.raises(FileNotFoundError, match=rf"{name}: no such file\.$"):
        read_matrix(file)
    if name == "m.zarr":
        file.touch()
        refused(file, rf"{name}: not a complete \.zarr")
    else:
        file.mkdir()
        problem = r"is a folder; it should be a file, a \.zarr, or a folder of 10x \(.*\)"
        refused(file, rf"{name}: {problem}\.$")


@pytest.mark.parametrize("lacking", [np.nan, np.inf])
def test_a_sparse_matrix_that_lacks_values_is_read_as_an_array(h5ad, X, lacking):
    X[X < 0] = 0
    X[:, 2:] = 0
    X[3, 1] = lacking
    raw = read_matrix(h5ad(sparse.csr_matrix(X)))
    X[3, 1] = np.nan
    np.testing.assert_array_equal(raw.collect(), X)
    assert raw.remarks[0] == "the sparse matrix has missing values, so it is read as a dense array."
    # So does a number that stands for a missing value.
    X = np.where(np.arange(X.size).reshape(X.shape) % 5, 0, X)
    X[3, 1] = -999
    assert read_matrix(h5ad(sparse.csr_matrix(X))).is_sparse
    raw = read_matrix(h5ad(sparse.csr_matrix(X)), missing_values=[-999])
    assert np.argwhere(np.isnan(raw.collect())).tolist() == [[3, 1]]


def test_infinite_values_are_missing_and_those_beyond_single_precision_refused(put, h5ad, X):
    X[3, 1], X[4, 0] = np.nan, -np.inf
    for file in (h5ad(X), put("a,b\n1,2\n3,NA\n-Inf,1\n5,6\n")):
        raw = read_matrix(file)
        assert np.isnan(raw.collect()).sum() == 2
        assert "1 infinite value, such as the logarithm of zero" in raw.remarks[0]
    refused(put("a,b\n1,2\n3,1e300\n5,6\n"), "line 3: 1e.300 in column 'b' is beyond the range")
    X = X.astype(np.float64)
    X[2, 2] = 1e300
    refused(h5ad(X), "is beyond the range of single precision")


def test_repeated_names_of_stored_matrices_are_numbered(npz, h5ad):
    raw = read_matrix(npz(genes=np.array(["a", "b", "a", "b"]), samples=np.array(list("abcaef"))))
    assert raw.about.features == ["a", "b", "a_2", "b_2"]
    assert raw.about.samples == ["a", "b", "c", "a_2", "e", "f"]
    assert "2 feature names occur more than once" in raw.remarks[0]
    file = h5ad()
    with h5py.File(file, "r+") as opened:
        opened["var/_index"][1] = opened["var/_index"][0]
        opened["obs/_index"][1] = "cell0"
    raw = read_matrix(file)
    assert raw.about.features[:2] == ["Shh", "Shh_2"]
    assert raw.about.samples[:2] == ["cell0", "cell0_2"]


def test_features_in_rows_are_read_transposed_where_something_fits_the_other_axis(
    npz, put, h5ad, X
):
    for arrays in ({"labels": "y"}, {}):
        raw = read_matrix(npz(X=X.T, y=np.array(list("ababab"))), **arrays)
        np.testing.assert_allclose(raw.collect(), X)
        assert raw.about.features == ["Shh", "Pax6", "NA", "4"]
        assert "rows of X are read as features and its columns as samples" in raw.remarks[0]
    content = "name,s1,s2,s3\nShh,1,2,3\nkind,a,b,b\nPax6,5,6,7\nSst,4,3,9\n"
    refused(put(content), "'kind'.* Set transpose: true", labels="kind", transpose=False)
    file = h5ad()
    with h5py.File(file, "r+") as opened:
        opened.move("obs", "was_obs")
        opened.move("var", "obs")
        opened.move("was_obs", "var")
    refused(file, "X looks transposed")
    with h5py.File(file, "r+") as opened:
        del opened["X"]
        opened["X"] = X.T
    message = "It is a column of var: X looks transposed. Set transpose: true"
    refused(file, message, labels="kind", transpose=False)
    raw = read_matrix(file, labels="kind", transpose=True)
    np.testing.assert_allclose(raw.collect(), X)
    assert raw.about.labels.tolist() == list("ababab")


def test_sparse_values_that_point_outside_are_refused(h5ad, X):
    for kind, message in (
        (sparse.csr_matrix, "in rows from 1 on, indices must be < 4"),
        (sparse.csc_matrix, "not a complete .h5ad file"),
    ):
        file = h5ad(kind(X))
        with h5py.File(file, "r+") as opened:
            opened["X/indices"][6] = 10**6
        refused(file, message)


@pytest.mark.parametrize(
    ("part", "change", "message"),
    [
        ("indptr", lambda values: values[:-1], "indptr should ascend from 0 .* in 7 values"),
        ("indptr", lambda values: values + 1, "indptr should ascend from 0 .* in 7 values"),
        (
            "indptr",
            lambda values: values[[0, 2, 1, 3, 4, 5, 6]],
            "should ascend from 0 to the number of",
        ),
        ("indices", lambda values: values[:-1], "should ascend from 0 to the number of"),
        ("indices", lambda values: values.astype(float), "indices and indptr should be integers"),
        ("data", lambda values: values.astype("S3"), "X/data has dtype=.* should be numeric"),
    ],
)
def test_sparse_rows_that_do_not_add_up_are_refused(h5ad, X, part, change, message):
    file = h5ad(sparse.csr_matrix(X))
    with h5py.File(file, "r+") as opened:
        values = opened["X"][part][()]
        del opened["X"][part]
        opened["X"][part] = change(values)
    refused(file, message)


@pytest.mark.parametrize("name", ["id", "Sample", "cell_id", "names", "row", "Unnamed: 0"])
def test_a_column_of_numbers_called_like_an_id_names_the_samples(put, name):
    rows = f",a,b\n{10**9 + 3},0.5,1\n{10**9 + 1},2,5\n{10**9 + 2},4,2\n"
    raw = read_matrix(put(name + rows))
    assert raw.about.samples == [str(10**9 + i) for i in (3, 1, 2)]
    assert raw.about.features == ["a", "b"]
    # Two columns are too few samples, so that without a heading lines hold them, too.
    assert read_matrix(put(rows)).about.samples == raw.about.samples
    assert read_matrix(put(f"midnight{rows}"), keep=["midnight"]).about.features == [
        "midnight",
        "a",
        "b",
    ]
    assert read_matrix(put(name + rows), labels=name).about.features == ["a", "b"]


@pytest.mark.parametrize("name", ["ID", "RespId", "index", "customerID", "Subject", "visit year"])
def test_numbers_called_like_an_id_that_repeat_are_asked_about(put, name):
    file = put(f"{name},a\n" + "".join(f"{7 + at // 2},{at * at / 3:.2f}\n" for at in range(9)))
    refused(file, rf"\[{name}\] may describe or number the samples", transpose=False)
    without, kept = readings(file)[1]
    assert (without.about.features, kept.about.features) == (["a"], [name, "a"])


def test_text_that_is_no_table_is_refused(put):
    refused(put(""), "lines=0; there should be a header and samples")
    refused(put(b"\xff\x00a,b\n1,2\n"), "not UTF-8 text")
    refused(put(b"no gzip", "m.csv.gz"), "not UTF-8 text")


def test_a_fault_of_the_reader_is_not_called_damage(put, monkeypatch):
    def fail(*_, **__):
        raise ValueError("a fault")

    monkeypatch.setattr("sparsekm.io.readers.axes.find_orientation", fail)
    with pytest.raises(ValueError, match="^a fault$"):
        read_matrix(put("a,b\n1,2\n3,4\n5,7\n"))


def test_the_shape_counts_in_every_format(tmp_path, npz, h5ad, X):
    small, X = X, np.zeros((600, 400))
    file = npz(X=X, genes=np.arange(400).astype(str), y=None)
    least = 3 * 4 * X.size + 2 * X.nbytes
    assert least < measure_matrix(file).memory < 1.2 * least
    with h5py.File(tmp_path / "m.h5", "w") as opened:
        opened.create_dataset("counts", data=X, compression="gzip")
    assert measure_matrix(tmp_path / "m.h5", "counts") == (least, 3 * least, 4 * X.size, 600)
    (tmp_path / "m.csv").write_bytes(b"a,b\n" + b"1,2\n" * 1000)
    assert measure_matrix(tmp_path / "m.csv").memory == 16 * 4004
    # An unused layer counts for nothing.
    plain = measure_matrix(h5ad())
    assert measure_matrix(h5ad(layers={"zeros": 0 * small})) == plain
    assert measure_matrix(h5ad(layers={"counts": small}), "counts") == plain
    assert measure_matrix(h5ad(sparse.csr_matrix(small))).memory > 3 * 4 * small.size


def test_a_matrix_that_is_read_in_blocks_needs_no_memory_for_the_whole(tmp_path):
    asked = []
    for n in (10**5, 10**6):
        with h5py.File(tmp_path / "m.h5", "w") as opened:
            opened.create_dataset("X", shape=(n, 10**4), dtype="f4", chunks=(100, 10**4))
        asked.append(measure_matrix(tmp_path / "m.h5"))
        assert asked[-1].memory < 2**30 < 4 * n * 10**4 < asked[-1].processed
    assert asked[1].processed == 10 * asked[0].processed
    # A compressed text may be all that it can hold.
    content = b"0," * 10**6
    (tmp_path / "m.csv.gz").write_bytes(gzip.compress(content))
    assert measure_matrix(tmp_path / "m.csv.gz").memory >= 16 * len(content)


def test_a_matrix_above_the_limit_is_refused_before_it_is_read(tmp_path):
    with h5py.File(tmp_path / "m.h5", "w") as opened:
        opened.create_dataset("X", shape=(10**7, 10**5), dtype="f4", chunks=(1, 1000))
    message = r"10000000 x 100000 takes 3725.3 GiB .* the limit is 1024 GiB"
    with pytest.raises(MatrixError, match=message):
        measure_matrix(tmp_path / "m.h5")
    # A file that does not say is left to its reader.
    for name in ("m.h5", "m.h5ad", "m.npz"):
        (tmp_path / name).write_bytes(b"no such file")
        assert measure_matrix(tmp_path / name) == (0, 0, 0, 0)
    assert measure_matrix(tmp_path / "absent.csv") == (0, 0, 0, 0)
