"""Run all repetitions of a method in one setting of the paper; write metrics, gaps and weights."""

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from dataclasses import asdict

    from sparsekm.io.atomic import write_table
    from sparsekm.studies import METHOD_ROWS, get_setting, paper_runs

    params, wildcards, output = snakemake.params, snakemake.wildcards, snakemake.output
    root = params.draws["seed"]
    setting = get_setting(wildcards.experiment, wildcards.setting)
    row = METHOD_ROWS[wildcards.row]
    parameters = {"seed": root, "setting": asdict(setting), "row": asdict(row)}
    parameters |= {"effort": params.effort, "code": params.code}
    effort, n = params.effort, params.draws["replicates"]
    store = paper_runs.RepetitionStore(params.store, parameters)
    own = {"root": root, "store": store, "progress": progress.counting("repetitions")}
    repetitions = paper_runs.run_repetitions(setting, row, effort, replicates=n, **own)
    data = paper_runs.draw_data(setting, root=root, replicate=0, standardise=True)
    for name, table in paper_runs.tabulate(setting, row, data, repetitions).items():
        write_table(table, output[name])
