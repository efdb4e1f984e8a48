"""Ask whether a data set has clusters at all."""

from posed_problem import pose
from workflow_job import run


def main(snakemake, progress):
    """Compare halves of the samples with halves of data without clusters, and write one row."""
    import pandas as pd

    from sparsekm.storage.atomic import write_table
    from sparsekm.storage.fit_file import read_fit
    from sparsekm.tuning.evidence import weigh_evidence
    from sparsekm.tuning.noise_correlation import fair_reference, noise_correlation

    params, wildcards = snakemake.params, snakemake.wildcards
    problem = pose(snakemake)
    fit = read_fit(snakemake.input.fit)
    correlation = noise_correlation(problem.data.X, fit.labels, fit.weights)
    evidence = weigh_evidence(
        problem.estimator,
        problem.data.X,
        problem.sparsities,
        reference=fair_reference(correlation),
        n_references=params.n_references,
        seed=problem.seed,
        progress=progress.counting("references"),
    )
    row = {
        "dataset": wildcards.dataset,
        "method": wildcards.method,
        "noise_correlation": correlation.mean,
        "reference": evidence.reference,
        "n_references": params.n_references,
        "stability": evidence.stability,
        "reference_mean": evidence.reference_stabilities.mean(),
        "reference_max": evidence.reference_stabilities.max(),
        "strength": evidence.strength,
        "has_clusters": evidence.has_clusters,
        "conclusion": evidence.sentence(),
    }
    write_table(pd.DataFrame([row]), snakemake.output.evidence)


run(main, snakemake)
