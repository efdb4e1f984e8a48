"""Write the results of every method for a data set, for other programs."""

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    import numpy as np
    import pandas as pd

    from sparsekm.annotation.clusters import add_clusters, cover_features, tabulate_clusters
    from sparsekm.annotation.gene_table import GENE_TABLE, primary_method
    from sparsekm.io import exchange_files
    from sparsekm.io.normalised_file import read_anndata, read_features, write_with_matrix
    from sparsekm.io.store import read_fits
    from sparsekm.io.tables import CLUSTERS

    files, output, params = snakemake.input, snakemake.output, snakemake.params
    fits = read_fits(params.methods, files.fits)
    data = read_anndata(files.normalised)
    samples, features = list(data.obs_names), np.array(data.var_names)
    add_clusters(data, fits)
    write_with_matrix(output.data, data, files.normalised)
    table = tabulate_clusters(samples, data.obs.get("label"), fits)
    CLUSTERS.write(output.table, table)
    answer = fits[primary_method(fits, is_atlas="regions" in data.uns)]
    settings = pd.Series(params.settings, dtype=object).map(str)
    sheets = {
        "found": pd.DataFrame({"what was found": [answer.conclusion]}),
        "samples": table,
        "features": GENE_TABLE.read(files.genes),
        "settings": pd.DataFrame({"setting": settings.index, "value": settings.to_numpy()}),
    }
    exchange_files.write_workbook(output.workbook, sheets)
    kept = np.flatnonzero(answer.weights)
    kept = kept[np.argsort(-answer.scores[kept], kind="stable")]
    kept = np.sort(kept[: max(1, exchange_files.MOST_NUMBERS // len(samples))])
    values = read_features(files.normalised, kept)
    exchange_files.write_gct(output.gct, values, samples, features[kept])
    exchange_files.write_cls(output.cls, answer.labels)
    var, covered = cover_features(files.normalised, {"": answer})
    exchange_files.write_ranked(output.ranked, covered[""].centers, answer.labels, var.index)
