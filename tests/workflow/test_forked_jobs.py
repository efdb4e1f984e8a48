"""Jobs as forks of a warm process: what a job sees, what its end means, and who starts it."""

import sys

import pandas as pd
import pytest
from snakemake_process import run_command

SNAKEFILE = """
rule all:
    input:
        "told.txt", "stopped.txt", "killed.txt"

rule tell:
    output: "told.txt"
    params: word="as it is"
    log: "logs/tell.log"
    benchmark: "told.tsv"
    script: "tell.py"

rule stop:
    output: "stopped.txt"
    script: "stop.py"

rule kill:
    output: "killed.txt"
    script: "kill.py"
"""
SCRIPTS = {
    "tell.py": """
import os, sys
from pathlib import Path
import beside
told = [snakemake.params.word, snakemake.rule, snakemake.threads, beside.WORD, Path(__file__).name]
told += [Path.cwd(), "sparsekm.tuning.consensus_fit" in sys.modules]
told += [len([*Path(f"/proc/{os.getppid()}/task").iterdir()])]
Path(snakemake.output[0]).write_text("|".join(map(str, told)))
""",
    "beside.py": "WORD = 'beside the script'",
    "stop.py": "import sys\nprint('ERROR: why', file=sys.stderr)\nsys.exit(1)",
    "kill.py": "import os\nos.kill(os.getpid(), 9)",
}
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="jobs are forked on Linux only")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of three jobs from another folder: one works, one fails, one is killed."""
    root = tmp_path_factory.mktemp("forked") / "project"
    root.mkdir()
    (root / "Snakefile").write_text(SNAKEFILE)
    for name, text in SCRIPTS.items():
        (root / name).write_text(text)
    options = ["--executor", "sparsekm", "--cores", "2", "--keep-going", "--directory", str(root)]
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(root / "Snakefile"), *options]
    done = run_command(command, root.parent)
    return root, done


def test_a_job_sees_what_snakemake_gives_it_and_finds_everything_imported_by_one_thread(run):
    root, _ = run
    expected = ["as it is", "tell", "1", "beside the script", "tell.py", str(root), "True", "1"]
    assert (root / "told.txt").read_text().split("|") == expected
    assert pd.read_csv(root / "told.tsv", sep="\t").loc[0, "s"] > 0


def test_a_job_that_fails_says_why_and_one_that_is_killed_is_named(run):
    _, done = run
    assert done.returncode == 1
    assert done.stdout.count("ERROR: why") == 1
    assert "Traceback" not in done.stdout
    assert "ERROR in kill: its process died (SIGKILL)." in done.stdout
