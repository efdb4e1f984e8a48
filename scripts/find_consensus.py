"""Find the clusters as `SparseKMeans` does; write the result and the tables of its tests.

With batches, the values are clustered again after centring within batches.
"""

from rule_problem import read_problem
from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from dataclasses import replace

    import pandas as pd

    from sparsekm.cluster.batches import centre_batches
    from sparsekm.io.store import write_fit
    from sparsekm.io.tables import CANDIDATES, COUNTS, DIVISIONS, SEPARATION
    from sparsekm.tuning.chosen_fit import add_centred

    output, problem, count = snakemake.output, read_problem(snakemake), progress.counting("folds")
    is_age = problem.whole.regions is not None
    result = problem.find(beside=not is_age, progress=count)
    if problem.whole.about.batch is not None:
        centred = problem.find(centre_batches(problem.whole), progress=count)
        result = add_centred(result, centred, problem.whole.about.batch)
    CANDIDATES.write(output.candidates, result.candidates)
    SEPARATION.write(output.separation, result.separation)
    # For an age, no other numbers are tried, so its tables have no rows.
    numbers, divisions = result.numbers, result.divisions
    if is_age:
        numbers, divisions = (pd.DataFrame(columns=[*of.columns]) for of in (COUNTS, DIVISIONS))
    elif snakemake.input.tried:
        divisions = DIVISIONS.read(snakemake.input.tried).assign(silhouette=divisions["silhouette"])
    COUNTS.write(output.numbers, numbers)
    DIVISIONS.write(output.divisions, divisions)
    write_fit(output.fit, replace(result, attributes=problem.attributes))
