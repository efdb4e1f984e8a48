"""Cluster a batch of references, one in memory at a time, and write the objectives."""

from rule_problem import read_problem
from workflow_job import job


@job(snakemake)
def main(snakemake, progress):

    from sparsekm.cluster.matrices.dense_parts import as_dense
    from sparsekm.io.store import REFERENCES
    from sparsekm.tuning.references import SPATIAL, reference_objectives

    params = snakemake.params
    problem = read_problem(snakemake)
    positions = problem.tuning.about.positions
    if params.reference == SPATIAL and positions is None:
        raise ValueError(
            "the setting `tuning.reference: spatial` needs positions in space, but "
            f"{snakemake.wildcards.dataset} has none. Ages of the atlas have positions, and so do "
            'AnnData files with obsm["spatial"]. Set tuning.reference: permutation.'
        )
    X = problem.tuning.X
    if params.reference != "permutation":
        # The other kinds of references are never sparse.
        X = as_dense(X)
    shared = {"seed": problem.seed, "reference": params.reference, "positions": positions}
    objectives = []
    for index in params.indices:
        objectives.append(
            reference_objectives(problem.estimator, X, problem.sparsities, index=index, **shared)
        )
        progress(len(objectives), len(params.indices), "references")
    arrays = {"indices": params.indices, "sparsities": problem.sparsities}
    arrays["objectives"] = objectives
    attributes = {**problem.attributes, "reference": params.reference}
    REFERENCES.write(snakemake.output.references, arrays, attributes)
