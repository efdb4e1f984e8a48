"""docs/reruns.md says which rules run after which change: dry runs after each, as sets of jobs."""

import os
import re
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import pytest
import yaml

# One process for all tests on the finished project, which is made once in each.
pytestmark = pytest.mark.xdist_group("workflow")

AGES, MATRICES = ("E11.5",), ("tumours", "cells")
DATASETS = AGES + MATRICES
TUNED, RESAMPLED, UNTUNED = ("l0", "l1"), ("sparse",), ("kmeans", "pca")
METHODS = ("kmeans", "l0", "l1", "sparse")

ONCE = ("retrieve_ontology", "draw_gene_sets", "compare_ages", "report")
PER_AGE = ("retrieve_atlas", "assemble_expression", "normalise_expression")
PER_DATASET = ("annotate_genes", "enrich_genes", "match_clusters", "export_clusters")


@dataclass(frozen=True)
class Row:
    """How a test makes the change of a row, and what "that age", "that method" and so on are."""

    change: object
    age: str | None = None
    matrix: str | None = None
    method: str | None = None
    batches: tuple = (0,)


def put(**values):
    """Change settings, whose keys are joined by two underscores."""

    def change(configuration):
        for keys, value in values.items():
            *path, last = keys.split("__")
            place = configuration
            for key in path:
                place = place.setdefault(key, {})
            place[last] = value

    return change


@contextmanager
def configured(project, change):
    file = project.root / "config.yaml"
    before = file.read_text()
    configuration = yaml.safe_load(before)
    change(configuration)
    file.write_text(yaml.safe_dump(configuration))
    try:
        yield
    finally:
        file.write_text(before)


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


def setting(**values):
    return lambda project: configured(project, put(**values))


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


def source(file):
    return f"source `{file}`", Row(edit_of(f"src/sparsekm/{file}"))


ROWS = {
    "nothing": Row(setting()),
    "time stamps of sources, scripts and the workflow": Row(touched),
    "the time stamp of an input file": Row(lambda project: edited(project, "tumours.csv", bytes)),
    "comments and docstrings of a source": Row(
        edit_of("src/sparsekm/pipeline/scales.py", b'\n# A comment.\n"""A text."""\n')
    ),
    "`seed`": Row(setting(seed=2)),
    "`tuning.sparsities`: the grid of a method": Row(
        setting(tuning__sparsities__l0=[3, 6]), method="l0"
    ),
    "`tuning.n_sparsities`, while no grid is automatic": Row(setting(tuning__n_sparsities=7)),
    "`tuning.references`: more": Row(setting(tuning__references=4), batches=(1,)),
    "`tuning.n_refined`: a second stage": Row(setting(tuning__n_refined=3)),
    "`tuning.max_samples`": Row(setting(tuning__max_samples=20)),
    "`n_seeds`": Row(setting(n_seeds=3)),
    "`n_seeds`: 1": Row(setting(n_seeds=1)),
    "`max_memory_gb`": Row(setting(max_memory_gb=1)),
    "`simulation`, or the settings of another study": Row(
        setting(simulation__repetitions=3, yardstick__n_seeds=2)
    ),
    "`tuning.rule`": Row(setting(tuning__rule="one-se")),
    "`methods`: one more, such as `pca`": Row(
        setting(methods=["kmeans", "l1", "l0", "sparse", "pca"]), method="pca"
    ),
    "`methods`: one less": Row(setting(methods=["kmeans", "l0", "sparse"])),
    "`atlas.ages`: one more": Row(setting(atlas__ages=["E11.5", "P14"]), age="P14"),
    "`atlas.seed`: another phantom": Row(setting(atlas__seed=4)),
    "`atlas.replicates`": Row(setting(atlas__replicates="mean")),
    "`atlas.quality_control`": Row(setting(atlas__quality_control={"max_missing_per_gene": 0.2})),
    "`atlas.normalisation`": Row(setting(atlas__normalisation={"transform": "robust_sigmoid"})),
    "`matrices`: one more": Row(
        setting(matrices__more={"path": "tumours.csv", "labels": "kind"}), matrix="more"
    ),
    "`matrices`: one less": Row(setting(matrices__cells=None)),
    "`matrices`: `normalise` of one": Row(
        setting(matrices__cells__normalise="none"), matrix="cells"
    ),
    "`matrices`: `n_top_features` of one": Row(
        setting(matrices__cells__n_top_features=8), matrix="cells"
    ),
    "`matrices`: `groups` of one": Row(setting(matrices__cells__groups="batch"), matrix="cells"),
    "`matrices`: `n_clusters` of one": Row(setting(matrices__cells__n_clusters=3), matrix="cells"),
    "an input file: the matrix of a data set": Row(new_kind, matrix="tumours"),
    "an input file, replaced by another with an older time stamp": Row(
        older_kind, matrix="tumours"
    ),
    "`annotation.subsamples`": Row(setting(annotation__subsamples=4)),
    "`annotation.term_size`": Row(setting(annotation__term_size=[2, 50])),
    "`annotation.genes_of_interest`": Row(setting(annotation__genes_of_interest=["gene1"])),
    "`report.title`": Row(setting(report__title="Mine")),
    **dict(
        map(
            source,
            (
                "atlas/phantom/source.py",
                "cluster/weight_step.py",
                "reporting/templates/report.css",
            ),
        )
    ),
    "script `score_clustering.py`": Row(edit_of("scripts/score_clustering.py")),
}


