"""Download the tree of brain structures and the table of genes, and store them if they parse."""

from atlas_source import open_atlas
from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.atlas.retrieval import retrieve_genes, retrieve_ontology

    source = open_atlas(snakemake)
    retrieve_ontology(source, snakemake.output.ontology)
    retrieve_genes(source, snakemake.output.genes)
