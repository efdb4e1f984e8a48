"""Fetch the atlas' files of one age."""

from pathlib import Path

from workflow_job import run


def main(snakemake, progress):
    """Fetch, check and store listing, annotation and energy grids; the manifest comes last."""
    from sparsekm.atlas.retrieval import retrieve_age
    from sparsekm.atlas.sources import open_source

    params = snakemake.params
    retrieve_age(
        open_source(params.source, **params.settings),
        snakemake.wildcards.age,
        Path(snakemake.output.manifest).parent,
        plane=params.plane,
        progress=progress.counting("grids"),
    )


run(main, snakemake)
