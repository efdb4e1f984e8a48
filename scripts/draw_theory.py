"""Draw the theorems with the simulated results: figures as SVG and PDF, captions as text."""

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from pathlib import Path

    from sparsekm.io.checked_table import infer_table
    from sparsekm.studies.theory.drawing import draw_theory, write_figure

    tables = snakemake.input
    drawn = draw_theory(
        scores=infer_table(tables.scores, "simulate_theory_scores"),
        partitions=infer_table(tables.partitions, "simulate_theory_partitions"),
        bounds=infer_table(tables.bounds, "simulate_theory_partitions"),
        recovery=[infer_table(file, "simulate_theory_support") for file in tables.recovery],
        settings=snakemake.params.settings,
    )
    folder = Path(snakemake.output[0]).parent
    for name, (figure, caption) in drawn.items():
        write_figure(folder, name, figure, caption)
