"""Write the phantom's invented ontology and the annotations of its genes, in the real formats."""

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.atlas.phantom.genes import plant_genes
    from sparsekm.atlas.phantom.invented_ontology import annotation_text, ontology_text
    from sparsekm.atlas.phantom.sizes import get_size
    from sparsekm.io.atomic import write_text

    size, seed = snakemake.params.settings["size"], snakemake.params.settings["seed"]
    genes = plant_genes(get_size(size).genes, seed)
    write_text(annotation_text(genes, seed), snakemake.output.annotations)
    write_text(ontology_text(), snakemake.output.ontology)
