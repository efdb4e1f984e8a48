"""Let every rule choose the number of clusters on repetitions of one data set."""

from workflow_job import run


def main(snakemake, progress):
    """Write a row per repetition and rule."""
    import pandas as pd

    from sparsekm.storage.atomic import write_table
    from sparsekm.tuning.study.count_comparison import CountEffort, compare_count_rules
    from sparsekm.tuning.study.study_data import draw_study_data

    params, name = snakemake.params, snakemake.wildcards.design
    root, replicates = params.draws["seed"], params.draws["replicates"]
    tables = []
    for replicate in range(replicates):
        data = draw_study_data(name, params.design, root=root, replicate=replicate)
        table = compare_count_rules(data, CountEffort(**params.effort), seed=replicate)
        tables.append(table.assign(data_set=name, kind=params.kind, replicate=replicate))
        progress(replicate + 1, replicates, "repetitions")
    write_table(pd.concat(tables), snakemake.output.table)


run(main, snakemake)
