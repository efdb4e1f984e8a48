"""Run all repetitions of a method in one setting of the paper; write metrics, gaps and weights."""

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from dataclasses import asdict

    from sparsekm.io.atomic import write_table
    from sparsekm.studies.paper import repetition
    from sparsekm.studies.paper.plan import METHOD_ROWS, get_setting

    params, wildcards, output = snakemake.params, snakemake.wildcards, snakemake.output
    root = params.draws["seed"]
    setting = get_setting(wildcards.experiment, wildcards.setting)
    row = METHOD_ROWS[wildcards.row]
    parameters = {"seed": root, "setting": asdict(setting), "row": asdict(row)}
    parameters |= {"effort": params.effort, "code": params.code}
    effort, n = repetition.Effort(**params.effort), params.draws["replicates"]
    store = repetition.RepetitionStore(params.store, parameters)
    given, count = (setting, row, effort), progress.counting("repetitions")
    found = repetition.run_repetitions(*given, root=root, replicates=n, store=store, progress=count)
    data = repetition.draw_data(setting, root=root, replicate=0, standardise=True)
    write_table(repetition.gap_table(setting, row, found), output.gap)
    write_table(repetition.weight_table(setting, row, data, found), output.weights)
    write_table(repetition.repetition_table(setting, row, found), output.table)
