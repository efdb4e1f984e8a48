"""Test terms for over-representation among the genes kept, dropped, and kept by l1 alone."""

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.annotation.enrichment import (
        ENRICHMENT,
        find_enriched,
        group_features,
        keep_by_chance,
    )
    from sparsekm.annotation.gene_sets import match_features, read_gene_sets
    from sparsekm.io.normalised_file import (
        read_classes,
        read_features,
        read_normalised,
        read_positions,
    )
    from sparsekm.io.store import read_fits

    params, files = snakemake.params, snakemake.input
    sets = read_gene_sets(files.gene_sets, params.identifier)
    fits = read_fits(params.selecting, files.fits)
    weights = {method: fit.weights for method, fit in fits.items()}
    _, regions = read_classes(files.normalised)
    groups = group_features(weights, is_atlas=regions is not None)
    positions, by_chance = read_positions(files.normalised), None
    if positions is not None:
        n_clusters = max(fit.attributes["n_clusters"] for fit in fits.values())
        n_kept = int(groups["kept"].sum())
        X = read_normalised(files.normalised).X
        by_chance = keep_by_chance(X, positions, n_clusters, n_kept, seed=params.seed)
    table = find_enriched(
        sets,
        match_features(read_features(files.normalised), sets),
        groups,
        by_chance=by_chance,
        term_size=tuple(params.term_size),
    )
    ENRICHMENT.write(snakemake.output.enrichment, table)
