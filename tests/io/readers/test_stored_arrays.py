"""Arrays in NumPy archives and plain HDF5: read in every layout, and nothing outside is."""

import zipfile

import h5py
import hdf5plugin
import numpy as np
import pytest
from reading import KINDS, STORED, refused

from sparsekm.io.readers.reader import read_matrix


@pytest.fixture
def h5(tmp_path, X):
    """Write arrays to m.h5, X and genes if nothing else is said; what is None is left out."""

    def write(**arrays):
        arrays = {"X": X, "genes": np.array(STORED), **arrays}
        with h5py.File(tmp_path / "m.h5", "w") as opened:
            for name, values in arrays.items():
                if values is not None:
                    is_text = isinstance(values, np.ndarray) and values.dtype.kind == "U"
                    opened[name] = values.tolist() if is_text else values
        return tmp_path / "m.h5"

    return write


@pytest.fixture(params=["npz", "h5"])
def arrays(request):
    """Write the same arrays in both formats, by default without classes."""
    write = request.getfixturevalue(request.param)
    return lambda **given: write(**{"y": None, **given})


def test_arrays_are_read_with_names_and_classes(arrays, X):
    relevant = np.array([True, False, False, True])
    samples = np.array([f"s{i}" for i in range(6)])
    raw = read_matrix(arrays(y=np.array(KINDS), samples=samples, relevant=relevant))
    np.testing.assert_array_equal(raw.collect(), X)
    assert raw.collect().dtype == np.float32
    assert not raw.offset.any()
    assert raw.about.features == STORED
    assert raw.about.labels.tolist() == KINDS
    assert raw.about.samples[5] == "s5"
    assert raw.about.relevant.tolist() == relevant.tolist()


@pytest.mark.parametrize("dtype", ["<f8", ">f4", "f2"])
def test_any_floating_point_type_and_order_is_read(arrays, X, dtype):
    raw = read_matrix(arrays(X=np.asfortranarray(X.astype(dtype))))
    np.testing.assert_allclose(raw.collect() + raw.offset, X, atol=1e-3)


def test_a_bare_matrix_of_integers_gets_names(arrays):
    raw = read_matrix(arrays(X=np.arange(12).reshape(4, 3), genes=None))
    assert raw.about.features == ["feature1", "feature2", "feature3"]
    assert raw.about.labels is raw.about.samples is raw.about.relevant is None
    np.testing.assert_array_equal(raw.collect() + raw.offset, np.arange(12).reshape(4, 3))


def test_small_variation_of_large_numbers_survives_single_precision(arrays, X):
    values = read_matrix(arrays(X=X.astype(np.float64) + 1e9)).collect()
    np.testing.assert_allclose(values - values[0], X - X[0], atol=1e-6)


def test_wrong_shapes_types_and_names_are_refused(arrays, X):
    refused(arrays(X=X[:, 0]), r"X has shape=\(6,\); it should be \(samples, features\)")
    refused(arrays(X=X.astype("S3")), "X has dtype=.* should be numeric")
    refused(arrays(X=X.astype(complex)), "X has dtype=complex.* should be numeric")
    refused(arrays(X=None), r"arrays=\[genes\] should include 'X' \(samples x features\).$")
    refused(arrays(X=X[:2]), "n_samples=2 should be >= 3")
    refused(arrays(X=X[:, :0], genes=None), "n_features=0 should be >= 1")
    refused(arrays(genes=np.array(["a"])), r"genes has shape=\(1,\); it should be \(4,\)")
    refused(arrays(y=np.array(["a", "b"])), r"y has shape=\(2,\); it should be \(6,\)")
    refused(arrays(), r"labels='kind' should be one of its arrays \[X, genes\]", labels="kind")
    refused(arrays(genes=np.array(["a", "b", " ", "c"])), "1 feature has no name")


@pytest.mark.parametrize(
    "y", [["a", "", "", "", "NA", " "], [np.nan, 2, np.nan, np.nan, np.nan, np.nan]]
)
def test_labels_must_be_known_for_two_samples(arrays, y):
    message = "are known for 1 of 6 samples; they should be known for at least 2. Otherwise leave"
    refused(arrays(y=np.array(y)), f"labels 'y' {message}")


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("ending", ["npz", "h5", "h5ad"])
def test_truncated_files_are_refused(request, ending, share):
    file = request.getfixturevalue(ending)(X=np.random.default_rng(0).normal(size=(6, 4)))
    content = file.read_bytes()
    file.write_bytes(content[: int(share * len(content))])
    refused(file, f"not a complete .{ending} (archive|file)")


def test_an_array_that_is_shorter_than_it_claims_or_none_is_refused(npz):
    file = npz()
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}

    def put(name, content):
        with zipfile.ZipFile(file, "w") as archive:
            for member, whole in members.items():
                archive.writestr(member, content if member == f"{name}.npy" else whole)
        return file

    for name, message in (("X", r"X has shape=\(\)"), ("y", r"y has shape=\(\); it should be")):
        short = members[f"{name}.npy"][:-8]
        refused(
            put(name, short), f"array '{name}' cannot be read .*; it should be a complete array"
        )
        refused(put(name, b"no array"), message, labels="y")


def test_names_may_be_of_fixed_length_and_classes_numbers_in_a_group(h5):
    given = {"genes": None, "features": np.array(STORED, dtype="S5"), "about/kind": [1, 2] * 3}
    raw = read_matrix(h5(**given), labels="about/kind")
    assert raw.about.features == STORED
    assert raw.about.labels.tolist() == list("121212")


