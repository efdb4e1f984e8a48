"""The studies: the settings, methods and files of each."""

import csv

SIMULATION = config["simulation"]
STUDIES = {"simulation": SIMULATION, "simulation/preview": SIMULATION["preview"]}
PAPER_VALUES = paper_file("simulations")
PAPER_CLAIMS = paper_file("claims")


def simulation_effort():
    """Return the effort of the simulated methods, unless a method defines its own."""
    return {
        "n_init": SIMULATION["n_init"],
        "n_sparsities": SIMULATION["n_sparsities"],
        "n_references": SIMULATION["references"],
        "n_refined": SIMULATION["n_refined"],
    }


def replicates(wildcards):
    """Return the repetitions of a row: fewer if it judges no claim but explains differences."""
    study = STUDIES[wildcards.study]
    if wildcards.row in study.get("repeated_variants", []):
        return study["replicates"]
    names = {row: method for method, row in stand_ins(study["methods"]).items()}
    method = names.get(wildcards.row, wildcards.row)
    if (wildcards.experiment, wildcards.setting, method) in judged_methods():
        return study["replicates"]
    return min(study["replicates"], study.get("other_replicates", study["replicates"]))


@cache
def printed_methods():
    """List (experiment, setting, method) for which the paper prints a number that can differ.

    The number of features of a method that always keeps all features cannot.
    """
    with open(PAPER_VALUES, newline="") as table:
        return {
            (line["experiment"], line["setting"], line["method"])
            for line in csv.DictReader(table)
            if line["metric"] == "cer" or METHODS[line["method"]].tuning != "none"
        }


@cache
def judged_methods():
    """List (experiment, setting, method) of which the paper claims or prints something."""
    judged = set(printed_methods())
    with open(PAPER_CLAIMS, newline="") as table:
        for line in csv.DictReader(table):
            judged |= {
                (setting.experiment, setting.name, method)
                for setting in select_settings(line["settings"].split())
                for method in (line["left"], line["right"])
            }
    return judged


def simulated_cells(study):
    """List (setting, row) of a study, with variants only if there is a number to explain."""
    chosen = STUDIES[study]
    cells = []
    for setting in select_settings(chosen["experiments"]):
        cells += [(setting, METHOD_ROWS[name]) for name in chosen["methods"]]
        for name in chosen.get("variants", []):
            row = METHOD_ROWS[name]
            if (setting.experiment, setting.name, row.method) in printed_methods():
                cells.append((setting, row))
    return cells


def simulated_files(study):
    """List the tables of repetitions of a study."""
    return [
        f"results/{study}/{setting.experiment}/{setting.name}/{row.name}.csv"
        for setting, row in simulated_cells(study)
    ]


def simulation_figures():
    """Name the figures of the experiments; the third has none."""
    kinds = {"experiment_1": "overview", "experiment_2": "cer", "experiment_4": "cer"}
    run = {setting.experiment for setting, _ in simulated_cells("simulation")}
    return [f"{name}_{kind}" for name, kind in kinds.items() if name in run]


def theory_checks(study):
    """Name what judges the paper's theory; a preview judges nothing."""
    return ["results/theory/checks.csv"] if study == "simulation" else []


def simulation_results(study):
    """Return the inputs of the page about a study, if it has experiments."""
    cells = simulated_cells(study)
    if not cells:
        return {}
    # The first figure shows the tuning of l0 and the features found.
    shown = [
        (setting, row)
        for setting, row in cells
        if setting.experiment == "experiment_1" and row.method == "l0"
    ]
    files = {
        kind: [
            f"results/{study}/{setting.experiment}/{setting.name}/{kind}/{row.name}.csv"
            for setting, row in shown
        ]
        for kind in ("gap", "weights")
    }
    return {
        "repetitions": simulated_files(study),
        "simulated_gaps": files["gap"],
        "simulated_weights": files["weights"],
        "simulation_summary": f"results/{study}/summary.csv",
        "versus_paper": f"results/{study}/versus_paper.csv",
        "claims": f"results/{study}/claims.csv",
    }


TUNING_STUDY = config["tuning_study"]
# Designs set to null are left out.
STUDY_DESIGNS = {
    name: design for name, design in TUNING_STUDY["designs"].items() if design
}
# Without clusters there is no number of clusters to choose.
COUNTED_DESIGNS = [
    name for name, design in STUDY_DESIGNS.items() if design["kind"] != "no_clusters"
]


def study_settings(wildcards):
    """Return the settings or the file of a data set of the study."""
    design = STUDY_DESIGNS[wildcards.design]
    settings = {key: value for key, value in design.items() if key != "kind"}
    if "path" in settings:
        settings.setdefault("max_samples", TUNING_STUDY["max_samples"])
    return settings


def count_effort():
    """Return the effort of the comparison of numbers of clusters on a data set."""
    shared = {
        key: TUNING_STUDY["effort"][key] for key in ("n_init", "min_cluster_size")
    }
    return {**shared, **TUNING_STUDY["counts"]}


YARDSTICK = config["yardstick"]
PUBLISHED_ERRORS = paper_file("real_set_errors")


def labelled_sets():
    """Return the yardstick's data sets with their files; without a folder there are none."""
    folder = YARDSTICK["folder"]
    files = sorted(Path(folder).glob("*.npz")) if folder else []
    return {file.stem: str(file) for file in files}


YARDSTICK_SETS = labelled_sets()


def yardstick_tables(wildcards):
    """List the tables of the yardstick; without labelled data sets it is an error."""
    if not YARDSTICK_SETS:
        raise WorkflowError(
            f"yardstick.folder={YARDSTICK['folder'] or 'null'} should be a folder of labelled sets"
            " (.npz with X and y): set it in the configuration."
        )
    strange = [
        name for name in YARDSTICK_SETS if not re.fullmatch(r"[A-Za-z0-9_.-]+", name)
    ]
    if strange:
        raise WorkflowError(
            f"yardstick.folder={YARDSTICK['folder']}: the names {strange} should consist of"
            " letters, digits, '_', '.' and '-': rename their files."
        )
    return expand(
        "results/yardstick/{labelled_set}/{method}.csv",
        labelled_set=YARDSTICK_SETS,
        method=YARDSTICK["methods"],
    )


def yardstick_effort(wildcards):
    """Return the effort of a method that is tuned by the gap; empty for other methods."""
    return YARDSTICK["gap"] if METHODS[wildcards.method].tuning == "gap" else {}
