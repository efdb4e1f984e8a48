"""Copy or download the file of gene sets that the configuration names, if all of it can be read."""

import logging
import shutil

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.annotation.gene_sets import fetch_gene_sets, read_gene_sets
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
