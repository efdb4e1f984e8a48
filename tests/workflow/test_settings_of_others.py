"""Beside the Snakemake, the profiles and the workflows of others, each is left as it is."""

import ast
import re
import sys
from pathlib import Path

import pytest
import yaml
from snakemake_process import DRAWN, RUN, printed, run_command, run_snakemake, write_submit

MATRIX = "data/raw/small/matrix.npz"


def outer_imports(file):
    """List the packages that a module imports wherever it is imported."""
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module.partition(".")[0]


@pytest.mark.parametrize("kind", ["executor", "logger"])
def test_what_every_snakemake_imports_needs_only_its_public_interface(project_root, kind):
    found = {*outer_imports(project_root / f"src/snakemake_{kind}_plugin_sparsekm/__init__.py")}
    others = found - {*sys.stdlib_module_names}
    assert others == {f"snakemake_interface_{kind}_plugins"}


def test_the_executor_declares_what_the_local_one_does():
    from snakemake.executors import local

    from snakemake_executor_plugin_sparsekm import common_settings

    assert common_settings == local.common_settings


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with a configuration, to run in."""
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "config.yaml").write_text(yaml.safe_dump(DRAWN))
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def site(tmp_path, rules_text):
    """A profile of a site that submits jobs, and the file in which each submission is a line."""
    noted, profile = tmp_path / "noted", tmp_path / "site"
    profile.mkdir()
    submit = tmp_path / "submit"
    write_submit(submit, noted)
    settings = {"executor": "cluster-generic", "jobs": 2, "latency-wait": 20}
    settings["seconds-between-status-checks"] = 1
    settings["cluster-generic-submit-cmd"] = str(submit)
    # One submission for all jobs of a run.
    settings["groups"] = dict.fromkeys(re.findall(r"^rule (\w+):", rules_text, re.M), "all")
    (profile / "config.yaml").write_text(yaml.safe_dump(settings))
    return profile, noted


@pytest.fixture
def no_matrix(project):
    """A configuration that every check accepts, and whose first job ends the run."""
    (project / "table.csv").write_text("a,b,c\n")
    named = {"table": {"path": "table.csv"}}
    (project / "config.yaml").write_text(yaml.safe_dump(DRAWN | {"matrices": named}))
    return "ERROR in table: normalise matrix: table.csv: "


def test_under_an_unknown_snakemake_a_run_says_so_and_uses_its_local_executor(
    project, no_matrix, tmp_path
):
    about = tmp_path / "later" / "snakemake-10.1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: snakemake\nVersion: 10.1.0\n")
    done = run_command(RUN, project, PYTHONPATH=str(about.parent))
    lines = done.stdout.splitlines()
    executor = "The executor sparsekm does not know Snakemake 10.1.0; jobs run with `local`."
    assert lines.count(executor) == 1, done.stdout
    logger = "The logger sparsekm does not know Snakemake 10.1.0; messages are plain."
    assert lines.count(logger) == 1
    # A job was run, as that executor runs it.
    assert no_matrix in done.stdout
    assert ".snakemake/scripts/" in done.stdout
    assert "Traceback" not in done.stdout


def test_with_a_profile_of_the_site_its_executor_runs_the_jobs(project, site, project_root):
    profile, noted = site
    # As where the profile beside the Snakefile is found.
    default = ("--workflow-profile", str(project_root / "profiles" / "default"))
    options = ("--profile", str(profile), *default)
    snakefile = ("--snakefile", str(project_root / "Snakefile"))
    printed(run_snakemake(project, *snakefile, *options, MATRIX))
    assert noted.read_text().splitlines() == ["submitted"]


def test_a_run_takes_the_profile_it_is_given_and_no_other(project, no_matrix, site):
    profile, noted = site
    # By a path relative to where the command is started.
    options = ("--profile", "../site")
    done = run_command([*RUN, *options], project, SNAKEMAKE_PROFILE="/nowhere")
    assert "SNAKEMAKE_PROFILE is ignored. Choose a profile with --profile." in done.stdout
    assert noted.read_text().splitlines() == ["submitted"]
    assert done.returncode == 2
    assert "table: normalise matrix; log: logs/normalise_matrix/table.log" in done.stdout
    # Nor where the command runs the jobs itself. A run that failed is gone on with.
    again = run_command(RUN, project, SNAKEMAKE_PROFILE=str(profile))
    assert "SNAKEMAKE_PROFILE is ignored" in again.stdout
    assert no_matrix in again.stdout
    assert noted.read_text().splitlines() == ["submitted"]


def test_neither_profiles_nor_plugins_are_taken_from_the_folder_of_a_run(project, tmp_path):
    sprung = tmp_path / "sprung"
    trap = f"__use_yte__: true\n__definitions__:\n  - open({str(sprung)!r}, 'a')\ncores: 1\n"
    for place in ("slurm", "profiles/default", "profiles/slurm"):
        (project / place).mkdir(parents=True)
        (project / place / "config.yaml").write_text(trap)
    plugin = project / ".snakemake" / "pip-deployments" / "snakemake_executor_plugin_trap"
    plugin.mkdir(parents=True)
    (plugin / "__init__.py").write_text(f"open({str(sprung)!r}, 'a')\n")
    # Ended by the check of the configuration, after all settings were read.
    (project / "config.yaml").write_text(yaml.safe_dump(DRAWN | {"method": ["l0"]}))
    for options in ([], ["--profile", "slurm"]):
        done = run_command([*RUN, *options], project, XDG_CONFIG_HOME=str(tmp_path))
        assert done.returncode == 2, done.stdout
        assert not sprung.exists()
    assert "slurm" in done.stdout


LIMITS = 'print("LIMITS", "{", workflow.global_resources.get("mem_mb").value, "}")\n'


@pytest.mark.parametrize(
    ("options", "limit"),
    [
        ([], "the machine's"),
        (["--resources", "mem_mb=1234", "--"], "1234"),
        (["--resources", "mem=4GB", "--"], "4000"),
        (["--executor", "cluster-generic", "--jobs", "2"], "None"),
    ],
    ids=["nothing", "mem_mb", "mem", "cluster"],
)
def test_the_memory_of_the_machine_is_the_limit_if_nobody_gives_one(
    project, project_root, options, limit
):
    import psutil

    include = f'include: "{project_root}/workflow/Snakefile"\n'
    (project / "Snakefile").write_text(include + LIMITS)
    if options[:1] == ["--executor"]:
        options = [*options, "--cluster-generic-submit-cmd", "false"]
    told = printed(run_snakemake(project, "--dry-run", "--cores", "1", *options, MATRIX))
    megabytes = psutil.virtual_memory().total * 3 // 4 // 10**6
    expected = str(megabytes) if limit == "the machine's" else limit
    assert f"LIMITS {{ {expected} }}" in told


HOST = """
import sys

