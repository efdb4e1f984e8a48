"""Simulate k-means as relevant features are added, and compute the bound of Theorem 3."""

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    import numpy as np

    from sparsekm.io.atomic import write_table
    from sparsekm.studies.theory.partition_consistency import simulate_partitions, tabulate_bounds

    settings = snakemake.params.settings
    partitions = simulate_partitions(
        settings["mu"],
        settings["n_relevant"],
        cluster_size=settings["cluster_size"],
        noise_ratio=settings["noise_ratio"],
        repetitions=settings["repetitions"],
        root=snakemake.params.seed,
        progress=progress.counting("settings"),
    )
    counts = np.geomspace(1, settings["bound_up_to"], 200)
    bounds = tabulate_bounds(settings["mu"], counts, 3 * settings["cluster_size"])
    write_table(partitions, snakemake.output.partitions)
    write_table(bounds, snakemake.output.bounds)
