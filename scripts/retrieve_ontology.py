"""Fetch what the ages of the atlas have in common: its tree of brain structures, and its genes."""

from atlas_source import open_atlas
from workflow_job import run


def main(snakemake, progress):
    """Fetch the tree and the table of genes, check that they parse, and store them as they came."""
    from sparsekm.atlas.retrieval import retrieve_genes, retrieve_ontology

    source = open_atlas(snakemake)
    retrieve_ontology(source, snakemake.output.ontology)
    retrieve_genes(source, snakemake.output.genes)


run(main, snakemake)
