"""The workflow from elsewhere: by its own file, as a module, beside a Snakemake that is alone."""

import os
import re
import shutil
import sys
from pathlib import Path

import pytest
import yaml
from configuration_reader import configuration_check
from small_project import save_tumours
from snakemake_process import DRAWN, printed, run_command, run_snakemake

# Runs Snakemake where importing what it does not bring fails. Its own imports come first: a plugin
# that is installed here, and would not be there, imports pandas.
BARE = """
import sys
from snakemake.cli import main

for absent in {absent}:
    for loaded in [name for name in sys.modules if name.partition(".")[0] == absent]:
        del sys.modules[loaded]
    sys.modules[absent] = None
main(sys.argv[1:])
"""
ABSENT = ("numpy", "scipy", "pandas", "sklearn", "numba", "joblib", "threadpoolctl", "h5py")
ABSENT += ("anndata", "zarr", "openpyxl", "matplotlib", "hdf5plugin")
# Answers what Snakemake asks before it makes an environment.
CONDA = """#!/bin/sh
case "$*" in
"info --json") echo '{"conda_prefix": "/nowhere", "platform": "linux-64"}' ;;
--version) echo conda 24.7.1 ;;
*) echo '{"get": {"channel_priority": "strict"}}' ;;
esac
"""


def jobs_of(text):
    """Give the number of jobs of each rule in a dry run."""
    table = re.search(r"^job +count\n-+ .*\n((?:\w+ +\d+\n)+)", text, re.M)
    assert table, text
    return dict(line.split() for line in table[1].splitlines())


def plan(folder, *options):
    return jobs_of(printed(run_snakemake(folder, *options, "--dry-run", "--cores", "1")))


def test_the_root_snakefile_asks_for_the_same_of_the_named_configuration(project_root, tmp_path):
    first = {"matrices": {"first": {"draw": {"experiment": "experiment_3"}}}}
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(first | {"methods": ["kmeans", "pca"]}))
    (tmp_path / "v2.yaml").write_text(yaml.safe_dump(DRAWN))

    def jobs(place, *files):
        snakefile = ("--snakefile", str(project_root / place / "Snakefile"))
        return plan(tmp_path, *snakefile, "--configfile", *files)

    both, root = (jobs(place, "config.yaml", "v2.yaml") for place in ("workflow", "."))
    assert root.pop("results") == both.pop("all") == "1"
    assert root == both
    one = jobs("workflow", "v2.yaml")
    # One method: the list of the last file.
    assert [one[rule] for rule in ("normalise_matrix", "cluster_path", "report")] == ["1", "1", "1"]
    assert [both[rule] for rule in ("normalise_matrix", "cluster_path")] == ["2", "2"]


OURS = {"matrices": {"tumours": {"path": "tumours.csv", "labels": "kind"}}, "methods": ["l0"]}
OURS |= {"tuning": {"n_sparsities": 2, "references": 2}, "n_init": 2}
OURS |= {"annotation": {"subsamples": 2, "gene_sets": {"source": "gmt", "path": "sets.gmt"}}}


@pytest.fixture
def twice(tmp_path, project_root):
    """A host that uses the workflow as two modules, with two prefixes and two configurations."""
    save_tumours(tmp_path / "tumours.csv")
    (tmp_path / "sets.gmt").write_text("term\tabout\tgene0\tgene1\n")
    text = Path(__file__).with_name("two_modules.smk").read_text()
    (tmp_path / "Snakefile").write_text(text.replace("ROOT", str(project_root)))
    settings = {"ours": OURS, "theirs": DRAWN}
    (tmp_path / "settings.yaml").write_text(yaml.safe_dump(settings))
    return tmp_path


def test_in_a_module_all_that_is_made_has_the_prefix_and_nothing_of_the_users(twice):
    told = run_snakemake(twice, "--dry-run", "--cores", "1").stdout
    made = re.findall(r"^ +(?:output|log|benchmark): (.*)", told, re.M)
    assert len(made) > 50
    files = ", ".join(made).split(", ")
    assert [file for file in files if not re.match("(ours|elsewhere/theirs)/", file)] == []
    read = {*re.findall(r"^ +input: (.*)", told, re.M)}
    assert {"tumours.csv", "sets.gmt"} <= read
    assert "Group job sparsekm_fit" in told


