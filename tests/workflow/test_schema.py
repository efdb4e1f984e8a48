"""The schema, config.yaml, its profiles and the documentation say the same."""

import copy
import re
import runpy
from pathlib import Path

import pytest
import yaml
from configuration_reader import configuration_check
from snakemake_process import printed, run_snakemake

from sparsekm.pipeline.registry import DEFAULT_METHODS, METHODS

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = configuration_check.read_schema()
CONFIG = yaml.safe_load((ROOT / "config.yaml").read_text())

# A section that is null is left out of the run, so by default these are empty; config.yaml fills
# them in.
LEFT_OUT_BY_DEFAULT = {
    "atlas.ages",
    "simulation.experiments",
    "simulation.variants",
    "simulation.repeated_variants",
}


def list_settings(schema, values, name=""):
    """Give the default of every setting by its dotted name, and its value in a configuration."""
    for key, part in schema["properties"].items():
        place = f"{name}.{key}".lstrip(".")
        if "properties" in part:
            yield from list_settings(part, values[key], place)
        else:
            yield place, (part["default"], values[key])


SETTINGS = dict(list_settings(SCHEMA, CONFIG))


def test_config_yaml_holds_every_setting_of_at_most_80_with_its_default():
    differ = {place for place, (default, value) in SETTINGS.items() if default != value}
    assert differ == LEFT_OUT_BY_DEFAULT
    assert [place for place in differ if SETTINGS[place][0]] == []
    of_tables = SCHEMA["properties"]["matrices"]["additionalProperties"]["properties"]
    assert len(SETTINGS) + len(of_tables) <= 80
    assert len(configuration_check.SCHEMA_FILE.read_text().splitlines()) <= 400


SAID = [
    ("docs/performance.md", "the workflow's default of {min_cluster_size}."),
    ("docs/own_data.md", "`min_cluster_size` ({min_cluster_size} in the workflow"),
    ("docs/framework.md", "`{rule}`, the default of the workflow"),
    ("docs/performance.md", "| `{reference}`, `{rule}` (the default) |"),
    ("docs/framework.md", "one per reference ({paths_of_gap} by default"),
]
VALUES = {name: CONFIG["tuning"][name] for name in ("rule", "reference")}
VALUES["min_cluster_size"] = CONFIG["min_cluster_size"]
VALUES["paths_of_gap"] = 1 + CONFIG["tuning"]["references"]


def test_pages_give_defaults_in_these_words_and_in_no_others():
    stated = re.compile(r"(?:default of [\d.]*\d|[\d.]+ (?:in the workflow|by default))")
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    texts = {
        page.relative_to(ROOT).as_posix(): " ".join(page.read_text().split()) for page in pages
    }
    said = [(page, words.format(**VALUES)) for page, words in SAID]
    assert [words for page, words in said if words not in texts[page]] == []
    found = sorted((page, words) for page in texts for words in stated.findall(texts[page]))
    assert found == sorted((page, words) for page, text in said for words in stated.findall(text))


def test_every_method_is_explained_in_config_yaml_and_the_default_ones_run():
    comments = re.findall(r"^# ?(.*)$", (ROOT / "config.yaml").read_text(), re.MULTILINE)
    said = " ".join(comments)
    assert [m.name for m in METHODS.values() if f"{m.name} ({m.about})" not in said] == []
    assert CONFIG["methods"] == DEFAULT_METHODS


rewrite = runpy.run_path(str(ROOT / "docs" / "write_settings.py"))["rewrite"]
TEXTS = [(ROOT / name).read_text("utf-8") for name in ("config.yaml", "docs/options.md")]


def test_make_settings_would_change_nothing():
    assert [*rewrite(*TEXTS)] == TEXTS


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("report.title", "# Heading of the report.\n  title: 'Sparse"),
        ("tuning.references", "# Number of reference data sets.\n  references: 10\n"),
        ("tuning.sparsities.l1", "    l1: auto\n"),
        ("atlas.quality_control.max_missing_per_gene", "    max_missing_per_gene: 0.3\n"),
        ("n_seeds", "\n# Seeds from which the chosen model is fitted, to show the best fit"),
    ],
)
def test_make_settings_writes_a_key_that_config_yaml_lacks(place, text):
    *sections, key = place.split(".")
    # Of several keys of one name, that of the section.
    begin = TEXTS[0].index(f"{sections[-1]}:") if sections else 0
    line = re.compile(rf"^{'  ' * len(sections)}{key}: .*\n", re.MULTILINE).search(TEXTS[0], begin)
    written, _ = rewrite(TEXTS[0][: line.start()] + TEXTS[0][line.end() :], TEXTS[1])
    assert text in written
    assert yaml.safe_load(written) == CONFIG


def test_what_a_user_set_is_told_from_the_defaults():
    given = {"matrices": {"a": {"path": "a.csv", "n_clusters": 3}}, "tuning": {"references": 7}}
    filled = copy.deepcopy(given) | {"seed": SCHEMA["properties"]["seed"]["default"]}
    assert configuration_check.check_configuration(filled) == []
    assert len(filled) > 8
    assert configuration_check.set_by_user(filled) == given


@pytest.mark.release
def test_of_the_papers_procedure_every_age_is_planned_and_nothing_else(tmp_path):
    profile = ROOT / "config" / "paper-procedure.yaml"
    assert configuration_check.check_configuration(yaml.safe_load(profile.read_text())) == []
    files = ("--configfile", str(profile))
    files += ("--snakefile", str(ROOT / "workflow" / "Snakefile"))
    told = printed(run_snakemake(tmp_path, *files, "--dry-run", "--cores", "1"))
    for age in CONFIG["atlas"]["ages"]:
        for method in ("kmeans", "l1", "l0"):
            assert f"results/{age}/{method}/path.h5" in told
    assert "simulate:" not in told
    assert "results/E11.5/sparse/" not in told
