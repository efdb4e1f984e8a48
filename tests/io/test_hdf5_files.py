"""Path, reference and fit files: what is written is read back, and damage is never read."""

import dataclasses

import h5py
import numpy as np
import pytest

from sparsekm.io.batch_files import References
from sparsekm.io.fit_files import pick_fit, read_fit, read_path, read_samples, write_fit, write_path
from sparsekm.io.hdf5_format import DamagedFileError


@pytest.fixture
def path_file(tmp_path, path, attributes):
    write_path(tmp_path / "path.h5", path, attributes)
    return tmp_path / "path.h5"


def references(attributes, indices, sparsities=(1.0, 2.0)):
    values = np.arange(len(indices) * len(sparsities), dtype=float) + 1
    return References(
        np.array(indices),
        np.array(sparsities),
        values.reshape(len(indices), -1),
        {**attributes, "reference": "permutation"},
    )


def test_a_path_is_read_back_as_it_was(path_file, path, attributes):
    read, about = read_path(path_file)
    for field in dataclasses.fields(path):
        np.testing.assert_array_equal(getattr(read, field.name), getattr(path, field.name))
    assert read.labels.dtype == np.int32
    # The search that ran, not the one that was asked for.
    assert about == {**attributes, "search": "global"}


def test_only_weights_that_are_not_zero_take_space(path_file, path):
    with h5py.File(path_file) as opened:
        assert opened["selected/indptr"][:].tolist() == [0, 2, 2, 7]
        assert opened["selected/indices"].shape == (np.count_nonzero(path.weights),)


def test_equal_paths_give_equal_bytes(path_file, path, attributes):
    again = path_file.with_name("again.h5")
    write_path(again, path, attributes)
    assert again.read_bytes() == path_file.read_bytes()


def test_a_fit_is_read_back_as_it_was(tmp_path, path, attributes):
    fit = pick_fit(path, 2, np.ones((2, 5)), {**attributes, "rule": "max"})
    write_fit(tmp_path / "tuned.h5", fit)
    read = read_fit(tmp_path / "tuned.h5")
    assert (read.sparsity, read.objective) == (5.0, path.objectives[2])
    assert read.attributes == fit.attributes
    for name in ("labels", "scores", "weights", "centers"):
        np.testing.assert_array_equal(getattr(read, name), getattr(fit, name))


def test_shares_of_the_fits_of_folds_are_read_back_and_lie_between_none_and_all(
    tmp_path, path, attributes
):
    file = tmp_path / "tuned.h5"
    fit = pick_fit(path, 2, np.ones((2, 5)), attributes)
    write_fit(file, fit)
    assert read_fit(file).reproducibility is None
    assert read_fit(file).selection_frequency is None
    shares = {"reproducibility": np.full(4, 0.25), "selection_frequency": np.arange(5) / 4}
    for name, values in shares.items():
        write_fit(file, dataclasses.replace(fit, **shares))
        np.testing.assert_array_equal(getattr(read_fit(file), name), values)
        write_fit(file, dataclasses.replace(fit, **{**shares, name: values + 1}))
        with pytest.raises(DamagedFileError, match=rf"{name} should lie in \[0, 1\]"):
            read_fit(file)
        write_fit(file, dataclasses.replace(fit, **{**shares, name: values[1:]}))
        with pytest.raises(DamagedFileError, match=f"{name}: shape="):
            read_fit(file)


def test_batches_of_references_are_joined_in_the_order_of_their_numbers(tmp_path, attributes):
    references(attributes, [2, 3]).write(tmp_path / "1.h5")
    references(attributes, [0, 1]).write(tmp_path / "0.h5")
    joined = References.read([tmp_path / "1.h5", tmp_path / "0.h5"])
    assert joined.indices.tolist() == [0, 1, 2, 3]
    assert joined.objectives.tolist() == [[1, 2], [3, 4], [1, 2], [3, 4]]
    assert joined.attributes["reference"] == "permutation"


def test_batches_that_do_not_belong_together_are_refused(tmp_path, attributes):
    references(attributes, [0, 1]).write(tmp_path / "0.h5")
    references(attributes, [1]).write(tmp_path / "twice.h5")
    references(attributes, [2], (1.0, 3.0)).write(tmp_path / "other.h5")
    with pytest.raises(DamagedFileError, match="in two batches"):
        References.read([tmp_path / "0.h5", tmp_path / "twice.h5"])
    with pytest.raises(DamagedFileError, match=r"other.h5: sparsity=.* should be as in .*0.h5"):
        References.read([tmp_path / "0.h5", tmp_path / "other.h5"])
    with pytest.raises(DamagedFileError, match=r"should be the path's"):
        References.read([tmp_path / "0.h5"]).check_grid("0.h5", np.array([1.0, 4.0]))


