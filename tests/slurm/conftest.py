"""The small cluster, and the small project of the workflow's tests to run on it."""

import tempfile
from pathlib import Path

import pytest
from artifact_content import contents
from small_cluster import CannotRunError, SmallCluster, install

# Two jobs of references that can run side by side.
SMALL = """
matrices: {cells: null}
methods: [kmeans, l0, sparse]
tuning: {references: 6}
"""


@pytest.fixture(scope="session")
def cluster():
    """Start three nodes; skip where that cannot be."""
    try:
        install()
    except CannotRunError as reason:
        pytest.skip(f"no Slurm: {reason}")
    folder = Path(tempfile.mkdtemp(prefix="slurm-"))
    folder.chmod(0o755)
    cluster = SmallCluster(folder)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture(scope="session")
def undisturbed(new_project):
    project = new_project(SMALL)
    project.run("--cores", "2")
    return contents(project.root)


@pytest.fixture
def project(new_project):
    return new_project(SMALL)
