"""Choose a sparsity from the gap curve; write the curve and the fit of all samples."""

from gap_of_paths import read_gap
from rule_problem import read_problem
from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.io.store import pick_fit, read_path, write_fit
    from sparsekm.io.tables import GAP
    from sparsekm.pipeline.problem import cluster_means
    from sparsekm.tuning.feature_limit import feature_limit
    from sparsekm.tuning.selection import select_sparsity

    rule = snakemake.params.rule
    path, gap, attributes = read_gap(snakemake.input)
    attributes["rule"] = rule
    if snakemake.params.n_refined:
        attributes["n_refined"] = snakemake.params.n_refined
    problem = read_problem(snakemake)
    limit = feature_limit(problem.tuning_data, path) if rule == "auto" else None
    chosen = select_sparsity(gap, rule, limit)
    # Of two stages, the first may have found the better fit.
    paths = [path, *(read_path(file)[0] for file in snakemake.input.first)]
    fit = problem.fit_everyone(paths, path.sparsities[chosen])
    centers = cluster_means(problem.data, fit.labels[0], attributes["n_clusters"])
    if limit is not None:
        attributes["conclusion"] = limit.sentence(gap, chosen)
        attributes["limited"] = limit.decides(gap, chosen)
    GAP.write(snakemake.output.gap, gap, chosen)
    write_fit(snakemake.output.fit, pick_fit(fit, 0, centers, attributes))
