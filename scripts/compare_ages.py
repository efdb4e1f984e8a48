"""Write which genes are kept at each age, and which enter and leave between ages."""

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.annotation import gene_table

    ages = list(snakemake.params.ages)
    files = zip(ages, snakemake.input.genes, strict=True)
    table = gene_table.tabulate_ages({a: gene_table.GENE_TABLE.read(file) for a, file in files})
    gene_table.KEPT_BY_AGE.write(snakemake.output.kept, table)
    gene_table.CHANGES.write(snakemake.output.changes, gene_table.tabulate_changes(table, ages))
