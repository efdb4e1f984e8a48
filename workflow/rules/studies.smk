"""The studies: the settings, methods and files of each."""

import csv

SIMULATION = config["simulation"]
PAPER_VALUES = paper_file("simulations")
PAPER_CLAIMS = paper_file("claims")


def simulation_effort(wildcards):
    """Return the effort of a simulated row, without settings that it lacks or defines itself."""
    row = METHOD_ROWS[wildcards.row]
    effort = {**SIMULATION, "n_references": SIMULATION["references"]}
    size = ["n_sparsities", "n_refined", "n_references"]
    used = ["n_init", *(size if METHODS[row.method].tuning == "gap" else [])]
    return {
        name: effort[name] for name in used if name not in {**row.options, **row.tuning}
    }


def replicates(wildcards):
    """Return the repetitions of a row: fewer if it judges no claim but explains differences."""
    if wildcards.row in SIMULATION["repeated_variants"]:
        return SIMULATION["repetitions"]
    names = {row: method for method, row in stand_ins(SIMULATION["methods"]).items()}
    method = names.get(wildcards.row, wildcards.row)
    if (wildcards.experiment, wildcards.setting, method) in judged_methods():
        return SIMULATION["repetitions"]
    return min(SIMULATION["repetitions"], SIMULATION["other_repetitions"])


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
    """List (experiment, setting, method) about which the paper makes a claim or prints a number."""
    judged = set(printed_methods())
    with open(PAPER_CLAIMS, newline="") as table:
        for line in csv.DictReader(table):
            judged |= {
                (setting.experiment, setting.name, method)
                for setting in select_settings(line["settings"].split())
                for method in (line["left"], line["right"])
            }
    return judged


def simulated_cells():
    """List every (setting, row); variants are only listed if there is a number to explain."""
    cells = []
    for setting in select_settings(SIMULATION["experiments"]):
        cells += [(setting, METHOD_ROWS[name]) for name in SIMULATION["methods"]]
        for name in SIMULATION["variants"]:
            row = METHOD_ROWS[name]
            if (setting.experiment, setting.name, row.method) in printed_methods():
                cells.append((setting, row))
    return cells


def simulated_files(kind=""):
    """List the tables of repetitions, or those of a kind that the page's first figure shows."""
    cells = simulated_cells()
    if kind:
        first = [cell for cell in cells if cell[0].experiment == "experiment_1"]
        cells = [(setting, row) for setting, row in first if row.method == "l0"]
    return [
        f"results/simulation/{setting.experiment}/{setting.name}/{kind}{row.name}.csv"
        for setting, row in cells
    ]


def simulation_figures():
    """Name the figures of the experiments; the third has none."""
    kinds = {"experiment_1": "overview", "experiment_2": "cer", "experiment_4": "cer"}
    run = {setting.experiment for setting, _ in simulated_cells()}
    return [f"{name}_{kind}" for name, kind in kinds.items() if name in run]


YARDSTICK = config["yardstick"]
# The labelled data sets; without a folder there are none.
found = Path(YARDSTICK["folder"]).glob("*.npz") if YARDSTICK["folder"] else ()
YARDSTICK_SETS = {file.stem: str(file) for file in sorted(found)}


def yardstick_tables(wildcards):
    """List the tables of the yardstick; without labelled data sets it is an error."""
    if not YARDSTICK_SETS:
        raise WorkflowError(
            f"yardstick.folder={YARDSTICK['folder'] or 'null'} should be a folder of labelled sets"
            " (.npz with X and y). Set it in the configuration."
        )
    return expand(
        "results/yardstick/{labelled_set}/{method}.csv",
        labelled_set=YARDSTICK_SETS,
        method=YARDSTICK["methods"],
    )


def yardstick_effort(wildcards):
    """Return the effort of a method that is tuned by the gap; empty for other methods."""
    method = METHODS.get(wildcards.method)
    if not method or method.tuning != "gap":
        return {}
    names = {"n_sparsities": "n_sparsities", "n_references": "references"}
    return {name: YARDSTICK[key] for name, key in names.items()}
