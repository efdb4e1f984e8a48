"""Count the samples that clusters and known classes share."""

from workflow_job import run


def main(snakemake, progress):
    """Write clusters against classes for every method, with the best class of each cluster."""
    from sparsekm.annotation.cluster_overlap import OVERLAP, tabulate_overlap
    from sparsekm.io.fit_file import read_fits
    from sparsekm.io.normalised_file import read_classes

    fits = read_fits(snakemake.params.methods, snakemake.input.fits)
    clusters = {method: fit.labels for method, fit in fits.items()}
    labels, regions = read_classes(snakemake.input.normalised)
    OVERLAP.write(snakemake.output.contingency, tabulate_overlap(clusters, labels, regions))


run(main, snakemake)
