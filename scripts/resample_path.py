"""Fit paths to a batch of resamplings, from several kinds of start; write what they find."""

from posed_problem import pose
from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    import numpy as np

    from sparsekm.io.resampling_file import Resamplings
    from sparsekm.tuning.resampled_paths import resample_all

    params = snakemake.params
    problem = pose(snakemake)
    X, estimator = problem.tuning_data, problem.estimator
    # Refuse data that cannot be clustered before resampling.
    estimator.check(X)
    paths = resample_all(
        estimator,
        X,
        problem.sparsities,
        params.indices,
        seed=estimator.random_state,
        blocks=problem.tuning_blocks,
        progress=progress.counting("resamplings"),
    )
    found = Resamplings(np.array(params.indices), problem.sparsities, paths, problem.attributes)
    found.write(snakemake.output.resamplings)
