"""Average the scores of relevant and noise features under worse and worse labels."""

from workflow_job import run


def main(snakemake, progress):
    """Write the table of Theorem 1."""
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


run(main, snakemake)
