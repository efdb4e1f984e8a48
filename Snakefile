"""The workflow of workflow/Snakefile, for a checkout; the settings stand in config.yaml."""


include: "workflow/Snakefile"


# The default of an included file is not taken over.
rule results:
    """Make the report, and with it everything that it tells about."""
    default_target: True
    input:
        rules.all.input,
