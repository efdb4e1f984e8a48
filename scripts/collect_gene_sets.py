"""Read gene sets, and write them mapped to current terms with all ancestors."""

import logging

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.annotation.annotation_readers import read_gene_sets
    from sparsekm.annotation.gene_set_file import write_gene_sets

    files = snakemake.input
    sets = read_gene_sets(
        snakemake.params.source,
        files.annotations,
        files.ontology or None,
        identifier=snakemake.params.identifier,
    )
    for what, number in sets.notes.items():
        logging.info("%s: %d", what, number)
    logging.info("terms: %d, genes: %d", len(sets.terms), len(sets.genes))
    logging.info("obsolete terms left out: %s", ", ".join(sets.obsolete) or "none")
    write_gene_sets(snakemake.output.sets, sets)
