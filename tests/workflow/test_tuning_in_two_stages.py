"""Tuning by the gap in two stages in the real workflow: against GapSearch on the same data."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from sparsekm import GapSearch, L0KMeans, L1KMeans
from sparsekm.io.normalised_file import read_normalised
from sparsekm.io.store import read_fit, read_path
from sparsekm.io.tables import GAP
from sparsekm.tuning import gap_search

# The run is made once in each process.
pytestmark = [pytest.mark.release, pytest.mark.xdist_group("two stages")]

METHODS = {"l0": L0KMeans, "l1": L1KMeans}
GRIDS = {"l0": [2, 7, 12], "l1": [1.2, 2, 3]}
SETTINGS = f"""
atlas: null
matrices: {{cells: null}}
methods: [l0, l1]
tuning: {{rule: max, n_refined: 4, sparsities: {{l0: {GRIDS["l0"]}, l1: {GRIDS["l1"]}}}}}
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory, project_root, new_project):
    project = new_project(tmp_path_factory.mktemp("stages"), project_root)
    project.configure(SETTINGS)
    targets = [f"results/tumours/{method}/chosen.h5" for method in METHODS]
    run = project.snakemake("--cores", "1", "--", *targets)
    assert run.returncode == 0, run.stdout
    return project


@pytest.mark.parametrize("method", METHODS)
def test_both_stages_give_what_gap_search_gives(project, method, monkeypatch):
    folder = project.root / "results" / "tumours" / method
    gap, fit = GAP.read(folder / "gap.csv"), read_fit(folder / "chosen.h5")
    about = read_path(folder / "path.h5")[1]["parameters"]
    data = read_normalised(project.root / "data" / "tumours" / "normalised.h5ad")
    given = {"n_references": 2, "n_refined": 4, "random_state": about["random_state"]}
    # With the seed that the workflow derives from the name of the data set.
    seeded = SimpleNamespace(generate_state=lambda n: [about["random_state"]])
    monkeypatch.setattr(gap_search, "seed_sequence", lambda seed: seeded)
    search = GapSearch(METHODS[method](**about), sparsities=GRIDS[method], **given)
    search.fit(data.X)
    assert len(gap) > len(GRIDS[method])
    pd.testing.assert_frame_equal(gap.drop(columns="chosen"), search.results_, check_exact=True)
    assert int(gap["chosen"].argmax()) == search.best_index_
    assert fit.sparsity == search.best_sparsity_
    np.testing.assert_array_equal(fit.labels, search.labels_)
    np.testing.assert_array_equal(fit.weights, search.feature_weights_)
