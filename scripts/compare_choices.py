"""Compare the answer with what other choices would find, and write the table."""

from rule_problem import read_problem
from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    import numpy as np

    from sparsekm.io.store import read_fit
    from sparsekm.io.tables import CHOICES
    from sparsekm.tuning.choices import compare_choices

    fit = read_fit(snakemake.input.fit)
    problem = read_problem(snakemake, n_clusters=len(np.unique(fit.labels)))
    labels = fit.labels if problem.samples is None else fit.labels[problem.samples]
    table = compare_choices(
        *(problem.estimator, problem.tuning_scaled, labels, np.flatnonzero(fit.weights)),
        seed=problem.estimator.random_state,
        progress=progress.counting("choices"),
    )
    CHOICES.write(snakemake.output.choices, table)