@pytest.mark.release
@pytest.mark.usefixtures("kernels")
def test_a_host_runs_the_workflow_twice_with_two_prefixes_and_two_configurations(twice):
    before = {file.name for file in twice.iterdir()}
    printed(run_snakemake(twice, "--executor", "sparsekm", "--cores", "2"))
    assert {file.name for file in twice.iterdir()} - before == {".snakemake", "ours", "elsewhere"}
    pages = {"ours": "tumours", "elsewhere/theirs": "small"}
    for place, dataset in pages.items():
        results = twice / place / "results"
        assert dataset in (results / "report.html").read_text()
        assert [*(results / "figures").glob(f"{dataset}_*.svg")]
        assert (results / dataset / "clusters.csv").is_file()
    # A benchmark that is lost reruns nothing.
    measured = twice / "ours" / "results" / "benchmarks" / "cluster_path" / "tumours" / "l0.tsv"
    assert measured.read_text().startswith("s\th:m:s\tmax_rss")
    measured.unlink()
    again = run_snakemake(twice, "--executor", "sparsekm", "--cores", "2", "--dry-run")
    assert "Nothing to be done" in again.stdout


# As snakedeploy writes it for a workflow of the catalogue, with a clone in place of the address.
DEPLOYED = """
configfile: "config/config.yaml"

module sparsekm:
    snakefile: "ROOT/workflow/Snakefile"
    config: config

use rule * from sparsekm
"""


@pytest.fixture
def deployed(tmp_path, project_root):
    """Give the function that deploys the workflow, maybe with a further statement of its module."""

    def deploy(statement=""):
        shutil.copytree(project_root / "config", tmp_path / "config", dirs_exist_ok=True)
        text = DEPLOYED.replace("ROOT", str(project_root))
        text = text.replace("config: config\n", f"config: config\n    {statement}\n")
        (tmp_path / "Snakefile").write_text(text)
        return tmp_path

    return deploy


def test_the_folder_that_the_catalogue_copies_configures_a_module(deployed, project_root):
    assert plan(deployed())["report"] == "1"
    promised = yaml.safe_load((project_root / ".snakemake-workflow-catalog.yml").read_text())
    assert "clone" in promised["usage"]["mandatory-flags"]["desc"]


def test_prefixes_may_be_replaced_and_variables_of_paths_are_refused(deployed):
    def told(statement):
        return run_snakemake(deployed(statement), "--dry-run", "--cores", "1", "all").stdout

    replaced = told('replace_prefix: {"results/": "made/"}')
    assert "output: made/report.html" in replaced
    assert not re.search(r"^ +output: results/", replaced, re.M)
    refused = told('pathvars: results="made"')
    assert "pathvars: should be left out of the module" in refused
    assert "Use prefix or replace_prefix instead." in refused


def test_the_workflow_is_planned_for_conda_where_snakemake_is_alone(project_root, tmp_path):
    (tmp_path / "conda").write_text(CONDA)
    (tmp_path / "conda").chmod(0o755)
    (tmp_path / "config.yaml").write_bytes((project_root / "config.yaml").read_bytes())
    snakefile = ("--snakefile", str(project_root / "workflow" / "Snakefile"))
    options = ("--dry-run", "--sdm", "conda", "--cores", "1", "--quiet", "rules")
    # Everything that the Snakefile can be asked for.
    targets = ("all", "paper", "theory")
    command = [sys.executable, "-c", BARE.format(absent=ABSENT), *snakefile, *options]
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    jobs = jobs_of(printed(run_command([*command, "--", *targets], tmp_path, PATH=path)))
    assert {"normalise_expression", "summarise_simulation", "check_theorems"} <= jobs.keys()


def test_every_rule_is_listed_with_the_text_that_stands_in_it(project_root, rules_text, tmp_path):
    snakefile = project_root / "workflow" / "Snakefile"
    rules = snakefile.read_text() + rules_text
    # Also the rules that are made from another: `use rule one as other with`.
    written = re.findall(
        r'^(?:use rule \w+ as|rule) (\w+)(?: with)?:\n    """(.*?)"""$', rules, re.M
    )
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(DRAWN))
    told = run_snakemake(tmp_path, "--snakefile", str(snakefile), "--list-rules").stdout
    assert re.findall(r"^(\w+) \((.*)\)$", told, re.M) == sorted(written)
    assert len({text for _, text in written}) == len(written)


def test_no_data_set_has_the_name_of_a_folder_and_a_benchmark_has_that_of_its_log(rules_text):
    names = configuration_check.read_schema()["properties"]["matrices"]["propertyNames"]
    reserved = names["not"]["anyOf"][0]["enum"]
    assert set(re.findall(r'"results/(\w+)/', rules_text)) <= {*reserved}
    pairs = re.findall(r'    log:\n +"logs/(.+)\.log",\n    benchmark:\n +"(.+)"', rules_text)
    assert len(pairs) == rules_text.count("    benchmark:\n")
    assert [tsv for log, tsv in pairs if tsv != f"results/benchmarks/{log}.tsv"] == []
