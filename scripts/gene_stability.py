"""Write how often each feature is kept in half of the samples, at the tuned sparsity."""

from posed_problem import pose
from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.annotation.gene_stability_file import write_stability
    from sparsekm.annotation.stability import count_kept
    from sparsekm.cluster.validation import resolve_sparsities
    from sparsekm.io.fit_file import read_fit

    params = snakemake.params
    fit = read_fit(snakemake.input.fit)
    grid = {"sparsities": [fit.sparsity]}
    problem = pose(snakemake, n_clusters=fit.attributes["n_clusters"], grid=grid)
    penalty, n_features = problem.estimator.penalty, problem.data.X.shape[1]
    (sparsity,) = resolve_sparsities(penalty, [fit.sparsity], n_features)
    counts = count_kept(
        problem.tuning_data,
        problem.estimator.set_params(sparsity=sparsity),
        fit.labels if problem.samples is None else fit.labels[problem.samples],
        params.subsamples,
        problem.seed,
        blocks=problem.tuning_blocks,
        progress=progress.counting("subsamples"),
    )
    write_stability(snakemake.output.stability, problem.data.features, counts, params.subsamples)
