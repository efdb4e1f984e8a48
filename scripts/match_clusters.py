"""Count the samples that clusters and known classes share."""

from workflow_job import run


def main(snakemake, progress):
    """Write clusters against classes for every method, with the best class of each cluster."""
    from sparsekm.annotation.cluster_overlap import OVERLAP, tabulate_overlap
    from sparsekm.io.fit_file import read_fit
    from sparsekm.io.normalised_file import read_classes

    clusters = {
        method: read_fit(file).labels
        for method, file in zip(snakemake.params.methods, snakemake.input.fits, strict=True)
    }
    labels, regions = read_classes(snakemake.input.normalised)
    OVERLAP.write(snakemake.output.contingency, tabulate_overlap(clusters, labels, regions))


run(main, snakemake)
