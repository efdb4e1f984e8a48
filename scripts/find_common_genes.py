"""Find the genes that every age of the atlas can be analysed with."""

from workflow_job import run


def main(snakemake, progress):
    """Screen each age, and list which genes pass everywhere and what is wrong with the others."""
    from sparsekm.atlas.common_genes import COMMON_GENES, find_common_genes

    expressions = dict(zip(snakemake.params.ages, snakemake.input.expressions, strict=True))
    table = find_common_genes(expressions, **snakemake.params.quality_control)
    COMMON_GENES.write(snakemake.output.genes, table)


run(main, snakemake)
