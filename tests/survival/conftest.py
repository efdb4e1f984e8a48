"""One undisturbed run for the tests that disturb others."""

import pytest

# An age, a matrix large enough for threads of the BLAS, and a batch that is not full.
SETTINGS = """
matrices:
  tumours: null
  cells: null
  drawn: {draw: {experiment: experiment_2, n_features: 300, mu: 0.7}}
methods: [kmeans, l0, sparse]
tuning: {references: 3, references_per_job: 2}
"""


@pytest.fixture(scope="session")
def new_run(tmp_path_factory, project_root, new_project):
    """Give the function that makes a project for these tests."""

    def make(name="project"):
        project = new_project(tmp_path_factory.mktemp(name), project_root)
        project.configure(SETTINGS)
        return project

    return make


@pytest.fixture(scope="session")
def undisturbed(new_run):
    """The project after one run that nothing disturbed."""
    project = new_run("undisturbed")
    done = project.snakemake("--cores", "2")
    assert done.returncode == 0, done.stdout
    return project
