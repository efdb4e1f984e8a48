"""Compare numbers of clusters, write the comparison, and log which number is suggested."""

from posed_problem import pose
from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    import logging

    import pandas as pd

    from sparsekm.io.tables import COUNTS
    from sparsekm.pipeline.cluster_count import describe_choice
    from sparsekm.tuning.number_of_clusters import (
        compare_cluster_counts,
        largest_count,
        select_cluster_count,
    )

    params, output = snakemake.params, snakemake.output
    problem = pose(snakemake)
    X, estimator = problem.tuning_data, problem.estimator
    n_samples = X.shape[0]
    most = largest_count(n_samples, estimator.min_cluster_size)
    counts = [count for count in params.counts if count <= most]
    if not counts:
        raise ValueError(
            f"tuning.counts={params.counts} should hold a number <= {most}: {n_samples=} "
            f"have no room for more clusters of min_cluster_size={estimator.min_cluster_size}. "
            "Set n_clusters, or a smaller min_cluster_size."
        )
    tables = []
    for done, count in enumerate(counts, 1):
        table = compare_cluster_counts(
            estimator,
            X,
            [count],
            sparsities=problem.sparsities,
            **params.effort,
            n_jobs=snakemake.threads,
            random_state=problem.seed,
        )
        tables.append(table)
        progress(done, len(counts), "numbers of clusters")
    table = pd.concat(tables, ignore_index=True)
    table["chosen"] = table["n_clusters"] == select_cluster_count(table, "excess")
    COUNTS.write(output.counts, table)
    logging.info("%s", describe_choice(table))
