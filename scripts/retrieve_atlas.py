"""Fetch the atlas' files of one age."""

from pathlib import Path

from atlas_source import open_atlas
from workflow_job import run


def main(snakemake, progress):
    """Fetch, check and store listing, annotation and energy grids; the manifest comes last."""
    from sparsekm.atlas.retrieval import retrieve_age

    params = snakemake.params
    retrieve_age(
        open_atlas(snakemake),
        snakemake.wildcards.age,
        Path(snakemake.output.manifest).parent,
        plane=params.plane,
        max_not_fetched=params.max_not_fetched,
        progress=progress.counting("grids"),
    )


run(main, snakemake)
