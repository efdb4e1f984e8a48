"""Let every rule choose the number of clusters on repetitions of one data set."""

from study_replicates import compare_replicates
from workflow_job import run


def main(snakemake, progress):
    """Write a row per repetition and rule."""
    from sparsekm.studies.tuning.count_comparison import compare_count_rules

    compare_replicates(
        snakemake,
        progress,
        lambda data, effort, seed: compare_count_rules(data, **effort, seed=seed),
    )


run(main, snakemake)
