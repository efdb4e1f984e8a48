"""Cluster a batch of reference data sets at every sparsity of a method's grid."""

from workflow_job import run


def main(snakemake, progress):
    """Fit the path of each reference, one in memory at a time, and write the objectives."""
    import numpy as np

    from sparsekm.expression.problem import pose_problem
    from sparsekm.storage.reference_file import References, write_references
    from sparsekm.tuning.references import reference_objectives

    params, wildcards = snakemake.params, snakemake.wildcards
    problem = pose_problem(
        snakemake.input.normalised,
        wildcards.dataset,
        wildcards.method,
        seed=params.seed,
        n_clusters=params.n_clusters,
        search=params.search,
        grid=params.grid,
        code_digest=params.code,
        n_jobs=snakemake.threads,
    )
    objectives = []
    for index in params.indices:
        objectives.append(
            reference_objectives(
                problem.estimator,
                problem.data.X,
                problem.sparsities,
                index=index,
                seed=problem.seed,
                reference=params.reference,
            )
        )
        progress(len(objectives), len(params.indices), "references")
    references = References(
        indices=np.array(params.indices),
        sparsities=problem.sparsities,
        objectives=np.array(objectives),
        attributes={**problem.attributes, "reference": params.reference},
    )
    write_references(snakemake.output.references, references)


run(main, snakemake)
