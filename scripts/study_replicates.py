"""Shared by the scripts of the tuning study: a loop over the repetitions of a data set."""


def compare_replicates(snakemake, progress, compare):
    """Call `compare` with data, effort and seed for every repetition, and write the tables."""
    import pandas as pd

    from sparsekm.io.atomic import write_table
    from sparsekm.studies.tuning.study_data import draw_study_data

    params, name = snakemake.params, snakemake.wildcards.design
    root, replicates = params.draws["seed"], params.draws["replicates"]
    tables = []
    for replicate in range(replicates):
        data = draw_study_data(name, params.design, root=root, replicate=replicate)
        table = compare(data, params.effort, replicate)
        tables.append(table.assign(data_set=name, kind=params.kind, replicate=replicate))
        progress(replicate + 1, replicates, "repetitions")
    write_table(pd.concat(tables), snakemake.output.table)
