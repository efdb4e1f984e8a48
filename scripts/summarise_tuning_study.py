"""Average the comparison of tuning rules, and draw it."""

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    import pandas as pd

    from sparsekm.figures.style import figure_svg
    from sparsekm.io.atomic import write_table, write_text
    from sparsekm.io.checked_table import infer_table
    from sparsekm.studies.tuning.figure import study_figure
    from sparsekm.studies.tuning.summary import rules_overview, summarise_study

    table = pd.concat([infer_table(file, "run_tuning_study") for file in snakemake.input])
    summary = summarise_study(table)
    write_table(summary, snakemake.output.summary)
    write_table(rules_overview(summary), snakemake.output.overview)
    write_text(figure_svg(study_figure(summary)), snakemake.output.figure)
