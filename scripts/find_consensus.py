"""Choose partition and features from the resampled paths, and write the consensus and the fit."""

from posed_problem import pose
from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from dataclasses import replace

    from sparsekm.io.fit_files import pick_fit, write_fit
    from sparsekm.io.resampling_file import Resamplings
    from sparsekm.io.tables import CONSENSUS
    from sparsekm.pipeline.problem import cluster_means
    from sparsekm.tuning.conclusion import conclude

    files, output = snakemake.input, snakemake.output
    problem = pose(snakemake)
    X, estimator = problem.tuning_data, problem.estimator
    resamplings = Resamplings.read(files.resamplings)
    resamplings.check_problem(files.resamplings[0], X.shape, problem.sparsities)
    found = conclude(
        estimator,
        X,
        problem.sparsities,
        resamplings.paths,
        seed=estimator.random_state,
        blocks=problem.tuning_blocks,
    )
    if problem.samples is not None:
        found = found.extend(estimator, problem.data.X, problem.samples)
    attributes = {
        **problem.attributes,
        "search": found.fit.search,
        "n_resamplings": len(resamplings.paths),
        "family": found.consensus.family,
        "has_clusters": found.clusterability.has_clusters,
        "conclusion": found.sentence(),
    }
    centers = cluster_means(problem.data, found.fit.labels[0], estimator.n_clusters)
    fit = replace(
        pick_fit(found.fit, 0, centers, attributes),
        confidence=found.confidence,
        selection_frequency=found.selection_frequency,
    )
    CONSENSUS.write(output.consensus, found.table)
    write_fit(output.fit, fit)
