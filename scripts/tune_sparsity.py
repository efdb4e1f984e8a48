"""Choose a sparsity from the gap curve; write the curve and the fit."""

from rule_problem import read_problem
from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from dataclasses import replace

    from sparsekm.cluster.matrices.streamed_matrix import in_blocks
    from sparsekm.io.store import read_path, read_references, write_fit
    from sparsekm.io.tables import GAP
    from sparsekm.pipeline.problem import describe_fit
    from sparsekm.tuning.gap import feature_limit, gap_curve, select_sparsity

    files, params, output = snakemake.input, snakemake.params, snakemake.output
    path, attributes = read_path(files.path)
    objectives, about_references = read_references(files.references, path.sparsities)
    gap = gap_curve(path, objectives)
    attributes["reference"] = about_references["reference"]
    attributes["n_references"] = len(objectives)
    attributes["rule"] = params.rule
    problem = read_problem(snakemake)
    limit = None
    if params.rule == "auto":
        # Copies of a sample would increase correlations.
        once = replace(path, labels=path.labels[:, problem.each_once])
        limit = feature_limit(problem.tuning.X[problem.each_once], once, gap)
    chosen = select_sparsity(gap, params.rule, limit)
    if problem.samples is None:
        best = path.fit_at(chosen)
    else:
        sparsities = path.sparsities[[chosen]]
        best = problem.estimator.path(in_blocks(problem.data.X), sparsities).fit_at(0)
    if limit is not None:
        attributes["limited"] = limit.decides(gap, chosen)
    GAP.write(output.gap, gap, chosen)
    fit = describe_fit(problem, best, attributes, attributes["n_clusters"])
    if limit is not None:
        fit = replace(fit, conclusion=limit.sentence(gap, chosen))
    write_fit(output.fit, fit)
