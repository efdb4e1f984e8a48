"""Score a tuned fit against known classes and planted features; unknown truths stay empty."""

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.io.known_classes import is_known
    from sparsekm.io.normalised_file import read_classes, read_relevant
    from sparsekm.io.store import read_fit
    from sparsekm.io.tables import SCORES
    from sparsekm.metrics.partition_metrics import (
        chance_corrected_rates,
        error_clustering_rate,
    )
    from sparsekm.metrics.support_metrics import (
        n_nonzero_weights,
        proper_nonzero_weights,
        proper_zero_weights,
    )

    fit = read_fit(snakemake.input.fit)
    labels, _ = read_classes(snakemake.input.normalised)
    relevant = read_relevant(snakemake.input.normalised)
    rates = dict.fromkeys(("cer", "cer_chance", "ari", "ami", "ecr"))
    if labels is not None:
        known = is_known(labels)
        rates = {
            **chance_corrected_rates(labels[known], fit.labels[known]),
            "ecr": error_clustering_rate(labels[known], fit.labels[known]),
        }
    scores = {
        "dataset": snakemake.wildcards.dataset,
        "method": snakemake.wildcards.method,
        "n_samples": len(fit.labels),
        "n_features": len(fit.weights),
        "n_clusters": fit.attributes["n_clusters"],
        "sparsity": fit.sparsity,
        "n_nonzero_weights": n_nonzero_weights(fit.weights),
        "objective": fit.objective,
        **rates,
        "pzw": None if relevant is None else proper_zero_weights(relevant, fit.weights),
        "pnw": None if relevant is None else proper_nonzero_weights(relevant, fit.weights),
    }
    SCORES.write_row(snakemake.output.scores, scores)
