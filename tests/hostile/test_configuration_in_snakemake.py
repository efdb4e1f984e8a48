"""Configurations that are refused by themselves are refused by a run, in a line and at once."""

import pytest
from documented_inputs import INPUTS
from small_project import make_project

pytestmark = pytest.mark.xdist_group("hostile")


@pytest.fixture(scope="module")
def project(tmp_path_factory, project_root):
    folder = tmp_path_factory.mktemp("hostile") / "project"
    folder.mkdir()
    return make_project(folder, project_root)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        (
            "a configuration whose aliases multiply to 10^9 values",
            "\nconfiguration: values=1234567900 should be <= 100000.",
        ),
        ("a data set called ../../escaped", "\nmatrices: '../../escaped' should match ^[A-Za-z0"),
    ],
)
def test_snakemake_says_what_the_checks_say(project, name, line):
    # This only writes the configuration; the run reads it.
    INPUTS[name](None, project.root)
    done = project.snakemake("--cores", "1", "--dry-run")
    assert done.returncode != 0
    assert line in done.stdout
    assert "Traceback" not in done.stdout
    assert len(done.stdout) < 5000
    assert not list(project.root.parent.glob("**/escaped*"))
