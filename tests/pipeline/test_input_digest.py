"""The digest of a large file is taken once, and again when the file changes."""

import os

import pytest

from sparsekm.pipeline import input_digest as module
from sparsekm.pipeline.input_digest import input_digest
from sparsekm.pipeline.provenance import file_digest


@pytest.fixture
def taken(monkeypatch):
    """The files of which digests are taken; every file is large."""
    taken = []
    monkeypatch.setattr(module, "_LARGE", 0)
    monkeypatch.setattr(module, "file_digest", lambda file: taken.append(file) or file_digest(file))
    return taken


@pytest.fixture(params=["a file", "a folder"])
def file(request, tmp_path):
    file = tmp_path / "matrix"
    if request.param == "a file":
        file.write_bytes(b"abc")
        return file, file
    part = file / "X" / "0.0"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"abc")
    return file, part


def test_a_large_file_is_read_once_until_it_changes(file, taken, tmp_path):
    (file, part), kept = file, tmp_path / "kept"
    digest = input_digest(file, kept)
    assert input_digest(file, kept) == digest == file_digest(file)
    assert taken == [file]
    part.write_bytes(b"abcd")
    assert input_digest(file, kept) == file_digest(file) != digest
    assert taken == [file, file]


def test_another_file_of_the_same_size_with_the_same_time_stamp_is_noticed(file, taken, tmp_path):
    (file, part), kept = file, tmp_path / "kept"
    before, stamps = input_digest(file, kept), part.stat()
    other = tmp_path / "other"
    other.write_bytes(b"xyz")
    os.utime(other, ns=(stamps.st_atime_ns, stamps.st_mtime_ns))
    other.replace(part)
    assert input_digest(file, kept) == file_digest(file) != before
    assert len(taken) == 2


@pytest.mark.parametrize("note", [b"\xff\xfe", b"0" * 64 + b" " + b"1" * 64])
def test_a_damaged_note_is_not_believed(tmp_path, taken, note):
    file, kept = tmp_path / "matrix", tmp_path / "kept"
    file.write_bytes(b"abc")
    digest = input_digest(file, kept)
    for written in kept.iterdir():
        written.write_bytes(note)
    assert input_digest(file, kept) == digest
    assert input_digest(file, kept) == digest
    assert len(taken) == 2


def test_where_no_note_can_be_kept_the_digest_is_taken_again(tmp_path, taken):
    file, kept = tmp_path / "matrix", tmp_path / "kept"
    file.write_bytes(b"abc")
    kept.write_text("not a folder")
    assert input_digest(file, kept) == input_digest(file, kept) == file_digest(file)
    assert len(taken) == 2


def test_of_a_small_file_nothing_is_kept(tmp_path):
    file, kept = tmp_path / "matrix", tmp_path / "kept"
    file.write_bytes(b"abc")
    assert input_digest(file, kept) == file_digest(file)
    assert not kept.exists()
