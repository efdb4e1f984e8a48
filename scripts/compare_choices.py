"""Compare numbers of clusters and suggest one, or compare the result with other choices."""

import logging

from rule_problem import read_problem
from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    import numpy as np

    from sparsekm.io.store import read_fit
    from sparsekm.io.tables import CHOICES, COUNTS, DIVISIONS
    from sparsekm.tuning.choices import compare_choices

    if not snakemake.input.get("fit"):
        count = progress.counting("numbers of clusters")
        result = read_problem(snakemake).find(progress=count)
        COUNTS.write(snakemake.output.counts, result.numbers)
        DIVISIONS.write(snakemake.output.tried, result.divisions)
        logging.info("%s", result.conclusion)
        return
    fit = read_fit(snakemake.input.fit)
    problem = read_problem(snakemake, n_clusters=len(fit.centers))
    data, labels = problem.kept_by(fit)
    kept, count = np.flatnonzero(fit.weights), progress.counting("choices")
    seed = problem.estimator.random_state
    table = compare_choices(problem.estimator, data, labels, kept, seed=seed, progress=count)
    CHOICES.write(snakemake.output.choices, table)
