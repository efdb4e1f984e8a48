"""Run one method on one labelled data set with every seed; a row for each."""

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.io.atomic import write_table
    from sparsekm.studies.yardstick import run_seeds

    draws, effort = snakemake.params.draws, snakemake.params.effort
    table = run_seeds(
        snakemake.input.labelled,
        snakemake.wildcards.method,
        range(draws["seed"], draws["seed"] + draws["seeds"]),
        max_samples=draws["max_samples"],
        effort=effort,
        progress=progress.counting("seeds"),
    )
    write_table(table, snakemake.output.table)