def read_page(project_root):
    """Give the page's table as {change: its rules}, with the words for several rules spelt out."""
    page = (project_root / "docs" / "reruns.md").read_text(encoding="utf-8")
    words = dict(re.findall(r'"(\w+)"\s(?:stands\s)?for\s((?:`\w+`(?:,\s)?)+)', page))
    assert sorted(words) == ["fit", "paths", "tables"]
    table = re.search(r"^\| what changed .*\n\|.*\n((?:\|.*\n)+)", page, re.M)[1]
    rows = [line.strip("|").split("|") for line in table.splitlines()]
    assert all(len(row) == 2 for row in rows)
    for word, rules in words.items():
        rows = [[change, re.sub(rf"\b{word}\b", rules, found)] for change, found in rows]
    return {change.strip(): found.strip() for change, found in rows}


def expand(rule, datasets, methods, row):
    """List the jobs of a rule for data sets and methods: those that it can have."""
    if rule in ONCE:
        return {rule}
    if rule in PER_AGE or rule == "normalise_matrix":
        of_atlas = {dataset for dataset in datasets if re.match(r"[EP]\d", dataset)}
        right = of_atlas if rule in PER_AGE else set(datasets) - of_atlas
        return {f"{rule} {dataset}" for dataset in right}
    if rule == "compare_choices":
        own = {dataset for dataset in datasets if not re.match(r"[EP]\d", dataset)}
        return {f"{rule} {dataset}" for dataset in own if "sparse" in methods}
    if rule in PER_DATASET:
        return {f"{rule} {dataset}" for dataset in datasets}
    of_rule = {
        "cluster_path": TUNED + UNTUNED,
        "reference_path": TUNED,
        "find_peak": TUNED,
        "refine_path": TUNED,
        "refine_references": TUNED,
        "tune_sparsity": TUNED,
        "find_consensus": RESAMPLED,
        "select_fit": UNTUNED,
        "gene_stability": TUNED + RESAMPLED,
    }
    methods = [method for method in methods if method in of_rule.get(rule, methods)]
    batches = dict.fromkeys(("reference_path", "refine_references"), row.batches).get(rule)
    ends = [""] if batches is None else [f" {batch}" for batch in batches]
    return {
        f"{rule} {dataset} {method}{end}"
        for dataset in datasets
        for method in methods
        for end in ends
    }


def jobs_on_the_page(rules, row):
    """Read "scope: `rule`, `rule`; `rule` ..." as a set of jobs."""
    if rules == "nothing":
        return set()
    scopes = {
        "that age": ([row.age], METHODS),
        "that matrix": ([row.matrix], METHODS),
        "that method": (DATASETS, [row.method]),
        "ages": (AGES, METHODS),
        "tuned methods": (DATASETS, TUNED),
        "`sparse`": (DATASETS, RESAMPLED),
        "sparse methods": (DATASETS, TUNED + RESAMPLED),
        "": (DATASETS, METHODS),
    }
    jobs = set()
    for part in rules.split(";"):
        scope, _, listed = part.rpartition(":")
        for rule in re.findall(r"`(\w+)`", listed):
            jobs |= expand(rule, *scopes[scope.strip()], row)
    return jobs


# A dry run takes seconds: before every release all rows, otherwise one of each kind, and all that
# rerun nothing together.
TRIED_OFTEN = {
    "`seed`",
    "`tuning.sparsities`: the grid of a method",
    "`tuning.references`: more",
    "`methods`: one more, such as `pca`",
    "`atlas.ages`: one more",
    "`matrices`: `normalise` of one",
    "an input file, replaced by another with an older time stamp",
    "`annotation.term_size`",
    "source `cluster/weight_step.py`",
    "script `score_clustering.py`",
}


def test_every_row_of_the_page_is_tried(project_root):
    assert list(read_page(project_root)) == list(ROWS)
    assert set(ROWS) > TRIED_OFTEN


@pytest.mark.parametrize(
    "change",
    [pytest.param(row, marks=[] if row in TRIED_OFTEN else pytest.mark.release) for row in ROWS],
)
def test_exactly_the_rules_on_the_page_run(finished, project_root, change):
    row, rules = ROWS[change], read_page(project_root)[change]
    with row.change(finished):
        assert finished.planned() == jobs_on_the_page(rules, row)


def test_changes_that_rerun_nothing_rerun_nothing_together_and_an_unused_source_neither(
    finished, project_root
):
    rows = [row for row, rules in read_page(project_root).items() if rules == "nothing"]
    assert len(rows) > 4
    with ExitStack() as changes:
        for row in rows:
            changes.enter_context(ROWS[row].change(finished))
        unused = "src/sparsekm/__init__.py"
        changes.enter_context(edited(finished, unused, lambda content: content + b"\nedited = 1\n"))
        assert finished.planned() == set()
