"""docs/reruns.md says which rules run after which change: dry runs after each, as sets of jobs."""

import os
import re
import shutil
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml
from small_project import make_project

pytestmark = pytest.mark.xdist_group("workflow")

SETTINGS = yaml.safe_load(Path(__file__).with_name("every_setting.yaml").read_text())
AGES, MATRICES = ("E11.5",), ("tumours", "cells")
DATASETS = AGES + MATRICES
TUNED, RESAMPLED, UNTUNED = ("l0", "l1"), ("sparse",), ("kmeans", "pca")
METHODS = ("kmeans", "l0", "l1", "sparse")

ONCE = ("retrieve_ontology", "draw_gene_sets", "find_common_genes", "compare_ages", "report")
PER_AGE = ("retrieve_atlas", "assemble_expression", "normalise_expression")
PER_DATASET = ("annotate_genes", "enrich_genes", "match_clusters", "export_clusters")
# Of the other rules, which are for each method, those that not all methods have.
METHODS_OF = {
    "cluster_path": TUNED + UNTUNED,
    "reference_path": TUNED,
    "tune_sparsity": TUNED,
    "find_consensus": RESAMPLED,
    "select_fit": UNTUNED,
    "gene_stability": TUNED + RESAMPLED,
}


@dataclass(frozen=True)
class Row:
    """How a test makes the change of a row, and what "that age", "that method" and so on are."""

    change: object  # settings as YAML, or a function of the project
    age: str | None = None
    matrix: str | None = None
    method: str | None = None
    batches: tuple = (0,)

    @contextmanager
    def made(self, project):
        if callable(self.change):
            with self.change(project):
                yield
            return
        project.configure(self.change)
        try:
            yield
        finally:
            project.configure()


@contextmanager
def edited(project, file, edit):
    """Edit a file; afterwards its content and time stamp are what they were."""
    file = project.root / file
    content, before = file.read_bytes(), file.stat()
    file.write_bytes(edit(content))
    try:
        yield
    finally:
        file.write_bytes(content)
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def edit_of(file, more=b"\nedited = True\n"):
    return lambda project: edited(project, file, lambda content: content + more)


def new_kind(project):
    return edited(project, "tumours.csv", lambda content: content.replace(b",a\n", b",c\n"))


@contextmanager
def older_kind(project):
    with new_kind(project):
        os.utime(project.root / "tumours.csv", (10**9, 10**9))
        yield


@contextmanager
def touched(project):
    for folder in ("scripts", "src", "workflow"):
        for file in (project.root / folder).rglob("*.*"):
            os.utime(file)
    yield


@contextmanager
def installed(project, package, more):
    """Install a package, by its name, in a version that is so much later: major, minor, patch."""
    old = [*map(int, re.findall(r"\d+", version(package))[:3])]
    new = ".".join(str(part + extra) for part, extra in zip(old, more, strict=True))
    about = project.root / "src" / f"{package}-{new}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {new}\n")
    yield
    shutil.rmtree(about)


SOURCES = (
    "atlas/phantom/source.py",
    "cluster/weight_step.py",
    "reporting/templates/report.css",
)
ROWS = {
    "nothing": Row(""),
    "time stamps of sources, scripts and the workflow": Row(touched),
    "the time stamp of an input file": Row(lambda project: edited(project, "tumours.csv", bytes)),
    "comments and docstrings of a source": Row(
        edit_of("src/sparsekm/pipeline/scales.py", b'\n# A comment.\n"""A text."""\n')
    ),
    "`tuning.sparsities`: the grid of a method": Row(
        "tuning: {sparsities: {l0: [3, 6]}}", method="l0"
    ),
    "`tuning.references`: more": Row("tuning: {references: 6}", batches=(1,)),
    "`n_seeds`: 1": Row("n_seeds: 1"),
    "`max_memory_gb`": Row("max_memory_gb: 1"),
    "`simulation`, or the settings of another study": Row(
        "simulation: {repetitions: 3}\nyardstick: {n_seeds: 2}"
    ),
    "`methods`: one more, such as `pca`": Row(
        "methods: [kmeans, l1, l0, sparse, pca]", method="pca"
    ),
    "`atlas.ages`: one more": Row("atlas: {ages: [E11.5, P14]}", age="P14"),
    "`atlas.quality_control`": Row("atlas: {quality_control: {max_missing_per_gene: 0.2}}"),
    "`atlas.normalisation`": Row("atlas: {normalisation: {transform: robust_sigmoid}}"),
    "`matrices`: one less": Row("matrices: {cells: null}"),
    "`matrices`: `normalise` of one": Row("matrices: {cells: {normalise: none}}", matrix="cells"),
    "an input file: the matrix of a data set": Row(new_kind, matrix="tumours"),
    "an input file, replaced by another with an older time stamp": Row(
        older_kind, matrix="tumours"
    ),
    "a patch release of NumPy": Row(lambda project: installed(project, "numpy", (0, 0, 1))),
    "a new minor version of NumPy, SciPy, Numba or scikit-learn": Row(
        lambda project: installed(project, "numpy", (0, 1, 0))
    ),
    "source `baselines/spectral.py`, of methods that do not run": Row(
        edit_of("src/sparsekm/baselines/spectral.py")
    ),
    **{f"source `{file}`": Row(edit_of(f"src/sparsekm/{file}")) for file in SOURCES},
    "script `score_clustering.py`": Row(edit_of("scripts/score_clustering.py")),
}


