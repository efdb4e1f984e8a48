"""Path, reference and fit files: what is written is read back, and no changed byte is read."""

import dataclasses

import h5py
import numpy as np
import pytest
from sound_files import ATTRIBUTES

from sparsekm.cluster.sparsity_path import ChosenFit, SparsityPath
from sparsekm.io.hdf5_format import DamagedFileError
from sparsekm.io.store import (
    REFERENCES,
    read_fit,
    read_path,
    read_references,
    write_fit,
    write_path,
)


@pytest.fixture
def path(seed):
    rng = np.random.default_rng(seed)
    weights = rng.random((3, 5))
    weights[0, [0, 2, 3]] = 0
    weights[1] = 0
    return SparsityPath(
        sparsities=np.array([2.0, 0.5, 5.0]),
        objectives=rng.random(3),
        first_objectives=rng.random(3),
        labels=np.array([[0, 1, 1, 0], [1, 1, 0, 0], [0, 0, 0, 1]], dtype=np.int32),
        weights=weights,
        scores=rng.random((3, 5)),
        n_iter=np.array([4, 1, 9]),
        search="global",
    )


@pytest.fixture
def path_file(tmp_path, path):
    write_path(tmp_path / "path.h5", path, ATTRIBUTES)
    return tmp_path / "path.h5"


@pytest.fixture
def fit(path):
    shares = {"reproducibility": np.array([0.5, np.nan, 1.0, 0.0])}
    shares["selection_frequency"] = np.arange(5) / 4
    about = {**ATTRIBUTES, "rule": "max", "limited": True}
    known = {"centers": np.ones((2, 5)), "attributes": about, "conclusion": "Both are separated."}
    known |= {"has_clusters": True, "signature": np.array([1, 4]), "signature_agreement": 0.75}
    known["cluster_signatures"] = [np.array([0]), None]
    # What a file does not hold.
    known |= {"n_iter": 0}
    return ChosenFit.of(path.fit_at(2), **shares, **known)


NONE = np.zeros(4, dtype=np.int32)
FITS = {
    "whole": {},
    "plain": dict.fromkeys(("reproducibility", "signature", "cluster_signatures")),
    "with fewer clusters than asked for": {
        "labels": NONE,
        "centers": np.ones((1, 5)),
        "cluster_signatures": [np.array([3, 4])],
        "left_out": NONE - 1,
    },
}


def write_batch(file, indices, sparsities=(1.0, 2.0)):
    values = np.arange(len(indices) * len(sparsities), dtype=float) + 1
    arrays = {"indices": indices, "sparsities": sparsities}
    arrays["objectives"] = values.reshape(len(indices), -1)
    REFERENCES.write(file, arrays, {**ATTRIBUTES, "reference": "permutation"})


def assert_same(one, other):
    for field in dataclasses.fields(one):
        np.testing.assert_equal(getattr(one, field.name), getattr(other, field.name))


def test_a_path_is_read_back_as_it_was(path_file, path):
    read, about = read_path(path_file)
    assert_same(read, path)
    assert read.labels.dtype == np.int32
    # The search that ran, not the one that was asked for.
    assert about == {**ATTRIBUTES, "search": "global"}
    write_path(path_file, path, ATTRIBUTES, np.array([0, 3, 4, 9]))
    with h5py.File(path_file) as opened:
        assert opened["samples"][()].tolist() == [0, 3, 4, 9]
    assert_same(read_path(path_file)[0], path)


def test_plain_h5py_reads_the_files_and_equal_paths_give_equal_bytes(path_file, path):
    with h5py.File(path_file) as opened:
        np.testing.assert_array_equal(opened["weights"], path.weights)
        assert opened.attrs["method"] == b"l0"
        assert opened.attrs["seed"] == 3
    again = path_file.with_name("again.h5")
    write_path(again, path, ATTRIBUTES)
    assert again.read_bytes() == path_file.read_bytes()


@pytest.mark.parametrize("change", FITS)
def test_a_fit_is_read_back_as_it_was(tmp_path, fit, change):
    fit = dataclasses.replace(fit, **FITS[change])
    write_fit(tmp_path / "tuned.h5", fit)
    assert_same(read_fit(tmp_path / "tuned.h5"), fit)


def test_batches_of_references_are_joined_in_the_order_of_their_numbers(tmp_path):
    write_batch(tmp_path / "1.h5", [2, 3])
    write_batch(tmp_path / "0.h5", [0, 1])
    objectives, about = read_references([tmp_path / "1.h5", tmp_path / "0.h5"], np.array([1.0, 2]))
    assert objectives.tolist() == [[1, 2], [3, 4], [1, 2], [3, 4]]
    assert about["reference"] == "permutation"


