"""Combine, average and draw the results of all methods on the labelled data sets."""

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    import pandas as pd

    from sparsekm.figures.style import figure_png, figure_svg
    from sparsekm.io.atomic import write_bytes, write_table, write_text
    from sparsekm.io.tables import infer_table
    from sparsekm.studies.yardstick import (
        add_published,
        count_wins,
        read_published,
        summarise,
        yardstick_figure,
    )

    given, made = snakemake.input, snakemake.output
    table = pd.concat([infer_table(file, "run_yardstick") for file in given.tables])
    summary = add_published(summarise(table), read_published(given.published))
    write_table(table, made.table)
    write_table(summary, made.summary)
    write_table(count_wins(summary), made.overview)
    figure = yardstick_figure(table, summary)
    write_text(figure_svg(figure), made.svg)
    write_bytes(figure_png(figure), made.png)
