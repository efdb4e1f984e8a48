"""Tabulate every feature of a data set under every method."""

from workflow_job import run


def main(snakemake, progress):
    """Write each feature's score, rank and weight, and which methods keep it."""
    from sparsekm.annotation.gene_table import gene_table, write_gene_table
    from sparsekm.expression.normalised_file import read_features
    from sparsekm.storage.fit_file import read_fit

    fits = {
        method: read_fit(file)
        for method, file in zip(snakemake.params.methods, snakemake.input.fits, strict=True)
    }
    table = gene_table(read_features(snakemake.input.normalised), fits)
    write_gene_table(table, snakemake.output.genes)


run(main, snakemake)
