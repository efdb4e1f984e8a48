"""Apply every rule for the number of clusters to repetitions of a data set; a row for each."""

from study_replicates import compare_replicates
from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.studies.tuning.count_comparison import compare_count_rules

    compare_replicates(
        snakemake,
        progress,
        lambda data, effort, seed: compare_count_rules(data, **effort, seed=seed),
    )
