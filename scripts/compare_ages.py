"""Compare which genes are kept from age to age."""

from workflow_job import run


def main(snakemake, progress):
    """Write what is said of every gene at every age, and who enters and leaves."""
    from sparsekm.annotation.gene_table import read_gene_table
    from sparsekm.annotation.kept_by_age import CHANGES, tabulate_ages, tabulate_changes
    from sparsekm.io.atomic import write_table

    ages = list(snakemake.params.ages)
    genes = {
        age: read_gene_table(file) for age, file in zip(ages, snakemake.input.genes, strict=True)
    }
    table = tabulate_ages(genes)
    write_table(table, snakemake.output.kept)
    CHANGES.write(snakemake.output.changes, tabulate_changes(table, ages))


run(main, snakemake)
