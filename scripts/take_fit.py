"""Take the one fit of a method whose path has no sparsity to choose."""

from workflow_job import run


def main(snakemake, progress):
    """Write the path's single fit as the tuned fit."""
    from sparsekm.cluster.centers import cluster_centers
    from sparsekm.expression.normalised_file import read_normalised
    from sparsekm.storage.fit_file import write_fit
    from sparsekm.storage.path_file import pick_fit, read_path

    path, attributes = read_path(snakemake.input.path)
    X = read_normalised(snakemake.input.normalised).X
    centers = cluster_centers(X, path.labels[0], attributes["n_clusters"])
    write_fit(snakemake.output.fit, pick_fit(path, 0, centers, attributes))


run(main, snakemake)