def words_of_the_page(project_root, rules):
    """Spell out the words of the page that stand for several rules."""
    page = (project_root / "docs" / "reruns.md").read_text(encoding="utf-8")
    words = dict(re.findall(r'"(\w+)"\s(?:stands\s)?for\s((?:`\w+`(?:,\s)?)+)', page))
    assert sorted(words) == ["fit", "paths", "tables"]
    for word, meant in words.items():
        rules = re.sub(rf"\b{word}\b", meant, rules)
    return rules


def read_page(project_root):
    """Give the page's table as {change: its rules}, with the words for several rules spelt out."""
    page = (project_root / "docs" / "reruns.md").read_text(encoding="utf-8")
    table = re.search(r"^\| what changed .*\n\|.*\n((?:\|.*\n)+)", page, re.M)[1]
    rows = [line.strip("|").split("|") for line in table.splitlines()]
    assert all(len(row) == 2 for row in rows)
    return {
        change.strip(): words_of_the_page(project_root, found).strip() for change, found in rows
    }


def expand(rule, datasets, methods, row):
    """List the jobs of a rule for data sets and methods: those that it can have."""
    if rule in ONCE:
        return {rule}
    of_atlas = {dataset for dataset in datasets if re.match(r"[EP]\d", dataset)}
    own = set(datasets) - of_atlas
    if rule in PER_AGE:
        return {f"{rule} {dataset}" for dataset in of_atlas}
    if rule in ("normalise_matrix", "compare_choices"):
        is_run = rule == "normalise_matrix" or "sparse" in methods
        return {f"{rule} {dataset}" for dataset in own if is_run}
    if rule in PER_DATASET:
        return {f"{rule} {dataset}" for dataset in datasets}
    batches = dict.fromkeys(("reference_path", "refine_references"), row.batches).get(rule)
    ends = [""] if batches is None else [f" {batch}" for batch in batches]
    return {
        f"{rule} {dataset} {method}{end}"
        for dataset in datasets
        for method in methods
        for end in ends
        if method in METHODS_OF.get(rule, methods)
    }


def jobs_on_the_page(rules, row):
    """Read "scope: `rule`, `rule`; `rule` ..." as a set of jobs."""
    if rules == "nothing":
        return set()
    fixed = [method for method in METHODS if method not in RESAMPLED]
    scopes = {
        "that age": ([row.age], METHODS),
        "that matrix": ([row.matrix], METHODS),
        "that method": (DATASETS, [row.method]),
        "ages": (AGES, METHODS),
        "tuned methods": (DATASETS, TUNED),
        "sparse": (DATASETS, RESAMPLED),
        "all but sparse": (DATASETS, fixed),
        "all but cells": (("E11.5", "tumours"), METHODS),
        "l0": (DATASETS, ["l0"]),
        "l1": (DATASETS, ["l1"]),
        "sparse methods": (DATASETS, TUNED + RESAMPLED),
        "": (DATASETS, METHODS),
    }
    jobs = set()
    for part in rules.replace("`", "").split(";"):
        scope, _, listed = part.replace(" of new batches", "").rpartition(":")
        for rule in re.findall(r"\w+", listed):
            if scope.strip() == "all but the ages' sparse":
                of_ages = expand(rule, AGES, RESAMPLED, row)
                jobs |= expand(rule, DATASETS, METHODS, row) - of_ages
            else:
                jobs |= expand(rule, *scopes[scope.strip()], row)
    return jobs


