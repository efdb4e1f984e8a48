"""Checks of the configuration, names of files, and common parameters of the rules."""

import json
import math
import os
import re
from functools import cache, partial
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.settings.types import DeploymentMethod

from configuration_check import check_configuration, set_by_user
from sparsekm.annotation import address_name, is_address
from sparsekm.atlas.phantom import get_size
from sparsekm.atlas import SOURCES
from sparsekm.io.atomic import SUPPORTED, is_supported
from sparsekm.io.input_error import hide_secrets
from sparsekm.pipeline.bounded_process import run_bounded
from sparsekm.pipeline.input_sizes import array_megabytes, bytes_of, held_megabytes
from sparsekm.pipeline.provenance import computing_versions, input_digest, source_digest
from sparsekm.pipeline.registry import METHODS
from sparsekm.pipeline.workflow_files import left_behind, record_files
from sparsekm.studies import METHOD_ROWS, select_settings, stand_ins

if not is_supported():
    raise WorkflowError(SUPPORTED)


if wrong := check_configuration(config):
    raise WorkflowError("The configuration is wrong.", *wrong)

ATLAS = config["atlas"]
MATRICES = {
    name: entry for name, entry in config["matrices"].items() if entry is not None
}
DATASETS = [*ATLAS["ages"], *MATRICES]
# Each source has its own folder, so that downloads stay when the source changes.
RAW = f"data/raw/{ATLAS['source']}"
# Then jobs run locally: cluster nodes often have no network.
IS_DOWNLOADED = ATLAS["source"] == "allen"
TUNED, RESAMPLED = (
    [method for method in config["methods"] if METHODS[method].tuning == kind]
    for kind in ("gap", "resampling")
)
UNTUNED = [name for name in config["methods"] if name not in TUNED + RESAMPLED]
# Methods that select features by a sparsity.
SELECTING = [method for method in config["methods"] if METHODS[method].penalty]
# Methods whose paths are fitted to all samples, whether or not they run by default.
FITTED = [method for method in METHODS if METHODS[method].tuning != "resampling"]

ANNOTATION = config["annotation"]


def any_of(names):
    """Return a wildcard constraint that matches exactly these names."""
    return "|".join(re.escape(name) for name in names) or "(?!)"


wildcard_constraints:
    age=any_of(ATLAS["ages"]),
    dataset=r"[A-Za-z0-9_.-]+",
    method=r"[a-z0-9]+",
    batch=r"\d+",


digest_code = cache(source_digest)


def code(script, *modules, versions=""):
    """Return a parameter: the digest of the code that a job uses, with the module of its method."""

    def digest(wildcards):
        row = METHOD_ROWS.get(wildcards.get("row"))
        method = METHODS.get(row.method if row else wildcards.get("method"))
        own = [method.module] if method else []
        return digest_code(ROOT / "scripts" / f"{script}.py", *modules, *own) + versions

    return digest


# Another minor version of a computing package may change results. With conda, the environment file
# decides.
by_conda = DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method
code_and_versions = partial(
    code, versions="" if by_conda else f", {computing_versions()}"
)


def as_is(value):
    """Return a parameter with a user's text, in which Snakemake would otherwise format braces."""
    return lambda wildcards: value


def content(*files):
    """Digest files that are not outputs, for a parameter: their content decides what reruns.

    Time stamps alone would miss a file that is replaced by an older one. A file that cannot be read
    has no digest; Snakemake or the job reports it.
    """

    def digest(file):
        try:
            is_kept = Path(file).is_file() or Path(file).is_dir()
            return input_digest(file) if is_kept else None
        except OSError:
            return None

    return [digest(file) for file in files if file]


def listed(file, category, dataset, table):
    """Return an output that Snakemake's own report shows, with the caption of its name."""
    caption = f"../report/{Path(file).stem}.rst"
    labels = {"data set": dataset, "table": table}
    return report(file, caption=caption, category=category, labels=labels)


def paper_file(name):
    """Return the path of a table of the paper, relative to where Snakemake runs.

    An absolute path would be a different input in another copy of the project. The rules treat the
    file as ancient and use its digest as a parameter, because a fresh checkout has new time stamps.
    """
    return local(os.path.relpath(ROOT / "data" / "paper" / f"{name}.csv"))
