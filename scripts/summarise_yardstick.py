"""Combine, average and draw the results of all methods on the labelled data sets."""

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    import pandas as pd

    from sparsekm.figures.style import figure_svg, render_figure
    from sparsekm.io.atomic import write_bytes, write_table, write_text
    from sparsekm.io.tables import infer_table
    from sparsekm.studies import yardstick

    given, made = snakemake.input, snakemake.output
    table = pd.concat([infer_table(file, "run_yardstick") for file in given.tables])
    published = yardstick.read_published(given.published)
    summary = yardstick.add_published(yardstick.summarise(table), published)
    write_table(table, made.table)
    write_table(summary, made.summary)
    write_table(yardstick.count_wins(summary), made.overview)
    figure = yardstick.yardstick_figure(table, summary)
    write_text(figure_svg(figure), made.svg)
    write_bytes(render_figure(figure, "png"), made.png)
