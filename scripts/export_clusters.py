"""Write what every method found about a data set, as a table of samples and as AnnData."""

from rule_problem import most_bytes
from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.annotation.clusters import add_clusters, tabulate_clusters, write_clusters
    from sparsekm.io.normalised_file import read_anndata
    from sparsekm.io.store import read_fits
    from sparsekm.io.tables import CLUSTERS

    fits = read_fits(snakemake.params.methods, snakemake.input.fits)
    data = read_anndata(snakemake.input.normalised, most_bytes(snakemake))
    add_clusters(data, fits)
    write_clusters(snakemake.output.data, data)
    table = tabulate_clusters(data.obs_names, data.obs.get("label"), fits)
    CLUSTERS.write(snakemake.output.table, table)
