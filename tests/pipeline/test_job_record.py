"""Jobs record what they make, so that all else is known to be somebody else's."""

from pathlib import Path

import pytest

from sparsekm.pipeline.job_record import record_files, recorded_files, replace_recorded


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
