"""Count the samples that clusters and known classes share."""

from workflow_job import run


def main(snakemake, progress):
    """Write clusters against classes for every method, with the best class of each cluster."""
    from sparsekm.annotation.cluster_overlap import tabulate_overlap, write_overlap
    from sparsekm.expression.normalised_file import read_classes
    from sparsekm.storage.fit_file import read_fit

    clusters = {
        method: read_fit(file).labels
        for method, file in zip(snakemake.params.methods, snakemake.input.fits, strict=True)
    }
    labels, regions = read_classes(snakemake.input.normalised)
    write_overlap(tabulate_overlap(clusters, labels, regions), snakemake.output.contingency)


run(main, snakemake)
