"""Shared by the scripts that download the atlas: the source given by the configuration."""


def open_atlas(snakemake):
    """Open the source with the settings of the rule and of its requests.

    The settings of requests do not affect the files, so they are read from the configuration: as
    parameters they would rerun the rule when they change. The phantom has none.
    """
    from sparsekm.atlas.sources import open_source

    params = snakemake.params
    http = snakemake.config["atlas"].get(params.source, {}).get("http", {})
    return open_source(params.source, **params.settings, **http)
