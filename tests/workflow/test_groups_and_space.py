"""Groups and positions from a user's file, through the real workflow to the report."""

import anndata
import numpy as np

from sparsekm.io.fit_files import read_fit
from sparsekm.io.tables import EVIDENCE


def in_space(matrix):
    def change(configuration):
        configuration["atlas"] = None
        configuration["matrices"] = matrix
        configuration["methods"] = ["l0"]
        configuration["tuning"]["reference"] = "spatial"

    return change


def test_groups_and_positions_reach_the_test_the_references_and_the_report(fresh):
    cells = anndata.read_h5ad(fresh.root / "cells.h5ad")
    cells.obs["donor"] = [f"d{number % 6}" for number in range(24)]
    cells.obsm["spatial"] = np.argwhere(np.ones((4, 6))).astype(float)
    cells.write_h5ad(fresh.root / "cells.h5ad")
    entry = {"path": "cells.h5ad", "n_clusters": 2, "groups": "donor"}
    fresh.configure(in_space({"cells": entry}))
    run = fresh.snakemake("--cores", "1")
    assert run.returncode == 0, run.stdout
    results = fresh.root / "results"
    assert read_fit(results / "cells" / "l0" / "tuned.h5").attributes["reference"] == "spatial"
    row = EVIDENCE.read_row(results / "cells" / "l0" / "evidence.csv")
    assert "each of whole blocks (6 in all)" in row["conclusion"]
    report = (results / "report.html").read_text()
    assert "every feature permuted such that its autocorrelation in space remains" in report
    assert "Those of cells consist of whole groups of samples, as given." in report


def test_data_without_positions_have_no_references_in_space(fresh):
    entry = {"path": "tumours.csv", "labels": "kind"}
    fresh.configure(in_space({"tumours": entry}))
    run = fresh.snakemake("results/tumours/l0/gap.csv", "--cores", "1")
    assert run.returncode
    assert "tuning.reference: spatial needs positions in space, which tumours does not" in " ".join(
        run.stdout.split()
    )
