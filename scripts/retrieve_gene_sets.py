"""Fetch a file that gene sets are read from."""

from workflow_job import run


def main(snakemake, progress):
    """Fetch it from the cache or its address, and store it once it has been read whole."""
    from sparsekm.annotation.gene_set_download import fetch_gene_sets
    from sparsekm.atlas.allen.patience import Patience

    # How gently to ask changes no file: manners are no parameters, whose change runs rules again.
    manners = snakemake.config["atlas"]["allen"]["manners"]
    names = ("cache", "requests_per_second", "contact")
    timeouts = {name: value for name, value in manners.items() if name.endswith("_timeout")}
    fetch_gene_sets(
        snakemake.params.url,
        snakemake.output[0],
        snakemake.params.kind,
        patience=Patience(tries=manners["tries"]),
        **{name: manners[name] for name in names},
        **timeouts,
    )


run(main, snakemake)
