"""Count how often half of the samples keep each feature, at the tuned sparsity."""

from posed_problem import pose
from workflow_job import run


def main(snakemake, progress):
    """Cluster the halves from the tuned labels on and write the share that keeps each feature."""
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
        problem.data.X,
        problem.estimator.set_params(sparsity=sparsity),
        fit.labels,
        params.subsamples,
        problem.seed,
        progress=progress.counting("subsamples"),
    )
    write_stability(snakemake.output.stability, problem.data.features, counts, params.subsamples)


run(main, snakemake)
