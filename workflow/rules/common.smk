"""Checks of the configuration, names of files, and what the rules' parameters are made of."""

import os
import re
import sys
from functools import cache
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.utils import validate

# Of the project, wherever the Snakefile is that includes this file or takes it as a module.
ROOT = Path(str(workflow.current_basedir)).parents[1]
if not (ROOT / "scripts" / "workflow_job.py").is_file():
    raise WorkflowError(
        f"{ROOT}/scripts should be a folder of this machine: its scripts share files. Clone the"
        " project, and name workflow/Snakefile of the clone."
    )
# The sources beside the workflow are the ones that the rules run and digest.
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "workflow")]

from configuration_check import meaning_errors, schema_errors, structure_errors
from sparsekm.annotation.addresses import address_name, is_address
from sparsekm.atlas.phantom.sizes import get_size
from sparsekm.atlas.sources import SOURCES
from sparsekm.io.file_lock import SUPPORTED, is_supported
from sparsekm.pipeline.provenance import file_digest
from sparsekm.pipeline.registry import METHODS
from sparsekm.pipeline.source_digest import source_digest
from sparsekm.studies.paper.method_rows import METHOD_ROWS
from sparsekm.studies.paper.settings import select_settings

if not is_supported():
    raise WorkflowError(SUPPORTED)


def check_configuration():
    """Refuse a configuration that breaks the schema, or names what there is not."""
    wrong = structure_errors(config)
    if not wrong:
        for section in ("atlas", "matrices", "simulation", "annotation"):
            # An empty section is one without entries.
            if config.get(section) is None:
                config[section] = {}
        wrong = schema_errors(config)
    if not wrong:
        # This fills in the defaults.
        validate(config, "../schemas/config.schema.yaml")
        wrong = meaning_errors(config)
    if wrong:
        raise WorkflowError("The configuration is wrong.", *wrong)


check_configuration()

ATLAS = config["atlas"]
MATRICES = {
    name: entry for name, entry in config["matrices"].items() if entry is not None
}
DATASETS = [*ATLAS["ages"], *MATRICES]
TUNED = [method for method in config["methods"] if METHODS[method].tuning == "gap"]
TUNED_BY_GAP = TUNED if config["tuning"]["criterion"] == "gap" else []
TUNED_BY_STABILITY = TUNED if config["tuning"]["criterion"] == "stability" else []
RESAMPLED = [
    method for method in config["methods"] if METHODS[method].tuning == "resampling"
]
UNTUNED = [
    method
    for method in config["methods"]
    if METHODS[method].tuning not in ("gap", "resampling")
]
# All that choose features by a sparsity.
SELECTING = [method for method in config["methods"] if METHODS[method].penalty]
# Those whose paths are fitted to all samples, whether or not they run by default.
FITTED = [method for method in METHODS if METHODS[method].tuning != "resampling"]

ANNOTATION = config["annotation"]
# Whether a data set has clusters is asked with one method: l0, where that is among them.
EVIDENCE_METHOD = sorted(TUNED, key=lambda method: method != "l0")[:1]


def any_of(names):
    """Give a wildcard's constraint that lets these names through and nothing else."""
    return "|".join(re.escape(name) for name in names) or "(?!)"


wildcard_constraints:
    age=any_of(ATLAS["ages"]),
    dataset=r"[A-Za-z0-9_.-]+",
    method=r"[a-z0-9]+",
    batch=r"\d+",


def targets():
    """List the files that a whole run ends in."""
    return [
        "results/report.html",
        *expand(
            "results/{dataset}/clusters.{kind}", dataset=DATASETS, kind=["csv", "h5ad"]
        ),
    ]


@cache
def code(script, *modules):
    """Digest a script and the package code it uses: a parameter, so that edits rerun its jobs.

    Modules that the script loads by name count where they are named here.
    """
    return source_digest(ROOT / "scripts" / f"{script}.py", modules=modules)


def paper_file(name):
    """Name a table of the paper's, from where Snakemake works.

    An absolute name would be another input in another copy of the project. Its rules take it as
    ancient, and its digest as a parameter: a fresh checkout has new time stamps.
    """
    return os.path.relpath(ROOT / "data" / "paper" / f"{name}.csv")
