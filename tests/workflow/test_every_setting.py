"""Changing one value of a setting reruns exactly the rules whose results depend on it."""

import re
from pathlib import Path

import pytest
import yaml
from configuration_reader import configuration_check
from small_project import make_project, merged
from test_what_reruns import Row, jobs_on_the_page, words_of_the_page

pytestmark = pytest.mark.xdist_group("settings")

ROWS = yaml.safe_load(Path(__file__).with_name("every_setting.yaml").read_text())
# Of the settings below one each: the rest only before a release, since a dry run takes seconds.
TRIED_OFTEN = {"search", "simulation.n_init", "yardstick.references", "atlas.allen.max_not_fetched"}
STUDIES = """
simulation: {experiments: [experiment_3/p25], methods: [kmeans, l0_alternate],
  variants: [l0_lloyd, l0_carried], repeated_variants: []}
yardstick: {folder: labelled, methods: [kmeans, l0]}
"""


def leaves(schema, before=""):
    """List the settings of a schema by their dotted names."""
    for name, part in schema["properties"].items():
        inside = leaves(part, f"{before}{name}.") if "properties" in part else [before + name]
        yield from inside


def test_every_setting_has_a_row():
    schema = configuration_check.read_schema()
    studied = {name for target in ("paper", "yardstick") for name in ROWS[f"of {target}"]}
    assert {*ROWS["of results"]} | studied == {*leaves(schema)}
    matrix = schema["properties"]["matrices"]["additionalProperties"]
    # A matrix has either a path or a draw.
    assert {*ROWS["of one matrix"], "draw.experiment"} == {*leaves(matrix)}


@pytest.fixture(scope="module")
def touched(tmp_path_factory, project_root):
    """A project whose files all seem to have been made, and the settings they were made with."""
    project = make_project(tmp_path_factory.mktemp("touched"), project_root)
    project.configure(STUDIES)
    for name in ("labelled/one.npz", "others/two.npz", "other.csv"):
        (project.root / name).parent.mkdir(exist_ok=True)
        (project.root / name).write_text("some content")
    targets = ("results", "paper", "yardstick")
    told = project.run("--dry-run", "--cores", "1", *targets)
    for listed in re.findall(r"^ +output: (.*)$", told, re.M):
        for file in listed.split(", "):
            (project.root / file).parent.mkdir(parents=True, exist_ok=True)
            (project.root / file).write_text("some content")
    project.run("--touch", "--forceall", "--cores", "1", *targets)
    assert project.planned(*targets) == set()
    return project


def nested(name, value):
    """Give a setting, named with dots, as the mapping of a configuration."""
    for key in reversed(name.split(".")):
        value = {key: value}
    return value


CASES = [
    pytest.param(
        target.removeprefix("of "),
        name,
        id=name,
        marks=() if name in TRIED_OFTEN else pytest.mark.release,
    )
    for target, rows in ROWS.items()
    for name in rows
]


@pytest.mark.parametrize(("target", "name"), CASES)
def test_exactly_the_rules_whose_results_depend_on_a_setting_run(
    touched, project_root, target, name
):
    value, rules = ROWS[f"of {target}"][name]
    where, target = (
        (f"matrices.tumours.{name}", "results") if target == "one matrix" else (name, target)
    )
    touched.configure(yaml.safe_dump(merged(yaml.safe_load(STUDIES), nested(where, value))))
    planned = touched.planned(target)
    if target == "results":
        more = {"batches": (1,)} if name == "tuning.references" else {}
        row = Row("", "P14", "more" if where == "matrices" else "tumours", **more)
        assert planned == jobs_on_the_page(words_of_the_page(project_root, rules), row)
    else:
        assert planned == studied(rules)


def studied(rules):
    """List the jobs of a study: of rows or methods, or of another setting or set with both."""
    jobs = set()
    for part in rules.split("; "):
        scope, _, listed = part.rpartition(": ")
        for rule in listed.split(", "):
            match rule, scope:
                case "simulate", "p500":
                    rows = ("kmeans", "l0_alternate", "l0_lloyd", "l0_carried")
                    jobs |= {f"simulate experiment_3 p500 {row}" for row in rows}
                case "simulate", _:
                    jobs |= {f"simulate experiment_3 p25 {row}" for row in scope.split(", ")}
                case "run_yardstick", "two":
                    jobs |= {"run_yardstick two kmeans", "run_yardstick two l0"}
                case "run_yardstick", _:
                    jobs |= {f"run_yardstick one {method}" for method in scope.split(", ")}
                case _:
                    jobs.add(rule)
    return jobs
