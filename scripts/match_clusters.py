"""Write how many samples the clusters of every method share with known classes."""

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.annotation.clusters import OVERLAP, tabulate_overlap
    from sparsekm.io.normalised_file import read_normalised
    from sparsekm.io.store import read_fits

    fits = read_fits(snakemake.params.methods, snakemake.input.fits)
    clusters = {method: fit.labels for method, fit in fits.items()}
    data = read_normalised(snakemake.input.normalised, values=False)
    table = tabulate_overlap(clusters, data.about.labels, data.regions)
    OVERLAP.write(snakemake.output.contingency, table)
