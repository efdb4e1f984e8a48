"""Hold the paper's statements about theory against computations."""

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.io.atomic import write_table
    from sparsekm.studies.theory.checks import run_checks

    write_table(run_checks(snakemake.params.seed), snakemake.output.checks)
