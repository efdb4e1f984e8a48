"""The paper's experiments through the real DAG: tables beside direct calls."""

from functools import cache

import pandas as pd
import pytest

from sparsekm.studies import METHOD_ROWS, get_setting
from sparsekm.studies.paper_runs import METRICS, run_repetition

# One process for all tests on the finished project, which is made once in each.
pytestmark = [pytest.mark.release, pytest.mark.xdist_group("simulation")]

EFFORT = {"n_init": 1, "n_sparsities": 3, "references": 2, "n_refined": 2}
ROWS = ["relevant", "kmeans", "l0_alternate"]
CELL = "experiment_3/p25"


SETTINGS = f"""
atlas: null
matrices: {{cells: null}}
methods: [kmeans]
simulation: {{experiments: [{CELL}], methods: [{", ".join(ROWS)}], variants: [l0_carried, pca_two],
    repetitions: 3, other_repetitions: 2, repeated_variants: [pca_two],
    {", ".join(f"{name}: {value}" for name, value in EFFORT.items())}}}
"""


@pytest.fixture(scope="module")
def simulated(tmp_path_factory, project_root, new_project):
    """The project after the paper's target."""
    project = new_project(tmp_path_factory.mktemp("simulated"), project_root)
    project.configure(SETTINGS)
    done = project.snakemake("--cores", "2", "paper")
    assert done.returncode == 0, done.stdout
    return project


@cache
def expected(row, replicate):
    effort = {**EFFORT, "n_references": EFFORT["references"]}
    setting = get_setting("experiment_3", "p25")
    return run_repetition(setting, METHOD_ROWS[row], effort, root=1, replicate=replicate)


@pytest.mark.parametrize("row", [*ROWS, "l0_carried", "pca_two"])
def test_the_table_of_a_job_is_what_direct_calls_give(simulated, row):
    file = simulated.root / "results" / "simulation" / CELL / f"{row}.csv"
    table = pd.read_csv(file, float_precision="round_trip")
    # This variant judges nothing and is not said to be repeated as often.
    n = 2 if row == "l0_carried" else 3
    assert table["replicate"].tolist() == list(range(n))
    for replicate in range(n):
        found = expected(row, replicate).metrics
        line = table.loc[replicate, list(METRICS)].astype(float)
        pd.testing.assert_series_equal(
            line, pd.Series(found, METRICS, name=replicate), check_exact=True
        )


def test_nothing_is_left_to_do(simulated):
    assert simulated.planned("paper") == set()


def test_a_run_of_a_table_does_not_simulate_the_paper(simulated):
    planned = simulated.planned()
    assert {"normalise_matrix tumours", "report"} <= planned
    assert [job for job in planned if "simulat" in job or "theor" in job] == []


def test_more_repetitions_rerun_only_the_rows_that_have_more(simulated):
    simulated.configure(SETTINGS.replace(" repetitions: 3", " repetitions: 4"))
    try:
        planned = simulated.planned("paper")
    finally:
        simulated.configure(SETTINGS)
    rerun = {f"simulate experiment_3 p25 {row}" for row in (*ROWS, "pca_two")}
    assert planned == rerun | {"summarise_simulation", "report_simulation"}
