"""Choose the number of clusters that stand apart, and write what each number tried showed."""

from rule_problem import read_problem
from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    import logging

    from sparsekm.io.tables import COUNTS
    from sparsekm.tuning.consensus_fit import choose_clusters, describe_counts

    problem = read_problem(snakemake)
    found = choose_clusters(
        problem.estimator,
        problem.tuning_scaled,
        seed=problem.estimator.random_state,
        blocks=problem.tuning_blocks,
        progress=progress.counting("numbers of clusters"),
    )
    COUNTS.write(snakemake.output.counts, found.counts)
    logging.info("%s.", describe_counts(found.counts))
