"""The workflow of workflow/Snakefile, for a checkout; the settings are in config.yaml."""

import os
import sys

# Neither Snakemake nor a job imports anything from this folder, where your own files may be. Snakemake
# puts it first on its import path.
if workflow.modifier.is_main_snakefile():
    sys.path[:] = [path for path in sys.path if path != str(workflow.current_basedir)]
    os.environ |= {"PYTHONSAFEPATH": "1"}


include: "workflow/Snakefile"


# Snakemake does not adopt the default rule of an included file.
rule results:
    """Make the report and everything that it describes."""
    default_target: True
    input:
        rules.all.input,
