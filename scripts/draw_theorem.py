"""Check the theorems, or simulate one of them and write its table, picture and caption."""

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.figures.style import figure_svg, render_figure
    from sparsekm.io.atomic import write_bytes, write_table, write_text
    from sparsekm.studies import theorem_pictures, theorems

    output, seed = snakemake.output, snakemake.params.seed
    if output.get("checks"):
        write_table(theorems.run_checks(seed), output.checks)
        return

    def track(settings):
        for done, setting in enumerate(settings):
            progress(done, len(settings), "settings")
            yield setting

    simulate, draw = theorem_pictures.PICTURES[snakemake.wildcards.picture]
    table = simulate(seed, track=track)
    figure, caption = draw(table)
    write_table(table, output.table)
    write_text(figure_svg(figure), output.svg)
    write_bytes(render_figure(figure, "pdf"), output.pdf)
    write_text(caption, output.caption)
