"""One undisturbed run for the tests that disturb others."""

import pytest
from artifact_content import contents

# An age, a matrix large enough for threads of the BLAS, and a batch that is not full.
SETTINGS = """
matrices:
  tumours: null
  cells: null
  drawn: {draw: {experiment: experiment_2, n_features: 300, mu: 0.7}}
methods: [kmeans, l0, sparse]
tuning: {references: 6}
"""


@pytest.fixture(scope="session")
def new_run(new_project):
    return lambda: new_project(SETTINGS)


@pytest.fixture(scope="session")
def undisturbed(new_run):
    """The content of what one run made that nothing disturbed."""
    project = new_run()
    project.run("--cores", "2")
    return contents(project.root)
