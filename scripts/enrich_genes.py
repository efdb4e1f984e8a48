"""Test terms for over-representation among genes that are kept, dropped, or kept only by l1."""

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.annotation import enrichment
    from sparsekm.annotation.gene_sets import match_features, read_gene_sets
    from sparsekm.io.normalised_file import read_normalised
    from sparsekm.io.store import read_fits

    params, files = snakemake.params, snakemake.input
    sets = read_gene_sets(files.gene_sets, params.identifier)
    fits = read_fits(params.selecting, files.fits)
    weights = {method: fit.weights for method, fit in fits.items()}
    data, by_chance = read_normalised(files.normalised, values=False), None
    groups = enrichment.group_features(weights, is_atlas=data.regions is not None)
    if data.about.positions is not None:
        X, n_kept = read_normalised(files.normalised).X, int(groups["kept"].sum())
        k, at = max(fit.attributes["n_clusters"] for fit in fits.values()), data.about.positions
        by_chance = enrichment.keep_by_chance(X, at, int(k), n_kept, seed=params.seed)
    matched = match_features(data.var, sets)
    limits = tuple(params.term_size)
    table = enrichment.find_enriched(sets, matched, groups, by_chance=by_chance, term_size=limits)
    enrichment.ENRICHMENT.write(snakemake.output.enrichment, table)
