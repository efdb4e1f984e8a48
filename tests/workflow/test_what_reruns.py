"""A change reruns what depends on it and nothing else: dry runs after each kind of change."""

import os

import pytest

# One process for all tests on the finished project, which is made once in each.
pytestmark = pytest.mark.xdist_group("workflow")


MATRICES = ("tumours", "cells")
AGE = ("E11.5",)
EVERY = AGE + MATRICES
TUNED = ("l0", "l1")
ALL = ("kmeans", "l0", "l1")


def jobs(rule, datasets=EVERY, methods=None, batch=None):
    if methods is None:
        return {f"{rule} {dataset}" for dataset in datasets}
    end = "" if batch is None else f" {batch}"
    return {f"{rule} {dataset} {method}{end}" for dataset in datasets for method in methods}


def of_all_methods(datasets=EVERY):
    """What is made of the fits of all methods together."""
    rules = ("annotate_genes", "enrich_genes", "match_clusters", "export_clusters")
    return {"report"}.union(*(jobs(rule, datasets) for rule in rules))


def after_path(datasets=EVERY, methods=ALL):
    """What follows from a method's path: its fit, its scores, the tables, the files, the report."""
    tuned = [method for method in methods if method != "kmeans"]
    found = jobs("tune_sparsity", datasets, tuned) | jobs("score_clustering", datasets, methods)
    found |= jobs("gene_stability", datasets, tuned)
    if "kmeans" in methods:
        found |= jobs("take_fit", datasets, ["kmeans"])
    return found | of_all_methods(datasets)


def whole(datasets=EVERY, methods=ALL):
    """Everything that follows from a normalised data set."""
    tuned = [method for method in methods if method != "kmeans"]
    return (
        jobs("cluster_path", datasets, methods)
        | jobs("reference_path", datasets, tuned, 0)
        | after_path(datasets, methods)
    )


def set_to(*keys, value):
    def change(configuration):
        for key in keys[:-1]:
            configuration = configuration.setdefault(key, {})
        configuration[keys[-1]] = value

    return change


def atlas(first, age="E11.5"):
    """The rules of an age from `first` on, and everything that follows."""
    rules = ["retrieve_atlas", "assemble_expression", "normalise_expression"]
    return {f"{rule} {age}" for rule in rules[rules.index(first) :]} | whole([age])


# A dry run costs seconds: changes whose jobs do not overlap share one.
CHANGES = {
    "seed": ([set_to("seed", value=2)], whole()),
    "the seed of the phantom": (
        [set_to("atlas", "seed", value=4)],
        {"retrieve_ontology", "draw_gene_sets", "collect_gene_sets"}
        | atlas("retrieve_atlas")
        | jobs("annotate_genes")
        | jobs("enrich_genes"),
    ),
    "one age more": (
        [set_to("atlas", "ages", value=["E11.5", "P14"])],
        {"compare_ages"} | atlas("retrieve_atlas", age="P14"),
    ),
    "the number of subsamples": (
        [set_to("annotation", "subsamples", value=4)],
        jobs("gene_stability", EVERY, TUNED) | jobs("annotate_genes") | {"report"},
    ),
    "the size of terms": (
        [set_to("annotation", "term_size", value=[2, 50])],
        jobs("enrich_genes") | jobs("annotate_genes") | {"report"},
    ),
    "the genes of interest": (
        [set_to("annotation", "genes_of_interest", value=["gene1"])],
        {"report"},
    ),
    "replicates, and K of one matrix": (
        [
            set_to("atlas", "replicates", value="mean"),
            set_to("matrices", "cells", "n_clusters", value=3),
        ],
        atlas("assemble_expression") | whole(["cells"]),
    ),
    "quality control, and the normalisation of one matrix": (
        [
            set_to("atlas", "quality_control", value={"max_missing_per_gene": 0.2}),
            set_to("matrices", "cells", "normalise", value="none"),
        ],
        atlas("normalise_expression") | {"normalise_matrix cells"} | whole(["cells"]),
    ),
    "the transform of energies": (
        [set_to("atlas", "normalisation", value={"transform": "robust_sigmoid"})],
        atlas("normalise_expression"),
    ),
    "the l0 grid": (
        [set_to("tuning", "sparsities", "l0", value=[3, 6])],
        whole(methods=["l0"]),
    ),
    "the title, and the length of automatic grids when there are none": (
        [
            set_to("report", "title", value="Mine"),
            set_to("tuning", "n_sparsities", value=7),
        ],
        {"report"},
    ),
    "more references": (
        [set_to("tuning", "references", value=4)],
        jobs("reference_path", EVERY, TUNED, 1) | after_path(methods=TUNED),
    ),
    "the rule of choice": ([set_to("tuning", "rule", value="one-se")], after_path(methods=TUNED)),
    "a method less": (
        [set_to("methods", value=["kmeans", "l0"])],
        of_all_methods(),
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_setting_reruns_what_depends_on_it(finished, name):
    changes, expected = CHANGES[name]

    def change(configuration):
        for each in changes:
            each(configuration)

    finished.configure(change)
    try:
        assert finished.planned() == expected
    finally:
        finished.configure()


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        (
            "simulation/phantom/energies.py",
            {"retrieve_ontology"} | atlas("retrieve_atlas"),
        ),
        (
            "expression/zscore.py",
            {"normalise_expression E11.5"} | jobs("normalise_matrix", MATRICES) | whole(),
        ),
        ("cluster/weight_step.py", whole()),
        ("storage/gap_file.py", after_path(methods=TUNED)),
        ("reporting/templates/report.css", {"report"}),
    ],
)
def test_an_edited_source_reruns_the_rules_that_use_it(finished, file, expected):
    source = finished.root / "src" / "sparsekm" / file
    content = source.read_bytes()
    source.write_bytes(content + b"\n")
    try:
        assert finished.planned() == expected
    finally:
        source.write_bytes(content)


def test_touching_scripts_and_sources_and_editing_unused_ones_reruns_nothing(finished):
    for folder in ("scripts", "src", "workflow"):
        for file in (finished.root / folder).rglob("*.*"):
            os.utime(file)
    with (finished.root / "src" / "sparsekm" / "__init__.py").open("a") as source:
        source.write("\n")
    assert finished.planned() == set()


def test_a_changed_input_reruns_its_data_set(finished):
    file = finished.root / "tumours.csv"
    content, before = file.read_bytes(), file.stat()
    file.write_bytes(content.replace(b",a\n", b",c\n"))
    try:
        assert finished.planned() == {"normalise_matrix tumours"} | whole(["tumours"])
    finally:
        file.write_bytes(content)
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
