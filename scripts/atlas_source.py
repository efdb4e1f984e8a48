"""What the scripts that fetch the atlas share: opening its source as the configuration says."""


def open_atlas(snakemake):
    """Open the source with the rule's settings, and with the manners to keep towards servers.

    How gently to ask changes no file. So manners are no parameters, for which a rule would run
    again, but are taken from the configuration; the phantom has none.
    """
    from sparsekm.atlas.sources import open_source

    params = snakemake.params
    manners = snakemake.config["atlas"].get(params.source, {}).get("manners", {})
    return open_source(params.source, **params.settings, **manners)
