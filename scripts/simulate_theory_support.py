"""Count how often the support is recovered over a plane of settings: Theorems 4 and 5."""

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.io.atomic import write_table
    from sparsekm.studies.theory.plane import Plane
    from sparsekm.studies.theory.recovery_diagram import simulate_recovery

    params = snakemake.params
    table = simulate_recovery(
        Plane.named(snakemake.wildcards.plane, params.plane).settings(),
        **params.draws,
        progress=progress.counting("settings"),
    )
    write_table(table, snakemake.output.recovery)
