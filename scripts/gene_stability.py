"""Write how often each feature is kept in half of the samples, at the tuned sparsity."""

from posed_problem import pose
from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.annotation.stability import count_kept, write_stability
    from sparsekm.io.fit_files import read_fit
    from sparsekm.tuning.resampled_paths import FAMILIES

    params = snakemake.params
    fit = read_fit(snakemake.input.fit)
    grid = {"sparsities": [fit.sparsity]}
    problem = pose(snakemake, n_clusters=fit.attributes["n_clusters"], grid=grid)
    counts = count_kept(
        problem.tuning_data,
        problem.estimator,
        fit.sparsity,
        params.subsamples,
        problem.seed,
        # Of the starts whose resamplings the fit is the consensus of, if it is one.
        family=fit.attributes.get("family", FAMILIES[0]),
        blocks=problem.tuning_blocks,
        progress=progress.counting("subsamples"),
    )
    write_stability(snakemake.output.stability, problem.data.features, counts, params.subsamples)
