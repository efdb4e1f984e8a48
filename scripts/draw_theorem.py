"""Simulate what a theorem promises; write the table, the picture and its caption."""

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.figures.style import figure_pdf, figure_svg
    from sparsekm.io.atomic import write_bytes, write_table, write_text
    from sparsekm.studies.theory.pictures import PICTURES

    def track(settings):
        for done, setting in enumerate(settings):
            progress(done, len(settings), "settings")
            yield setting

    simulate, draw = PICTURES[snakemake.wildcards.picture]
    table = simulate(snakemake.params.seed, track=track)
    figure, caption = draw(table)
    write_table(table, snakemake.output.table)
    write_text(figure_svg(figure), snakemake.output.svg)
    write_bytes(figure_pdf(figure), snakemake.output.pdf)
    write_text(caption, snakemake.output.caption)
