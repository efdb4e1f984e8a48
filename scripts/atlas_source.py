"""Shared by the scripts that download the atlas: the source given by the configuration."""


def open_atlas(snakemake):
    """Open the source with the settings of the rule.

    No file depends on the contact, so it is read from the configuration: as a parameter it would
    rerun the rule when it changes. The phantom has none.
    """
    from sparsekm.atlas import open_source

    params = snakemake.params
    settings = dict(params.settings)
    if params.source == "allen":
        settings["contact"] = snakemake.config["atlas"]["allen"]["contact"]
    return open_source(params.source, **settings)
