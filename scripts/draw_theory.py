"""Draw the theorems beside what was seen."""

from workflow_job import run


def main(snakemake, progress):
    """Write every figure as SVG and PDF, and what it shows as text."""
    from pathlib import Path

    import pandas as pd

    from sparsekm.theory.drawing import draw_theory, write_figure

    tables = snakemake.input
    drawn = draw_theory(
        scores=pd.read_csv(tables.scores),
        partitions=pd.read_csv(tables.partitions),
        bounds=pd.read_csv(tables.bounds),
        recovery=[pd.read_csv(file) for file in tables.recovery],
        settings=snakemake.params.settings,
    )
    folder = Path(snakemake.output[0]).parent
    for name, (figure, caption) in drawn.items():
        write_figure(folder, name, figure, caption)


run(main, snakemake)
