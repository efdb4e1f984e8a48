"""Tuning by the gap in two stages in the real workflow: against GapSearch on the same data."""

import numpy as np
import pandas as pd
import pytest

from sparsekm import GapSearch, L0KMeans, L1KMeans
from sparsekm.io.normalised_file import read_normalised
from sparsekm.io.store import read_fit, read_path
from sparsekm.io.tables import GAP

# The runs are made once in each process.
pytestmark = [pytest.mark.release, pytest.mark.xdist_group("two stages")]

METHODS = {"l0": L0KMeans, "l1": L1KMeans}
GRIDS = {"l0": [2, 7, 12], "l1": [1.2, 2, 3]}
REFINED = 4
FILES = [
    f"results/tumours/{method}/{name}"
    for method in METHODS
    for name in ("path.h5", "references/0.h5", "gap.csv", "chosen.h5")
]


class SeededGapSearch(GapSearch):
    """With the seed that the workflow derives from the name of the data set."""

    def _prepare(self, features):
        estimator, sparsities, _ = super()._prepare(features)
        seed = self.random_state
        return estimator.set_params(random_state=seed), sparsities, seed


def in_stages(n_refined):
    def change(configuration):
        configuration["atlas"] = None
        configuration["matrices"] = {"tumours": configuration["matrices"]["tumours"]}
        configuration["methods"] = list(METHODS)
        configuration["tuning"].update(
            sparsities=GRIDS, references=2, rule="max", n_refined=n_refined
        )

    return change


def read_files(project):
    return {name: (project.root / name).read_bytes() for name in FILES}


@pytest.fixture(scope="module")
def stages(tmp_path_factory, project_root, new_project):
    """The project, and its files after a run in one stage and in two."""
    project = new_project(tmp_path_factory.mktemp("stages"), project_root)
    found = []
    for n_refined in (0, REFINED):
        project.configure(in_stages(n_refined))
        targets = [file for file in FILES if file.endswith("chosen.h5")]
        run = project.snakemake("--cores", "1", "--", *targets)
        assert run.returncode == 0, run.stdout
        found.append(read_files(project))
    return project, found


@pytest.mark.parametrize("method", METHODS)
def test_both_stages_give_what_gap_search_gives(stages, method):
    project, (_, files) = stages
    folder = project.root / "results" / "tumours" / method
    (project.root / "two.csv").write_bytes(files[f"results/tumours/{method}/gap.csv"])
    (project.root / "two.h5").write_bytes(files[f"results/tumours/{method}/chosen.h5"])
    gap, fit = GAP.read(project.root / "two.csv"), read_fit(project.root / "two.h5")
    about = read_path(folder / "path.h5")[1]["parameters"]
    data = read_normalised(project.root / "data" / "tumours" / "normalised.h5ad")
    search = SeededGapSearch(
        METHODS[method](**about),
        sparsities=GRIDS[method],
        n_references=2,
        n_refined=REFINED,
        random_state=about["random_state"],
    ).fit(data.X)
    assert len(gap) > len(GRIDS[method])
    pd.testing.assert_frame_equal(gap.drop(columns="chosen"), search.results_, check_exact=True)
    assert int(gap["chosen"].argmax()) == search.best_index_
    assert fit.sparsity == search.best_sparsity_
    np.testing.assert_array_equal(fit.labels, search.labels_)
    np.testing.assert_array_equal(fit.weights, search.feature_weights_)
