"""Compare numbers of clusters, of which the data suggest one, or the answer with other choices."""

import logging

from rule_problem import read_problem
from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    import numpy as np

    from sparsekm.io.store import read_fit
    from sparsekm.io.tables import CHOICES, COUNTS
    from sparsekm.pipeline.problem import find_clusters
    from sparsekm.tuning.choices import compare_choices
    from sparsekm.tuning.chosen_fit import describe_counts, most_clusters

    fit = read_fit(snakemake.input.fit) if snakemake.input.get("fit") else None
    settings = {} if fit is None else {"n_clusters": len(np.unique(fit.labels))}
    problem = read_problem(snakemake, **settings)
    if fit is None and problem.data is not problem.whole:
        # So many clusters that none is taken for outliers.
        most = most_clusters(problem.whole.X.shape[0])
        problem = read_problem(snakemake, n_clusters=most)
    if fit is None:
        count = progress.counting("numbers of clusters")
        found = find_clusters(problem, choose=True, progress=count)
        COUNTS.write(snakemake.output.counts, found.counts)
        logging.info("%s.", describe_counts(found.counts))
        return
    labels = fit.labels[problem.rows]
    labels = labels if problem.samples is None else labels[problem.samples]
    kept, count = np.flatnonzero(fit.weights), progress.counting("choices")
    given = problem.estimator, problem.tuning, labels, kept
    table = compare_choices(*given, seed=problem.estimator.random_state, progress=count)
    CHOICES.write(snakemake.output.choices, table)
