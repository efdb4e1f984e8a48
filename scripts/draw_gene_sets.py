"""Write the invented terms of the phantom's genes."""

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.atlas.phantom.genes import gene_set_text, plant_genes
    from sparsekm.atlas.phantom.sizes import get_size
    from sparsekm.io.atomic import write_text

    size, seed = snakemake.params.settings["size"], snakemake.params.settings["seed"]
    genes = plant_genes(get_size(size).genes, seed)
    write_text(gene_set_text(genes, seed), snakemake.output.sets)
