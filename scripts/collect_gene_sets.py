"""Draw the phantom's gene sets, or copy or download the user's if the whole file is valid."""

import json
import logging
import os
import shutil

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.annotation.gene_sets import fetch_gene_sets, read_gene_sets
    from sparsekm.atlas.phantom import genes, get_size
    from sparsekm.io.atomic import atomic_path, write_text
    from sparsekm.network import Downloader

    params, output = snakemake.params, snakemake.output.sets
    if phantom := params.phantom:
        drawn = genes.plant_genes(get_size(phantom["size"]), phantom["seed"])
        write_text(genes.gene_set_text(drawn, phantom["seed"]), output)
    elif params.url:
        downloader = Downloader(snakemake.config["atlas"]["allen"]["contact"])
        address = json.loads(os.environ["SPARSEKM_GENE_SETS"])[params.url]
        fetch_gene_sets(downloader, address, output, params.identifier)
    else:
        sets = read_gene_sets(snakemake.input.file, params.identifier)
        logging.info("terms: %d, genes: %d", len(sets.terms), len(sets.genes))
        with atomic_path(output) as temporary:
            shutil.copyfile(snakemake.input.file, temporary)
