"""Apply every rule for the sparsity to repetitions of a data set; a row for each."""

from study_replicates import compare_replicates
from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.studies.tuning.comparison import StudyEffort, compare_rules

    compare_replicates(
        snakemake,
        progress,
        lambda data, effort, seed: compare_rules(data, StudyEffort(**effort), seed=seed),
    )
