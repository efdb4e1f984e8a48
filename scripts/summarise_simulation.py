"""Average the repetitions, compare them with the paper's tables, and judge the paper's claims."""

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    import pandas as pd

    from sparsekm.io.atomic import write_table
    from sparsekm.io.checked_table import infer_table
    from sparsekm.studies.paper.claim_verdicts import judge_claims
    from sparsekm.studies.paper.paper_claims import read_paper_claims
    from sparsekm.studies.paper.study_summary import read_paper_values, summarise
    from sparsekm.studies.paper.versus_paper import compare_rows

    files, output = snakemake.input, snakemake.output
    repetitions = pd.concat([infer_table(file, "simulate") for file in files.tables])
    summary, paper = summarise(repetitions), read_paper_values(files.paper)
    comparison = compare_rows(summary, paper)
    checks = infer_table(files.checks, "check_theorems")
    claims = read_paper_claims(files.claims)
    verdicts = judge_claims(claims, repetitions, paper, comparison, checks)
    write_table(summary, output.summary)
    write_table(comparison, output.versus_paper)
    write_table(verdicts, output.claims)
