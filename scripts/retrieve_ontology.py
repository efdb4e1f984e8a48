"""Fetch the atlas' tree of brain structures."""

from workflow_job import run


def main(snakemake, progress):
    """Fetch the tree, check that it parses, and store it as it came."""
    from sparsekm.atlas.retrieval import retrieve_ontology
    from sparsekm.atlas.sources import open_source

    retrieve_ontology(open_source(snakemake.params.source), snakemake.output.ontology)


run(main, snakemake)
