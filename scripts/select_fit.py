"""Write the single fit of a path as the tuned fit, for methods without a sparsity to choose."""

from rule_problem import most_bytes
from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.io.normalised_file import read_normalised
    from sparsekm.io.store import pick_fit, read_path, write_fit
    from sparsekm.pipeline.problem import cluster_means

    path, attributes = read_path(snakemake.input.path)
    data = read_normalised(snakemake.input.normalised, most_bytes(snakemake))
    # A mixture component may have no samples.
    centers = cluster_means(data, path.labels[0], attributes["n_clusters"])
    write_fit(snakemake.output.fit, pick_fit(path, 0, centers, attributes))