# A dry run takes seconds: before every release all rows, otherwise one of each kind, and all that
# rerun nothing together.
TRIED_OFTEN = {
    "`tuning.sparsities`: the grid of a method",
    "`atlas.ages`: one more",
    "`matrices`: `normalise` of one",
    "an input file, replaced by another with an older time stamp",
    "source `baselines/spectral.py`, of methods that do not run",
    "a new minor version of NumPy, SciPy, Numba or scikit-learn",
    "script `score_clustering.py`",
}


def test_every_row_of_the_page_is_tried(project_root):
    page = read_page(project_root)
    assert page.keys() > ROWS.keys() > TRIED_OFTEN
    # test_every_setting.py tries the others, each of which is a setting, with the same rules.
    for change in page.keys() - ROWS.keys():
        is_of_one = change.endswith(" of one")
        name = re.findall(r"`([\w.]+)`", change)[1 if is_of_one else 0]
        _, rules = SETTINGS["of one matrix" if is_of_one else "of results"][name]
        told = words_of_the_page(project_root, rules)
        assert told.replace("`", "") == page[change].replace("`", ""), change


@pytest.mark.parametrize(
    "change",
    [pytest.param(row, marks=[] if row in TRIED_OFTEN else pytest.mark.release) for row in ROWS],
)
def test_exactly_the_rules_on_the_page_run(finished, project_root, change):
    row, rules = ROWS[change], read_page(project_root)[change]
    with row.made(finished):
        assert finished.planned() == jobs_on_the_page(rules, row)


def test_changes_that_rerun_nothing_and_an_unused_source_rerun_nothing(finished, project_root):
    rows = [row for row, rules in read_page(project_root).items() if rules == "nothing"]
    unused = edit_of("src/sparsekm/__init__.py")
    settings = [ROWS[row].change for row in rows if not callable(ROWS[row].change)]
    assert len(rows) > 4
    assert len(settings) > 2
    with ExitStack() as changes:
        for change in (unused, *(ROWS[row].change for row in rows if callable(ROWS[row].change))):
            changes.enter_context(change(finished))
        finished.configure("\n".join(settings))
        changes.callback(finished.configure)
        assert finished.planned() == set()


@pytest.mark.release
def test_what_a_run_of_other_settings_left_behind_is_named_and_stays(copied):
    copied.configure("methods: [kmeans, l0]")
    # As a run that makes all files would end.
    told = copied.run("--touch", "--forceall", "--cores", "1")
    names = ", ".join(
        f"results/{place}"
        for dataset in DATASETS
        for place in (f"{dataset}/l1", f"{dataset}/sparse", f"{dataset}/choices.csv")
        if (copied.root / "results" / place).exists()
    )
    (line,) = (line for line in told.splitlines() if line.startswith("Made earlier with"))
    told = line.partition(": ")[2].partition(". You can delete this")[0]
    assert {*told.split(", ")} == {*names.split(", ")}
    assert (copied.root / "results" / "tumours" / "l1" / "path.h5").exists()


OF_OWN_FILES = """
matrices: {tumours: {path: tumours.csv, labels: kind}, cells: {path: cells.zarr}}
annotation: {gene_sets: {source: gmt, path: sets.gmt}}
yardstick: {folder: labelled, methods: [kmeans]}
"""
# What runs after a change of each of the user's files, or of the part of it that changes.
READERS = {
    "tumours.csv": "normalise_matrix tumours",
    "sets.gmt": "collect_gene_sets",
    "cells.zarr/X/0.0": "normalise_matrix cells",
    "labelled/one.npz": "run_yardstick one kmeans",
}
MADE = (
    "data/tumours/normalised.h5ad",
    "data/cells/normalised.h5ad",
    "data/raw/gene_sets.gmt",
    "results/yardstick/one/kmeans.csv",
)


def test_files_of_other_content_though_older_are_read_again_and_no_others(tmp_path, project_root):
    project = make_project(tmp_path, project_root)
    (tmp_path / "config.yaml").write_text(OF_OWN_FILES)
    for file in (*READERS, *MADE):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("some content")
    # All seem to have been made from the user's files.
    project.run("--touch", "--forceall", "--cores", "1", *MADE)
    files = [*READERS]
    for changed in (files[:2], files[2:]):
        with ExitStack() as changes:
            for file in changed:
                changes.enter_context(edited(project, file, lambda content: b"other content"))
                os.utime(tmp_path / file, (10**9, 10**9))
            assert project.planned(*MADE) == {READERS[file] for file in changed}
