"""Average the repetitions, and compare them with the paper's tables."""

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.io.atomic import write_table
    from sparsekm.io.checked_table import infer_table
    from sparsekm.studies.paper.study_summary import read_paper_values, summarise
    from sparsekm.studies.paper.versus_paper import compare_rows, explain_differences

    output = snakemake.output
    summary = summarise(infer_table(file, "simulate") for file in snakemake.input.tables)
    comparison = compare_rows(summary, read_paper_values(snakemake.input.paper))
    write_table(summary, output.summary)
    write_table(comparison, output.every_row)
    write_table(explain_differences(comparison), output.versus_paper)
