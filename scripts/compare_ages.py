"""Write which genes are kept at each age, and which enter and leave between ages."""

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.annotation.gene_table import (
        CHANGES,
        GENE_TABLE,
        KEPT_BY_AGE,
        tabulate_ages,
        tabulate_changes,
    )

    ages = list(snakemake.params.ages)
    files = zip(ages, snakemake.input.genes, strict=True)
    table = tabulate_ages({age: GENE_TABLE.read(file) for age, file in files})
    KEPT_BY_AGE.write(snakemake.output.kept, table)
    CHANGES.write(snakemake.output.changes, tabulate_changes(table, ages))
