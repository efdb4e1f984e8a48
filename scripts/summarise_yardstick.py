"""Combine and average the results of all methods on the labelled data sets."""

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    import pandas as pd

    from sparsekm.io.atomic import write_table
    from sparsekm.io.tables import infer_table
    from sparsekm.studies import yardstick

    files, made = snakemake.input.tables, snakemake.output
    table = pd.concat([infer_table(file, "run_yardstick") for file in files])
    summary = yardstick.summarise(table)
    write_table(table, made.table)
    write_table(summary, made.summary)
    write_table(yardstick.count_wins(summary), made.overview)
