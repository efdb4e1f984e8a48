"""Write the single fit of a path as the tuned fit, for methods without a sparsity to choose."""

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    import numpy as np

    from sparsekm.cluster.matrices.centers import cluster_centers
    from sparsekm.io.fit_file import write_fit
    from sparsekm.io.normalised_file import read_normalised
    from sparsekm.io.path_file import pick_fit, read_path

    path, attributes = read_path(snakemake.input.path)
    X = read_normalised(snakemake.input.normalised).X
    centers = cluster_centers(X, path.labels[0], attributes["n_clusters"])
    # A mixture component may have no samples; its centre is then the mean of all samples.
    centers = np.where(np.isnan(centers), X.mean(axis=0, dtype=np.float64), centers)
    write_fit(snakemake.output.fit, pick_fit(path, 0, centers, attributes))
