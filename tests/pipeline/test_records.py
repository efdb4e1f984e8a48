"""Seeds, digests and the record of what jobs make."""

import os
from pathlib import Path

import pytest

from sparsekm.pipeline import provenance as module
from sparsekm.pipeline.provenance import derive_seed, file_digest, input_digest
from sparsekm.pipeline.workflow_files import record_files, recorded_files, replace_recorded


def test_seeds_differ_with_root_and_names_and_with_nothing_else():
    seeds = [
        derive_seed(1, "a"),
        derive_seed(2, "a"),
        derive_seed(1, "b"),
        derive_seed(1, "a", 0),
        derive_seed(1, "a", 1),
        derive_seed(1, "a", "1"),
    ]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= value < 2**31 for value in seeds)


def test_the_digest_of_a_file_is_its_sha256(tmp_path):
    (tmp_path / "abc").write_bytes(b"abc")
    assert file_digest(tmp_path / "abc").startswith("ba7816bf8f01cfea414140de5dae2223")


@pytest.fixture
def taken(monkeypatch):
    """The files of which digests are taken; every file is large."""
    taken = []

    def take(file):
        # The digest of a folder takes those of what is in it.
        if not any(file != other and file.is_relative_to(other) for other in taken):
            taken.append(file)
        return file_digest(file)

    monkeypatch.setattr(module, "_LARGE", 0)
    monkeypatch.setattr(module, "file_digest", take)
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


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_job_is_recorded_with_its_log_and_its_benchmark_and_nothing_is_forgotten(here):
    log = Path("logs/cluster_path/a/l0.log")
    assert recorded_files(here) == set()
    record_files(log, ["results/a/l0/path.h5"])
    record_files(log, ["results/a/l0/other.h5"])
    record_files(Path("logs/report.log"), [Path("results/report.html")])
    assert recorded_files(here) == {
        *("results/a/l0/path.h5", "results/a/l0/other.h5", "results/report.html"),
        *("logs/cluster_path/a/l0.log", "logs/report.log"),
        *("results/benchmarks/cluster_path/a/l0.tsv", "results/benchmarks/report.tsv"),
    }


def test_of_a_folder_only_what_the_job_made_before_and_makes_no_longer_is_removed(here):
    folder, log = Path("results/figures"), Path("logs/report.log")
    folder.mkdir(parents=True)
    Path("results/report.html").touch()
    for name in ("a_gap.svg", "a_scores.svg", "mine.png"):
        (folder / name).touch()
    record_files(log, [folder / "a_gap.svg", folder / "a_scores.svg", "results/report.html"])
    replace_recorded(log, folder, [folder / "a_scores.svg", folder / "b_scores.svg"])
    assert sorted(file.name for file in folder.iterdir()) == ["a_scores.svg", "mine.png"]
    assert Path("results/report.html").exists()
    assert "results/figures/b_scores.svg" in recorded_files(here)


def test_a_negative_seed_is_refused():
    with pytest.raises(ValueError, match="seed=-1 should be >= 0"):
        derive_seed(-1, "a")
