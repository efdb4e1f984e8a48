"""Simulate a matrix of one of the paper's experiments: X, labels and the relevant features."""

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    import numpy as np

    from sparsekm.io.atomic import atomic_path
    from sparsekm.simulation import draw_replicate

    params = snakemake.params
    data = draw_replicate(params.experiment, params.setting, root=params.seed, replicate=0)
    with atomic_path(snakemake.output.matrix) as temporary:
        np.savez(
            temporary,
            X=data.X.astype(np.float32),
            labels=np.array([f"cluster {label + 1}" for label in data.labels]),
            relevant=data.relevant,
        )
