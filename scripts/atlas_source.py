"""What the scripts that fetch the atlas share: opening its source as the configuration says."""


def open_atlas(snakemake):
    """Open the source with the rule's settings, and with those of its requests.

    How requests are made changes no file, so these settings are read from the configuration:
    were they parameters, the rule would rerun when they change. The phantom has none.
    """
    from sparsekm.atlas.sources import open_source

    params = snakemake.params
    http = snakemake.config["atlas"].get(params.source, {}).get("http", {})
    return open_source(params.source, **params.settings, **http)
