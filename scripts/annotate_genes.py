"""Write the table of features: scores, weights, verdict, stability, locations and terms."""

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    import numpy as np

    from sparsekm.annotation.clusters import cover_features, locate_features
    from sparsekm.annotation.gene_sets import list_terms, match_features, read_gene_sets
    from sparsekm.annotation.gene_table import GENE_TABLE, gene_table, primary_method
    from sparsekm.annotation.stability import read_stability
    from sparsekm.io.normalised_file import read_normalised
    from sparsekm.io.store import read_fits

    params, files = snakemake.params, snakemake.input
    fits = read_fits(params.methods, files.fits)
    data = read_normalised(files.normalised, values=False)
    stability = {
        method: read_stability(file, data.about.features)
        for method, file in zip(params.selecting, files.stability, strict=True)
    }
    is_atlas = data.regions is not None
    answer = fits[primary_method(fits, is_atlas=is_atlas)]
    # Effect sizes on the samples that made the clusters would be too large.
    clusters = answer.labels if answer.left_out is None else answer.left_out
    var, fits = cover_features(files.normalised, fits)
    at = var.index.get_indexer(data.var.index)
    for method, known in stability.items():
        stability[method] = np.full(len(var), np.nan)
        stability[method][at] = known
    further = locate_features(files.normalised, clusters, data.about.labels)
    if files.gene_sets:
        sets = read_gene_sets(files.gene_sets, params.identifier)
        further["terms"] = list_terms(sets, match_features(var, sets), **params.terms)
    table = gene_table(var, fits, stability=stability, further=further, is_atlas=is_atlas)
    GENE_TABLE.write(snakemake.output.genes, table)
