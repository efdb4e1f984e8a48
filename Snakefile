"""The workflow of workflow/Snakefile, for a checkout; the settings stand in config.yaml."""

import os
import sys

# Neither Snakemake nor a job imports anything from this folder, where your own files may be. Snakemake
# puts it first on its import path.
if workflow.modifier.is_main_snakefile():
    sys.path[:] = [path for path in sys.path if path != str(workflow.current_basedir)]
    os.environ |= {"PYTHONSAFEPATH": "1"}


include: "workflow/Snakefile"


# The default of an included file is not taken over.
rule results:
    """Make the report, and with it everything that it tells about."""
    default_target: True
    input:
        rules.all.input,
