"""Choose a sparsity from the stability curve; write the curve and the fit of all samples."""

from posed_problem import pose
from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.io.fit_file import write_fit
    from sparsekm.io.path_file import pick_fit, read_path
    from sparsekm.io.split_file import Splits
    from sparsekm.io.stability_file import STABILITY_CURVE
    from sparsekm.pipeline.problem import cluster_means
    from sparsekm.tuning.stability import select_stable, stability_curve

    path, attributes = read_path(snakemake.input.path)
    found = Splits.read(snakemake.input.splits)
    found.check_grid(snakemake.input.splits[0], path.sparsities)
    curve = stability_curve(path, found.agreements, found.selections, found.n_fits)
    chosen = select_stable(curve, snakemake.params.rule)
    problem = pose(snakemake)
    fit = problem.fit_everyone([path], path.sparsities[chosen])
    centers = cluster_means(problem.data, fit.labels[0], attributes["n_clusters"])
    attributes.update(
        rule=snakemake.params.rule,
        reference="none",
        n_references=0,
        scheme=found.attributes["scheme"],
        n_splits=len(found.indices),
    )
    STABILITY_CURVE.write(snakemake.output.stability, curve, chosen)
    write_fit(snakemake.output.fit, pick_fit(fit, 0, centers, attributes))