def test_another_array_may_stand_for_the_matrix(arrays, X):
    for layer in (None, "counts"):
        raw = read_matrix(arrays(X=None, counts=X), layer=layer)
        np.testing.assert_array_equal(raw.collect(), X)
    refused(arrays(X=None, counts=X, raw=X), "name that array: set layer: counts")
    refused(arrays(), r"should include 'raw'", layer="raw")


@pytest.mark.parametrize("chunks", [(7, 400), (600, 1), (600, 400)])
def test_chunks_of_any_shape_give_the_same_matrix(tmp_path, seed, monkeypatch, chunks):
    monkeypatch.setattr("sparsekm.io.readers.value_blocks._CELLS_AT_ONCE", 2**11)
    monkeypatch.setattr("sparsekm.io.readers.value_blocks._LARGEST_CHUNKS_CELLS", 2**14)
    X = np.random.default_rng(seed).normal(size=(600, 400))
    with h5py.File(tmp_path / "m.h5", "w") as opened:
        opened.create_dataset("X", data=X, chunks=chunks, compression="gzip")
    raw = read_matrix(tmp_path / "m.h5")
    np.testing.assert_allclose(raw.collect() + raw.offset, X, atol=1e-6)


def test_values_other_than_numbers_and_strings_are_refused(h5):
    refused(h5(X=np.full((6, 4), "a", dtype=object)), "X has dtype=object; it should be numeric")
    file = h5()
    with h5py.File(file, "r+") as opened:
        ragged = opened.create_dataset("y", (6,), dtype=h5py.vlen_dtype(np.int32))
        ragged[:] = [np.arange(i + 1) for i in range(6)]
        opened.create_dataset("pointers", (6,), dtype=h5py.ref_dtype)
        opened["pairs"] = np.zeros(6, dtype=[("a", "f4"), ("b", "f4")])
    for name in ("y", "pointers", "pairs"):
        refused(file, f"{name} has dtype=.*plain numbers or strings", labels=name)


def test_files_of_other_layouts_are_recognised(h5, h5ad, tmp_path):
    raw = read_matrix(h5ad().rename(tmp_path / "renamed.h5"), labels="kind")
    assert raw.about.features == STORED
    assert raw.about.labels.tolist() == KINDS
    refused(h5(X=None, obs=[1], var=[2]), r"arrays=\[genes, obs, var\] should include 'X'")
    given = {"X": None, "genes": None, "matrix/indptr": [0], "matrix/data": [1]}
    refused(h5(**given), r"arrays=\[matrix/data, matrix/indptr\] should include 'X'")


def test_nothing_outside_the_file_is_read_and_nothing_that_was_never_written(h5, h5ad, tmp_path, X):
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["secret"] = X
    other = str(tmp_path / "other.h5")

    def add_link(opened, name):
        opened[name] = h5py.ExternalLink(other, "/secret")

    def add_view(opened, name):
        layout = h5py.VirtualLayout(shape=X.shape, dtype=X.dtype)
        layout[:] = h5py.VirtualSource(other, "secret", shape=X.shape)
        opened.create_virtual_dataset(name, layout)

    def add_raw(opened, name):
        (tmp_path / "values").write_bytes(X.tobytes())
        elsewhere = [(str(tmp_path / "values"), 0, X.nbytes)]
        opened.create_dataset(name, X.shape, X.dtype, external=elsewhere)

    for add, message in (
        (add_link, r"is a link to the file '.*other.h5'"),
        (add_view, "the values of .* are in other files"),
        (add_raw, "the values of .* are in other files"),
    ):
        for file, name in ((h5(X=None), "X"), (h5ad(layers={"raw": X}), "layers/more")):
            with h5py.File(file, "r+") as opened:
                add(opened, name)
            refused(file, message)
    # A link inside the file is followed, and a broken one refused.
    file = h5(X=None, values=X)
    with h5py.File(file, "r+") as opened:
        opened["X"] = h5py.SoftLink("/values")
    np.testing.assert_array_equal(read_matrix(file).collect(), X)
    with h5py.File(file, "r+") as opened:
        del opened["values"]
    refused(file, "should include 'X'")
    # A matrix that was never written has no values.
    file = h5(X=None)
    with h5py.File(file, "r+") as opened:
        opened.create_dataset("X", shape=(300, 500), dtype="f4", chunks=(1, 100))
    refused(file, r"X with shape=\(300, 500\) contains no values")


@pytest.mark.parametrize("packed", [hdf5plugin.Zstd(), hdf5plugin.Blosc2(), hdf5plugin.LZ4()])
def test_compressions_of_others_are_read(h5, h5ad, X, packed):
    for file in (h5(), h5ad()):
        with h5py.File(file, "r+") as opened:
            del opened["X"]
            opened.create_dataset("X", data=X, chunks=(3, 2), **packed)
        np.testing.assert_array_equal(read_matrix(file).collect(), X)


def test_what_is_compressed_a_thousandfold_or_twice_is_read(h5ad, X):
    made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    made.set_chunk((1000, 1000))
    for _ in range(2):
        made.set_filter(h5py.h5z.FILTER_DEFLATE, 0, (9,))
    file = h5ad()
    with h5py.File(file, "r+") as opened:
        space = h5py.h5s.create_simple((3000, 1000))
        kind = h5py.h5t.NATIVE_DOUBLE
        layer = h5py.Dataset(h5py.h5d.create(opened["layers"].id, b"zeros", kind, space, made))
        layer[...] = np.zeros((3000, 1000))
        assert layer.nbytes > 5000 * layer.id.get_storage_size()
    np.testing.assert_array_equal(read_matrix(file).collect(), X)
