"""Download the tree of brain structures and the table of genes; the manifest is written last."""

from pathlib import Path

from atlas_source import open_atlas
from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.atlas.retrieval import retrieve_tables

    retrieve_tables(open_atlas(snakemake), Path(snakemake.output.manifest).parent)
