"""Let every tuning rule choose on repetitions of one data set."""

from study_replicates import compare_replicates
from workflow_job import run


def main(snakemake, progress):
    """Write a row per repetition and rule."""
    from sparsekm.studies.tuning.comparison import StudyEffort, compare_rules

    compare_replicates(
        snakemake,
        progress,
        lambda data, effort, seed: compare_rules(data, StudyEffort(**effort), seed=seed),
    )


run(main, snakemake)
