"""Plain HDF5: every layout of the same matrix gives the same, and nothing outside is read."""

import h5py
import hdf5plugin
import numpy as np
import pytest
from reading import refused

from sparsekm.io.readers.reader import read_matrix

GENES = ["Shh", "Pax6", "NA", "4"]
LABELS = ["a", "b", "a", "b", "a", "b"]


@pytest.fixture
def h5(tmp_path, X):
    """Write arrays to m.h5, X if nothing else is said; what is None is left out."""

    def write(**arrays):
        arrays = {"X": X, "genes": GENES, **arrays}
        with h5py.File(tmp_path / "m.h5", "w") as opened:
            for name, values in arrays.items():
                if values is not None:
                    opened[name] = values
        return tmp_path / "m.h5"

    return write


def test_arrays_are_read_with_names_and_classes(h5, X):
    relevant = np.array([True, False, False, True])
    raw = read_matrix(h5(y=LABELS, samples=[f"s{i}" for i in range(6)], relevant=relevant))
    np.testing.assert_array_equal(raw.X.collect(), X)
    assert raw.X.collect().dtype == np.float32
    assert raw.features == GENES
    assert raw.labels.tolist() == LABELS
    assert raw.samples[5] == "s5"
    assert raw.relevant.tolist() == relevant.tolist()


@pytest.mark.parametrize("dtype", ["<f8", ">f4", "f2"])
def test_any_floating_point_type_is_read(h5, X, dtype):
    raw = read_matrix(h5(X=X.astype(dtype)))
    np.testing.assert_allclose(raw.X.collect() + raw.offset, X, atol=1e-3)


def test_a_bare_matrix_of_integers_gets_names(h5):
    raw = read_matrix(h5(X=np.arange(12).reshape(4, 3), genes=None))
    assert raw.features == ["feature1", "feature2", "feature3"]
    assert raw.labels is raw.samples is raw.relevant is None
    np.testing.assert_array_equal(raw.X.collect() + raw.offset, np.arange(12).reshape(4, 3))


def test_names_may_be_of_fixed_length_and_classes_numbers_in_a_group(h5, X):
    arrays = {"genes": None, "features": np.array(GENES, dtype="S5"), "about/kind": [1, 2] * 3}
    raw = read_matrix(h5(**arrays), labels="about/kind")
    assert raw.features == GENES
    assert raw.labels.tolist() == list("121212")


def test_another_array_may_stand_for_the_matrix(h5, X):
    raw = read_matrix(h5(X=None, counts=X), layer="counts")
    np.testing.assert_array_equal(raw.X.collect(), X)


@pytest.mark.parametrize("chunks", [(7, 400), (600, 1), (600, 400)])
def test_chunks_of_any_shape_give_the_same_matrix(tmp_path, seed, monkeypatch, chunks):
    monkeypatch.setattr("sparsekm.io.readers.value_blocks._CELLS_AT_ONCE", 2**11)
    monkeypatch.setattr("sparsekm.io.readers.value_blocks._LARGEST_CHUNKS_CELLS", 2**14)
    X = np.random.default_rng(seed).normal(size=(600, 400))
    with h5py.File(tmp_path / "m.h5", "w") as opened:
        opened.create_dataset("X", data=X, chunks=chunks, compression="gzip")
    raw = read_matrix(tmp_path / "m.h5")
    np.testing.assert_allclose(raw.X.collect() + raw.offset, X, atol=1e-6)


def test_missing_values_stay_missing(h5, X):
    X[3, 1] = X[4, 0] = np.nan
    assert np.isnan(read_matrix(h5(X=X)).X.collect()).sum() == 2


def test_wrong_shapes_types_and_names_are_refused(h5, X):
    refused(h5(X=X[:, 0]), r"X has shape=\(6,\); it should be \(samples, features\)")
    refused(h5(X=X.astype("S3")), "X has dtype=.* should be numeric")
    refused(h5(X=X.astype(complex)), "X has dtype=complex.* should be numeric")
    refused(h5(X=np.full((6, 4), "a", dtype=object)), "X has dtype=object; it should be numeric")
    refused(h5(X=None), r"arrays=\[genes\] should include 'X' \(samples x features\).$")
    refused(h5(), r"should include 'raw'", layer="raw")
    refused(h5(X=X[:2]), "n_samples=2 should be >= 3")
    refused(h5(genes=["a"]), r"genes has shape=\(1,\); it should be \(4,\)")
    refused(h5(), r"labels='kind' should be one of its arrays \[X, genes\]", labels="kind")
    refused(h5(y=["a", "", "", "", "NA", ""]), "labels 'y' are known for 1 of 6 samples")


def test_values_other_than_numbers_and_strings_are_refused(h5, X):
    file = h5()
    with h5py.File(file, "r+") as opened:
        ragged = opened.create_dataset("y", (6,), dtype=h5py.vlen_dtype(np.int32))
        ragged[:] = [np.arange(i + 1) for i in range(6)]
        opened.create_dataset("pointers", (6,), dtype=h5py.ref_dtype)
        opened["pairs"] = np.zeros(6, dtype=[("a", "f4"), ("b", "f4")])
    for name in ("y", "pointers", "pairs"):
        refused(file, f"{name} has dtype=.*plain numbers or strings", labels=name)


def test_files_of_other_layouts_are_recognised(h5, h5ad, tmp_path, X):
    raw = read_matrix(h5ad().rename(tmp_path / "renamed.h5"), labels="kind")
    assert raw.features == GENES
    assert raw.labels.tolist() == LABELS
    refused(h5(X=None, obs=[1], var=[2]), r"arrays=\[genes, obs, var\] should include 'X'")
    arrays = {"X": None, "genes": None, "matrix/indptr": [0], "matrix/data": [1]}
    refused(h5(**arrays), r"arrays=\[matrix/data, matrix/indptr\] should include 'X'")


def test_nothing_outside_the_file_is_read(h5, h5ad, tmp_path, X):
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
        opened.create_dataset(
            name, X.shape, X.dtype, external=[(str(tmp_path / "values"), 0, X.nbytes)]
        )

    for write, layer in ((h5, {}), (h5ad, {"layers": {"raw": X}})):
        for add, message in (
            (add_link, r"is a link to the file '.*other.h5'"),
            (add_view, "the values of .* are in other files"),
            (add_raw, "the values of .* are in other files"),
        ):
            file = write(**layer)
            name = "layers/more" if layer else "X"
            with h5py.File(file, "r+") as opened:
                if name in opened:
                    del opened[name]
                add(opened, name)
            refused(file, message)


def test_a_link_inside_the_file_is_followed_and_a_broken_one_refused(h5, X):
    file = h5(X=None, values=X)
    with h5py.File(file, "r+") as opened:
        opened["X"] = h5py.SoftLink("/values")
    np.testing.assert_array_equal(read_matrix(file).X.collect(), X)
    with h5py.File(file, "r+") as opened:
        del opened["values"]
    refused(file, "should include 'X'")


def test_a_matrix_that_was_never_written_is_refused(h5):
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
        np.testing.assert_array_equal(read_matrix(file).X.collect(), X)


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
    np.testing.assert_array_equal(read_matrix(file).X.collect(), X)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_truncated_files_are_refused(h5, share):
    file = h5(X=np.random.default_rng(0).normal(size=(600, 4)))
    content = file.read_bytes()
    file.write_bytes(content[: int(share * len(content))])
    refused(file, "not a complete .h5 file")
