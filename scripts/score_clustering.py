"""Compare a tuned fit with known classes and planted features; unknown ones stay empty."""

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from sparsekm import metrics
    from sparsekm.io.known_classes import is_known
    from sparsekm.io.normalised_file import read_normalised
    from sparsekm.io.store import read_fit
    from sparsekm.io.tables import SCORES

    fit = read_fit(snakemake.input.fit)
    data = read_normalised(snakemake.input.normalised, values=False)
    labels, relevant = data.about.labels, data.about.relevant
    rates = dict.fromkeys(("cer", "cer_chance", "ari", "ami", "ecr"))
    if labels is not None:
        known = is_known(labels)
        classes, clusters = labels[known], fit.labels[known]
        rates = metrics.chance_corrected_rates(classes, clusters)
        rates["ecr"] = metrics.error_clustering_rate(classes, clusters)
    planted = dict.fromkeys(("pzw", "pnw"))
    if relevant is not None:
        planted["pzw"] = metrics.proper_zero_weights(relevant, fit.weights)
        planted["pnw"] = metrics.proper_nonzero_weights(relevant, fit.weights)
    scores = {
        **dict(snakemake.wildcards.items()),
        "n_samples": len(fit.labels),
        "n_features": len(fit.weights),
        "n_clusters": fit.attributes["n_clusters"],
        "sparsity": fit.sparsity,
        "n_nonzero_weights": metrics.n_nonzero_weights(fit.weights),
        "objective": fit.objective,
        **rates,
        **planted,
    }
    SCORES.write_row(snakemake.output.scores, scores)
