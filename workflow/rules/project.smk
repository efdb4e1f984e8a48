"""The project's folder, whether it is a module, and whether the configuration can be read."""

import os
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

# The project's folder does not depend on the Snakefile that includes this file or uses it as a
# module.
ROOT = Path(str(workflow.current_basedir)).parents[1]
if not (ROOT / "scripts" / "workflow_job.py").is_file():
    raise WorkflowError(
        f"{ROOT}/scripts should be a local folder, because its scripts share files. Clone the project"
        " and use workflow/Snakefile in the clone."
    )
# The rules run and digest the sources next to the workflow. In the process of a host, which uses
# this workflow as a module, they come last on the import path and hide nothing.
IS_MODULE = not workflow.modifier.is_main_snakefile()
if IS_MODULE:
    sys.path.append(str(ROOT / "src"))
else:
    # Snakemake's relative entry, for plugins, is in the folder of the run.
    sys.path[:] = [str(ROOT / "src"), *filter(os.path.isabs, sys.path)]

# The paths of rules have no variables, so a host's variables would change nothing.
parent = workflow.modifier.parent_modifier
if IS_MODULE and workflow.pathvars.items != parent.pathvars.items:
    raise WorkflowError(
        "pathvars: should be left out of the module, whose paths have no variables. Use prefix or"
        " replace_prefix instead."
    )

# Jobs on this machine share three quarters of its memory, for any number of cores. A host decides
# for itself, and so does a cluster (which has a number of nodes, even if it is 1).
# `--resources mem_mb=4000` changes this.
is_cluster = workflow.remote_exec or workflow.resource_settings.nodes is not None
if not (IS_MODULE or is_cluster or "mem_mb" in workflow.global_resources):
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    workflow.register_resource("mem_mb", memory * 3 // 4 // 10**6)

from sparsekm.command.configuration import path_rule, read_configuration
from sparsekm.io.input_error import InputError

if rule := path_rule(str(Path.cwd())):
    raise WorkflowError(f"{Path.cwd()}: the folder to run in should {rule}. Rename it.")

# The configuration is checked here, because Snakemake's errors name neither file nor line, and it
# takes the last of two equal keys. A host has its own configuration.
for file in map(Path, workflow.overwrite_configfiles or ["config.yaml"]):
    is_own = file.exists() and not workflow.modifier.skip_configfile
    if is_own and file.suffix != ".json":
        try:
            read_configuration(file)
        except InputError as error:
            raise WorkflowError(str(error)) from None