@pytest.mark.parametrize("keep", [0, 1, 100, 2000, 0.5, 0.9, -1])
def test_a_truncated_file_gives_one_message_with_file_and_rule(path_file, keep):
    content = path_file.read_bytes()
    path_file.write_bytes(content[: int(keep * len(content)) if isinstance(keep, float) else keep])
    with pytest.raises(DamagedFileError) as error:
        read_path(path_file)
    message = str(error.value)
    assert message.startswith(str(path_file))
    assert "rule cluster_path" in message
    assert "\n" not in message


def test_a_missing_file_names_the_rule_that_writes_it(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"path.h5: no such file; rule cluster_path"):
        read_path(tmp_path / "path.h5")


def replace(name, value):
    def change(opened):
        del opened[name]
        opened[name] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda opened: opened.pop("scores"), "'scores' is missing"),
        (lambda opened: opened.pop("selected"), "'selected' is missing"),
        (replace("objective", np.ones(2)), r"objective: shape=\(2,\) should be \(3,\)"),
        (replace("objective", [1.0, np.nan, 2.0]), "objective: contains NaN"),
        (replace("labels", np.ones((3, 4))), "labels: dtype=float64 should be integer"),
        (replace("labels", np.full((3, 4), 2)), r"labels should lie in \[0, 2\)"),
        (replace("labels", np.full((3, 4), -1)), r"labels should lie in \[0, 2\)"),
        (replace("selected/indices", np.full(7, 5)), r"indices should lie in \[0, 5\)"),
        (replace("selected/indptr", [0, 3, 2, 7]), "indptr does not divide"),
        (replace("sparsity", np.array([], float)), "sparsity: size=0 should be >= 1"),
        (lambda opened: opened.attrs.__delitem__("seed"), r"attributes \['seed'\] are missing"),
        (lambda opened: opened.attrs.__setitem__("kind", "fit"), "kind='fit' should be 'path'"),
        (lambda opened: opened.attrs.__setitem__("versions", "{"), "'versions' is not JSON"),
    ],
)
def test_contents_that_no_writer_leaves_are_refused(path_file, change, message):
    with h5py.File(path_file, "r+") as opened:
        change(opened)
    with pytest.raises(DamagedFileError, match=message):
        read_path(path_file)


def test_an_array_that_was_never_written_is_not_read(path_file):
    with h5py.File(path_file, "r+") as opened:
        del opened["scores"]
        opened.create_dataset("scores", shape=(3, 5), dtype="f8", chunks=(1, 5))
    with pytest.raises(DamagedFileError, match="scores: values are missing"):
        read_path(path_file)


def test_a_missing_attribute_is_refused_before_anything_is_written(tmp_path, path, attributes):
    del attributes["seed"]
    with pytest.raises(ValueError, match=r"should include \['seed'\] too"):
        write_path(tmp_path / "path.h5", path, attributes)
    assert list(tmp_path.iterdir()) == []


def test_a_path_of_some_samples_says_which(tmp_path, path_file, path, attributes):
    assert read_samples(path_file) is None
    file = tmp_path / "drawn.h5"
    write_path(file, path, attributes, np.array([0, 3, 4, 9]))
    assert read_samples(file).tolist() == [0, 3, 4, 9]
    read, _ = read_path(file)
    np.testing.assert_array_equal(read.labels, path.labels)


def test_the_reproducibility_of_a_sample_that_was_not_drawn_is_unknown(tmp_path, path, attributes):
    shares, fit = (
        np.array([0.5, np.nan, 1.0, np.nan]),
        pick_fit(path, 2, np.ones((2, 5)), attributes),
    )
    write_fit(tmp_path / "tuned.h5", dataclasses.replace(fit, reproducibility=shares))
    np.testing.assert_array_equal(read_fit(tmp_path / "tuned.h5").reproducibility, shares)


def test_a_signature_is_read_back_or_is_none(tmp_path, path, attributes):
    fit = pick_fit(path, 2, np.ones((2, 5)), attributes)
    for signature in (None, np.array([1, 4]), np.array([3])):
        write_fit(tmp_path / "tuned.h5", dataclasses.replace(fit, signature=signature))
        np.testing.assert_array_equal(read_fit(tmp_path / "tuned.h5").signature, signature)
    for wrong, rule in ((np.array([0.5]), "integer"), (np.array([[1, 2]]), "signature: shape")):
        write_fit(tmp_path / "tuned.h5", dataclasses.replace(fit, signature=np.array([1])))
        with h5py.File(tmp_path / "tuned.h5", "r+") as opened:
            replace("signature", wrong)(opened)
        with pytest.raises(DamagedFileError, match=rule):
            read_fit(tmp_path / "tuned.h5")
