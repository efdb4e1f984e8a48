"""Test terms for over-representation among the genes kept, dropped, and kept by l1 alone."""

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.annotation import enrichment
    from sparsekm.annotation.gene_sets import match_features, read_gene_sets
    from sparsekm.io import normalised_file
    from sparsekm.io.store import read_fits

    params, files = snakemake.params, snakemake.input
    sets = read_gene_sets(files.gene_sets, params.identifier)
    fits = read_fits(params.selecting, files.fits)
    weights = {method: fit.weights for method, fit in fits.items()}
    _, regions = normalised_file.read_classes(files.normalised)
    groups = enrichment.group_features(weights, is_atlas=regions is not None)
    positions, by_chance = normalised_file.read_positions(files.normalised), None
    if positions is not None:
        sizes = max(fit.attributes["n_clusters"] for fit in fits.values()), groups["kept"].sum()
        X = normalised_file.read_normalised(files.normalised).X
        by_chance = enrichment.keep_by_chance(X, positions, *map(int, sizes), seed=params.seed)
    matched = match_features(normalised_file.read_features(files.normalised), sets)
    limits = tuple(params.term_size)
    table = enrichment.find_enriched(sets, matched, groups, by_chance=by_chance, term_size=limits)
    enrichment.ENRICHMENT.write(snakemake.output.enrichment, table)
