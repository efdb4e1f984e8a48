"""Batches of resamplings: written, read back as one, and refused where they hold what cannot be."""

import h5py
import numpy as np
import pytest

from sparsekm.io.hdf5_format import DamagedFileError
from sparsekm.io.resampling_file import Resamplings
from sparsekm.tuning.resampled_paths import FAMILIES, ResampledPaths

F, N = len(FAMILIES), 7


def resampled(index, m=2, n=N, p=11):
    """Number 0 leaves samples out, number 1 features, and so on."""
    rng = np.random.default_rng(index)
    drawn = np.ones(p, bool) if index % 2 == 0 else rng.permutation(p) < p // 2
    separation = rng.random((F, m)) + 1 if index % 2 == 0 else np.full((F, m), np.nan)
    labels = rng.integers(0, 2, (F, m, n)).astype(np.int16)
    return ResampledPaths(labels, (rng.random((F, m, p)) < 0.5) & drawn, drawn, separation)


def batch(attributes, indices, sparsities=(2.0, 5.0), **sizes):
    paths = [resampled(index, len(sparsities), **sizes) for index in indices]
    return Resamplings(np.array(indices), np.array(sparsities), paths, attributes)


def test_batches_are_read_as_one_in_the_order_of_their_numbers(tmp_path, attributes):
    files = [tmp_path / "b.h5", tmp_path / "a.h5"]
    batch(attributes, [2, 3]).write(files[0])
    batch(attributes, [0, 1, 4]).write(files[1])
    found = Resamplings.read(files)
    assert found.indices.tolist() == [0, 1, 2, 3, 4]
    assert found.attributes == attributes
    for index, read in enumerate(found.paths):
        for name, values in vars(resampled(index)).items():
            np.testing.assert_array_equal(getattr(read, name), values)
            assert getattr(read, name).dtype == values.dtype
    found.check_problem(files[0], (N, 11), np.array([2.0, 5.0]))
    with pytest.raises(DamagedFileError, match=r"b.h5: sparsity=.* should be the problem's"):
        found.check_problem(files[0], (N, 11), np.array([2.0, 6.0]))
    with pytest.raises(
        DamagedFileError, match=r"=\(7, 11\) should be \(8, 11\), the shape of the data"
    ):
        found.check_problem(files[0], (8, 11), np.array([2.0, 5.0]))


@pytest.mark.parametrize(
    ("indices", "other", "message"),
    [
        ([1, 2], {}, "is in two batches"),
        ([2], {"sparsities": (2.0, 6.0)}, "should be as in"),
        ([2], {"n": 8}, "n_samples=8 should be 7, as in"),
        ([2], {"p": 12}, "n_features=12 should be 11, as in"),
    ],
)
def test_batches_that_do_not_fit_together_are_refused(
    tmp_path, attributes, indices, other, message
):
    files = [tmp_path / "a.h5", tmp_path / "b.h5"]
    batch(attributes, [0, 1]).write(files[0])
    batch(attributes, indices, **other).write(files[1])
    with pytest.raises(DamagedFileError, match=message):
        Resamplings.read(files)


def at(name, place, value):
    def change(opened):
        opened[name][place] = value

    return change


def another(name, change):
    def put(opened):
        values = change(opened[name][()])
        del opened[name]
        opened[name] = values

    return put


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (at("labels", (0, 0, 0, 0), 2), r"labels should lie in \[0, 2\)"),
        (at("labels", (0, 0, 0, 0), -1), r"labels should lie in \[0, 2\)"),
        (at("drawn", (0, 0), 2), r"drawn should lie in \[0, 1\]"),
        (at("kept", 1, 255), "kept should be among those drawn"),
        (at("separation", (0, 0, 0), np.inf), "separation should be >= 0 and finite"),
        (at("separation", (0, 0, 0), -1), "separation should be >= 0 and finite"),
        (another("kept", lambda kept: kept[..., :1]), "kept: shape="),
        (another("labels", lambda labels: labels[:, :1]), "labels: shape="),
        (another("labels", lambda labels: labels[..., :0]), "labels: size=0 should be >= 1"),
        (
            another("labels", lambda labels: labels + np.int32(2**15)),
            "labels: values should fit int16",
        ),
        (another("drawn", lambda drawn: drawn + 0.5), "drawn: dtype=float64 should be integer"),
        (lambda opened: opened.pop("separation"), "array 'separation' is missing"),
    ],
)
def test_what_its_writer_never_writes_is_refused(tmp_path, attributes, change, message):
    file = tmp_path / "0.h5"
    batch(attributes, [0, 1]).write(file)
    with h5py.File(file, "r+") as opened:
        change(opened)
    with pytest.raises(DamagedFileError, match=message) as error:
        Resamplings.read([file])
    assert "rule resample_path" in str(error.value)
