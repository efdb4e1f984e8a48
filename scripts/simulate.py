"""Run all repetitions of a method in one setting of the paper; write metrics, gaps and weights."""

import logging
import time

from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from dataclasses import asdict

    from sparsekm.io.atomic import write_table
    from sparsekm.studies.paper.plan import METHOD_ROWS, get_setting
    from sparsekm.studies.paper.repetition import (
        Effort,
        RepetitionStore,
        draw_data,
        gap_table,
        repetition_table,
        run_repetitions,
        weight_table,
    )

    params, wildcards, output = snakemake.params, snakemake.wildcards, snakemake.output
    root, replicates = params.draws["seed"], params.draws["replicates"]
    setting = get_setting(wildcards.experiment, wildcards.setting)
    row = METHOD_ROWS[wildcards.row]
    parameters = {
        "seed": root,
        "setting": asdict(setting),
        "row": asdict(row),
        "effort": params.effort,
        "code": params.code,
    }
    start = time.process_time()

    def tell(done, total):
        logging.info("%.2f CPU seconds after %d repetitions", time.process_time() - start, done)
        progress(done, total, "repetitions")

    repetitions = run_repetitions(
        setting,
        row,
        Effort(**params.effort),
        root=root,
        replicates=replicates,
        store=RepetitionStore(params.store, parameters),
        progress=tell,
    )
    data = draw_data(setting, root=root, replicate=0, standardise=True)
    write_table(gap_table(setting, row, repetitions), output.gap)
    write_table(weight_table(setting, row, data, repetitions), output.weights)
    write_table(repetition_table(setting, row, repetitions), output.table)
