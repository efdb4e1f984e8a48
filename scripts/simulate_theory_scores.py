"""Simulate the scores of Theorem 1 as more samples are mislabelled."""

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.io.atomic import write_table
    from sparsekm.studies.theory.expected_scores import simulate_scores
    from sparsekm.studies.theory.level_model import three_levels

    settings = snakemake.params.settings
    scores = simulate_scores(
        three_levels(settings["mu"]),
        settings["cluster_size"],
        settings["mislabelled"],
        n_features=settings["n_features"],
        repetitions=settings["repetitions"],
        root=snakemake.params.seed,
    )
    write_table(scores, snakemake.output.scores)
