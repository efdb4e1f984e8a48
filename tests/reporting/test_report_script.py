"""The script of the report takes every file for what it is called, whatever the order."""

import runpy
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from sparsekm.reporting import report

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


class Files(dict):
    """What Snakemake hands a script: values by attribute."""

    __getattr__ = dict.__getitem__


@pytest.fixture
def main(monkeypatch):
    """The script's function, without the log and the thread limits of a job."""
    job = SimpleNamespace(job=lambda snakemake: lambda main: main)
    monkeypatch.setitem(sys.modules, "workflow_job", job)
    return runpy.run_path(SCRIPTS / "report.py", {"snakemake": None})["main"]


def test_scores_and_curves_are_those_of_their_method_in_any_order(
    main, matrix_files, monkeypatch, tmp_path
):
    given = []
    monkeypatch.setattr(report, "write_report", lambda results, *_, **__: given.extend(results))
    mixed = dict(matrix_files)
    mixed["scores"] = dict(reversed(matrix_files["scores"].items()))
    mixed["gaps"] = dict(reversed(matrix_files["gaps"].items()))
    params = {"datasets": {"toy": mixed, "again": matrix_files}, "title": "t"}
    params |= {"configuration": {}, "genes_of_interest": [], "figures": "figures"}
    job = SimpleNamespace(
        input=Files(paper=[], gene_sets=[]),
        params=Files(params),
        output=Files(report=tmp_path / "report.html"),
    )
    main(job, SimpleNamespace(counting=lambda what: None))
    assert [result.name for result in given] == ["toy", "again"]
    for result in given:
        rates = {name: method.rate("cer") for name, method in result.methods.items()}
        assert rates == {"kmeans": 0.3125, "l1": 0.0625, "l0": 0.125}
        assert result.methods["kmeans"].gap is None
        assert result.methods["l1"].gap["n_selected"].tolist() == [2, 5]
        assert result.methods["l0"].gap["n_selected"].tolist() == [2, 3]
