"""Download and check the atlas' files of an age; the manifest is written last."""

from pathlib import Path

from atlas_source import open_atlas
from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
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
