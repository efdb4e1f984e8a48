"""Copy or download the file of gene sets that the configuration names, if all of it can be read.

Others made the file, so a child process with limits reads it.
"""

import logging
import shutil

from workflow_job import job


def collect(snakemake):
    """Store the file once it has been read whole."""
    from sparsekm.annotation.gene_set_download import fetch_gene_sets
    from sparsekm.annotation.gene_sets import read_gene_sets
    from sparsekm.io.atomic import atomic_path
    from sparsekm.network import Downloader

    params, output = snakemake.params, snakemake.output.sets
    if params.url:
        downloader = Downloader(snakemake.config["atlas"]["allen"]["contact"])
        fetch_gene_sets(downloader, params.url, output, params.identifier)
    else:
        sets = read_gene_sets(snakemake.input.file, params.identifier)
        logging.info("terms: %d, genes: %d", len(sets.terms), len(sets.genes))
        with atomic_path(output) as temporary:
            shutil.copyfile(snakemake.input.file, temporary)


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.annotation.gene_sets import MOST_MEMORY
    from sparsekm.io.bounded_child import Allowance, run_bounded

    file = snakemake.params.url or snakemake.input.file
    run_bounded(file, lambda: collect(snakemake), lambda: Allowance(MOST_MEMORY))
