"""Write how often each feature is kept in half of the samples, at the tuned sparsity."""

from rule_problem import read_problem
from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.annotation.stability import count_kept, write_stability
    from sparsekm.io.store import read_fit
    from sparsekm.tuning.fold_fits import blocks_of

    params = snakemake.params
    fit = read_fit(snakemake.input.fit)
    grid = {"sparsities": [fit.sparsity]}
    problem = read_problem(snakemake, n_clusters=fit.attributes["n_clusters"], grid=grid)
    data, _ = problem.kept_by(fit)
    counts = count_kept(
        data,
        problem.estimator,
        fit.sparsity,
        params.subsamples,
        problem.seed,
        screening=fit.screening,
        blocks=blocks_of(data.about, problem.estimator.n_clusters),
        progress=progress.counting("subsamples"),
    )
    features = data.about.features
    write_stability(snakemake.output.stability, features, counts, params.subsamples)
