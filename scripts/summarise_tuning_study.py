"""Average the comparison of tuning rules, and draw it."""

from workflow_job import run


def main(snakemake, progress):
    """Write the summary, the overview of the rules and the figure."""
    import pandas as pd

    from sparsekm.reporting.style import figure_svg
    from sparsekm.storage.atomic import write_table, write_text
    from sparsekm.storage.checked_table import infer_table
    from sparsekm.tuning.study.figure import study_figure
    from sparsekm.tuning.study.summary import rules_overview, summarise_study

    table = pd.concat([infer_table(file, "run_tuning_study") for file in snakemake.input])
    summary = summarise_study(table)
    write_table(summary, snakemake.output.summary)
    write_table(rules_overview(summary), snakemake.output.overview)
    write_text(figure_svg(study_figure(summary)), snakemake.output.figure)


run(main, snakemake)
