"""Count how often each rule chose the known number of clusters."""

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    import pandas as pd

    from sparsekm.io.atomic import write_table
    from sparsekm.io.checked_table import infer_table
    from sparsekm.studies.tuning.count_comparison import summarise_counts

    table = pd.concat([infer_table(file, "run_count_study") for file in snakemake.input])
    write_table(summarise_counts(table), snakemake.output.table)
