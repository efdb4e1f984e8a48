"""Cluster subsets of the samples at every sparsity, and compare with the path of all samples."""

from posed_problem import pose
from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    import numpy as np

    from sparsekm.io.path_file import read_path
    from sparsekm.io.split_file import Splits
    from sparsekm.tuning.resampling import gather_resamplings, resample

    params = snakemake.params
    problem = pose(snakemake)
    X = problem.tuning_data
    path, _ = read_path(snakemake.input.path)
    found = []
    for index in params.indices:
        found.append(
            resample(
                problem.estimator,
                X,
                path.sparsities,
                scheme="subsample",
                index=index,
                seed=problem.seed,
                labels=path.labels,
                blocks=problem.tuning_blocks,
            )
        )
        progress(len(found), len(params.indices), "splits")
    agreements, selections, n_fits = gather_resamplings(found)
    splits = Splits(
        indices=np.array(params.indices),
        sparsities=path.sparsities,
        agreements=agreements,
        selections=selections,
        n_fits=n_fits,
        attributes={**problem.attributes, "scheme": "subsample"},
    )
    splits.write(snakemake.output.splits)
