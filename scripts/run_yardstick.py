"""Run one method on one labelled data set, and write a row for each seed."""

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.io.atomic import write_table
    from sparsekm.studies.yardstick import run_seeds

    files, wildcards, draws = snakemake.input, snakemake.wildcards, snakemake.params.draws
    seeds = range(draws["seed"], draws["seed"] + draws["seeds"])
    effort = {"max_samples": draws["max_samples"], "effort": snakemake.params.effort}
    table = run_seeds(files.labelled, wildcards.method, seeds, **effort)
    write_table(table, snakemake.output.table)