before = [*sys.path]
import counting

module sparsekm:
    snakefile:
        "ROOT/workflow/Snakefile"
    config:
        SETTINGS


use rule * from sparsekm as sparsekm_*


LIMITS
rule count:
    default_target: True
    input:
        "data/raw/small/matrix.npz",
    output:
        "counted.txt",
    run:
        import weighing

        assert [path for path in before if path not in sys.path] == []
        shell("python tools/count.py > {output}")
"""


@pytest.fixture
def host(project, project_root):
    """Another workflow with modules of its own, which takes ours as a module."""
    (project / "config.yaml").unlink()
    text = HOST.replace("ROOT", str(project_root)).replace("SETTINGS", repr(DRAWN))
    (project / "Snakefile").write_text(text.replace("LIMITS", LIMITS))
    (project / "counting.py").write_text("ONE = 1\n")
    (project / "lib").mkdir()
    (project / "lib" / "weighing.py").write_text("TWO = 2\n")
    (project / "tools").mkdir()
    (project / "tools" / "count.py").write_text("from beside import THREE\nprint(THREE)\n")
    (project / "tools" / "beside.py").write_text("THREE = 3\n")
    # What our jobs import; Snakemake does not, and a host's other rules might.
    (project / "lib" / "joblib.py").write_text("open('sprung', 'w')\nraise ImportError\n")
    return project


def test_a_host_imports_its_own_modules_and_our_jobs_none_of_them(host, monkeypatch):
    snakemake = Path(sys.executable).parent / "snakemake"
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    # A relative entry, as in a lab's shell profile.
    told = printed(run_command([snakemake, "--cores", "1"], host, PYTHONPATH="lib"))
    assert (host / "counted.txt").read_text() == "3\n"
    assert not (host / "sprung").exists()
    # The memory of the machine is the host's to share.
    assert "LIMITS { None }" in told


def test_make_runs_jobs_as_forks_unless_a_profile_says_where(project_root):
    def started(before="", after=""):
        command = f"env {before} make --dry-run results".split()
        return run_command([*command, f"SNAKEMAKE_FLAGS={after}"], project_root).stdout

    assert re.search(r'snakemake" --cores all --executor sparsekm', started())
    assert "--executor sparsekm" not in started(after="--profile site")
    assert "--executor sparsekm" not in started(after="--workflow-profile profiles/slurm")
    assert "--executor sparsekm" not in started(before="SNAKEMAKE_PROFILE=site")
