"""The workflow of workflow/Snakefile, for a checkout; the settings stand in config.yaml."""

import sys

# Snakemake puts the folder of this file first on the import path, but your own files may be there.
sys.path[:] = [path for path in sys.path if path != str(workflow.current_basedir)]


include: "workflow/Snakefile"


# The default of an included file is not taken over.
rule results:
    """Make the report, and with it everything that it tells about."""
    default_target: True
    input:
        rules.all.input,
