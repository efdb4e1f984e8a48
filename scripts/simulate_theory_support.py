"""Count how often the support is recovered, over one plane of settings."""

from workflow_job import run


def main(snakemake, progress):
    """Write the table of Theorems 3 and 4."""
    from sparsekm.storage.atomic import write_table
    from sparsekm.theory.plane import Plane
    from sparsekm.theory.recovery_diagram import simulate_recovery

    params = snakemake.params
    table = simulate_recovery(
        Plane.named(snakemake.wildcards.plane, params.plane).settings(),
        **params.draws,
        progress=progress.counting("settings"),
    )
    write_table(table, snakemake.output.recovery)


run(main, snakemake)
