"""List the genes that pass quality control at every age, and why the other genes fail."""

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.atlas.expression import COMMON_GENES, find_common_genes

    expressions = dict(zip(snakemake.params.ages, snakemake.input.expressions, strict=True))
    table = find_common_genes(expressions, **snakemake.params.quality_control)
    COMMON_GENES.write(snakemake.output.genes, table)
