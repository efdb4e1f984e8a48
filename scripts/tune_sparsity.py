"""Choose a sparsity from the gap curve; write the curve and the fit of all samples."""

from posed_problem import pose
from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    import numpy as np

    from sparsekm.io.fit_file import write_fit
    from sparsekm.io.gap_file import GAP
    from sparsekm.io.path_file import pick_fit, read_path
    from sparsekm.io.reference_file import References
    from sparsekm.pipeline.problem import cluster_means
    from sparsekm.tuning.feature_limit import feature_limit
    from sparsekm.tuning.gap import gap_curve
    from sparsekm.tuning.selection import select_sparsity

    path, attributes = read_path(snakemake.input.path)
    references = References.read(snakemake.input.references)
    references.check_grid(snakemake.input.references[0], path.sparsities)
    n_selected = np.count_nonzero(path.weights, axis=1)
    gap = gap_curve(path.sparsities, n_selected, path.first_objectives, references.objectives)
    rule = snakemake.params.rule
    problem = pose(snakemake)
    limit = feature_limit(problem.tuning_data, path) if rule == "auto" else None
    chosen = select_sparsity(gap, rule, limit)
    position = int(np.argsort(path.sparsities, kind="stable")[chosen])
    fit = problem.fit_everyone(path, position)
    centers = cluster_means(problem.data, fit.labels[0], attributes["n_clusters"])
    attributes.update(
        rule=rule,
        reference=references.attributes["reference"],
        n_references=len(references.indices),
    )
    if limit is not None:
        attributes["conclusion"] = limit.sentence(gap, chosen)
    GAP.write(snakemake.output.gap, gap, chosen)
    write_fit(snakemake.output.fit, pick_fit(fit, 0, centers, attributes))
