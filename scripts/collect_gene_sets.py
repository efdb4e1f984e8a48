"""Read gene sets, and write them mapped to current terms with all ancestors.

Others made the files, so a child process with limits reads them.
"""

import logging

from workflow_job import job


def collect(snakemake):
    """Read and check the source's files, write the sets, and log what was left out."""
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


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.annotation.text_lines import MOST_MEMORY
    from sparsekm.io.bounded_child import Allowance, run_bounded

    file = snakemake.input.annotations
    run_bounded(file, lambda: collect(snakemake), lambda: Allowance(MOST_MEMORY))
