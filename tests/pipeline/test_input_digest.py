"""The digest of a large file is taken once, and again when the file changes."""

from sparsekm.pipeline import input_digest as module
from sparsekm.pipeline.input_digest import input_digest
from sparsekm.pipeline.provenance import file_digest


def test_a_large_file_is_read_once_until_it_changes(tmp_path, monkeypatch):
    file, kept = tmp_path / "large", tmp_path / "kept"
    file.write_bytes(b"abc")
    assert input_digest(file, kept) == file_digest(file)
    assert not kept.exists()
    monkeypatch.setattr(module, "_LARGE", 3)
    digest = input_digest(file, kept)
    assert digest == file_digest(file)
    taken = []
    monkeypatch.setattr(module, "file_digest", lambda file: taken.append(file) or file_digest(file))
    assert input_digest(file, kept) == digest
    assert taken == []
    file.write_bytes(b"abcd")
    assert input_digest(file, kept) == file_digest(file) != digest
    # A note cut short is no digest.
    for note in kept.iterdir():
        note.write_text("0")
    assert input_digest(file, kept) == file_digest(file)
    assert len(taken) == 2
