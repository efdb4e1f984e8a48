"""Average the repetitions, compare them with the paper's tables, and judge the paper's claims."""

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    import pandas as pd

    from sparsekm.io.atomic import write_table
    from sparsekm.io.tables import infer_table
    from sparsekm.studies import paper_verdicts

    files, output = snakemake.input, snakemake.output
    repetitions = pd.concat([infer_table(file, "simulate") for file in files.tables])
    summary = paper_verdicts.summarise(repetitions)
    comparison = paper_verdicts.compare_rows(summary, paper_verdicts.read_paper_values(files.paper))
    claims = paper_verdicts.read_paper_claims(files.claims)
    checks = infer_table(files.checks, "check_theorems")
    write_table(summary, output.summary)
    write_table(comparison, output.versus_paper)
    write_table(paper_verdicts.judge_claims(claims, repetitions, comparison, checks), output.claims)