def test_batches_that_do_not_belong_together_are_refused(tmp_path):
    write_batch(tmp_path / "0.h5", [0, 1])
    write_batch(tmp_path / "twice.h5", [1])
    write_batch(tmp_path / "other.h5", [2], (1.0, 3.0))
    sparsities = np.array([1.0, 2.0])
    with pytest.raises(DamagedFileError, match="two batches contain the same"):
        read_references([tmp_path / "0.h5", tmp_path / "twice.h5"], sparsities)
    with pytest.raises(DamagedFileError, match=r"other.h5: sparsity=\[1. 3.\] should be \[1. 2.\]"):
        read_references([tmp_path / "0.h5", tmp_path / "other.h5"], sparsities)


@pytest.mark.parametrize("kind", ["path", "fit", "references"])
def test_a_changed_byte_is_never_read(tmp_path, path, fit, kind, seed):
    file = tmp_path / "file.h5"
    if kind == "references":
        write_batch(file, range(20))
    else:
        write_path(file, path, ATTRIBUTES) if kind == "path" else write_fit(file, fit)
    read = {
        "path": lambda: read_path(file),
        "fit": lambda: vars(read_fit(file)),
        "references": lambda: read_references([file], np.array([1.0, 2.0])),
    }[kind]
    expected, content = repr(read()), file.read_bytes()
    rng = np.random.default_rng(seed)
    refused = 0
    for at in rng.integers(len(content), size=200):
        damaged = bytearray(content)
        damaged[at] ^= int(rng.integers(1, 256))
        file.write_bytes(damaged)
        try:
            found = repr(read())
        except DamagedFileError:
            refused += 1
        else:
            # The byte was one that HDF5 does not use.
            assert found == expected
    assert refused > 20


@pytest.mark.parametrize("keep", [0, 100, 0.5, -1])
def test_a_truncated_or_missing_file_gives_one_message_with_file_and_rule(path_file, keep):
    content = path_file.read_bytes()
    path_file.write_bytes(content[: int(keep * len(content)) if isinstance(keep, float) else keep])
    with pytest.raises(DamagedFileError) as error:
        read_path(path_file)
    message = str(error.value)
    assert message.startswith(str(path_file))
    assert "rule cluster_path" in message
    assert "\n" not in message
    path_file.unlink()
    with pytest.raises(FileNotFoundError, match=r"path.h5: no such file; rule cluster_path"):
        read_path(path_file)


def replace(name, value, **options):
    def change(opened):
        del opened[name]
        value_of = np.asarray(value)
        options.setdefault("chunks", value_of.shape)
        opened.create_dataset(name, data=value_of, **{"fletcher32": True, **options})

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda opened: opened.pop("scores"), "'scores' is missing"),
        (replace("objectives", np.ones(2)), r"objectives: shape=\(2,\) should be \(3,\)"),
        (replace("objectives", [1.0, np.nan, 2.0]), "objectives: contains NaN"),
        (replace("labels", np.ones((3, 4))), "labels should be an array of int32"),
        # -1 is a sample that was trimmed.
        (replace("labels", np.full((3, 4), 2, np.int32)), r"labels should lie in \[-1, 2\)"),
        (replace("weights", np.ones((3, 5)), fletcher32=False), "weights: .* no checksum"),
        (replace("weights", np.ones((3, 5)), chunks=(1, 5)), "weights: values are missing"),
        (lambda opened: opened.attrs.__delitem__("seed"), r"attributes \['seed'\] are missing"),
        (lambda opened: opened.attrs.__setitem__("seed", -1), "seed=-1 is not valid"),
        (lambda opened: opened.attrs.__setitem__("kind", "fit"), "kind='fit' should be 'path'"),
        (lambda opened: opened.attrs.__setitem__("versions", "{"), "versions='{' is not valid"),
    ],
)
def test_contents_that_no_writer_leaves_are_refused(path_file, change, message):
    with h5py.File(path_file, "r+") as opened:
        change(opened)
    with pytest.raises(DamagedFileError, match=message):
        read_path(path_file)


def test_shares_lie_between_none_and_all(tmp_path, fit):
    file = tmp_path / "tuned.h5"
    for name in ("reproducibility", "selection_frequency"):
        write_fit(file, dataclasses.replace(fit, **{name: getattr(fit, name) + 1}))
        with pytest.raises(DamagedFileError, match=rf"{name} should lie in \[0, 1\]"):
            read_fit(file)


def test_a_missing_attribute_is_refused_before_anything_is_written(tmp_path, path):
    attributes = {name: value for name, value in ATTRIBUTES.items() if name != "seed"}
    with pytest.raises(ValueError, match=r"should include \['seed'\] too"):
        write_path(tmp_path / "path.h5", path, attributes)
    assert list(tmp_path.iterdir()) == []
