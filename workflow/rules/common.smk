"""Checks of the configuration, names of files, and common parameters of the rules."""

import math
import os
import re
import sys
import zipfile
from functools import cache
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.utils import validate

# The project folder, wherever the Snakefile that includes this file or uses it as a module.
ROOT = Path(str(workflow.current_basedir)).parents[1]
if not (ROOT / "scripts" / "workflow_job.py").is_file():
    raise WorkflowError(
        f"{ROOT}/scripts should be a local folder, since its scripts share files. Clone the project"
        " and use workflow/Snakefile in the clone."
    )
# The rules run and digest the sources next to the workflow.
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "workflow")]

from configuration_check import meaning_errors, schema_errors, structure_errors
from sparsekm.annotation.addresses import address_name, is_address
from sparsekm.atlas.phantom.sizes import get_size
from sparsekm.atlas.sources import SOURCES
from sparsekm.io.file_lock import SUPPORTED, is_supported
from sparsekm.pipeline.provenance import file_digest
from sparsekm.pipeline.registry import METHODS
from sparsekm.pipeline.source_digest import source_digest
from sparsekm.studies.paper.plan import METHOD_ROWS, select_settings, stand_ins

if not is_supported():
    raise WorkflowError(SUPPORTED)


def check_configuration():
    """Refuse a configuration that violates the schema or has unknown names."""
    wrong = structure_errors(config)
    if not wrong:
        for section in ("atlas", "matrices", "simulation", "annotation"):
            # Treat an empty section as one without entries.
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
RESAMPLED = [
    method for method in config["methods"] if METHODS[method].tuning == "resampling"
]
UNTUNED = [
    method
    for method in config["methods"]
    if METHODS[method].tuning not in ("gap", "resampling")
]
# Methods that select features by a sparsity.
SELECTING = [method for method in config["methods"] if METHODS[method].penalty]
# Methods whose paths are fitted to all samples, whether or not they run by default.
FITTED = [method for method in METHODS if METHODS[method].tuning != "resampling"]

ANNOTATION = config["annotation"]
# The method for testing whether a data set has clusters: l0, if it is one of the methods.
EVIDENCE_METHOD = sorted(TUNED, key=lambda method: method != "l0")[:1]


def any_of(names):
    """Return a wildcard constraint that matches exactly these names."""
    return "|".join(re.escape(name) for name in names) or "(?!)"


wildcard_constraints:
    age=any_of(ATLAS["ages"]),
    dataset=r"[A-Za-z0-9_.-]+",
    method=r"[a-z0-9]+",
    batch=r"\d+",


def targets():
    """List the final files of a run."""
    return [
        "results/report.html",
        *expand(
            "results/{dataset}/clusters.{kind}", dataset=DATASETS, kind=["csv", "h5ad"]
        ),
    ]


@cache
def code(script, *modules):
    """Digest a script and the package code it uses: a parameter, so that edits rerun its jobs.

    `modules` are those that the script loads by name.
    """
    return source_digest(ROOT / "scripts" / f"{script}.py", modules=modules)


def paper_file(name):
    """Return the path of a table of the paper, relative to where Snakemake runs.

    An absolute path would be a different input in another copy of the project. The rules treat the
    file as ancient and use its digest as a parameter, since a fresh checkout has new time stamps.
    """
    return os.path.relpath(ROOT / "data" / "paper" / f"{name}.csv")
