"""Write how often each feature is kept in half of the samples, at the tuned sparsity."""

from rule_problem import read_problem
from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.annotation.stability import count_kept, write_stability
    from sparsekm.io.store import read_fit

    params = snakemake.params
    fit = read_fit(snakemake.input.fit)
    grid = {"sparsities": [fit.sparsity]}
    problem = read_problem(snakemake, n_clusters=fit.attributes["n_clusters"], grid=grid)
    counts = count_kept(
        *(problem.tuning, problem.estimator, fit.sparsity, params.subsamples, problem.seed),
        screening=fit.attributes.get("screening"),
        blocks=problem.blocks_of(problem.tuning),
        progress=progress.counting("subsamples"),
    )
    write_stability(snakemake.output.stability, problem.data.features, counts, params.subsamples)
