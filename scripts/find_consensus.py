"""Choose the clusters among the candidates, and write the fit and the tables of its tests."""

from rule_problem import read_number, read_problem
from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from dataclasses import replace

    import numpy as np
    import pandas as pd

    from sparsekm.cluster.batches import centre_batches, check_batch, conclude, count_batches
    from sparsekm.io.store import write_fit
    from sparsekm.io.tables import CANDIDATES, COUNTS, DIVISIONS, SEPARATION
    from sparsekm.tuning.chosen_fit import find_clusters
    from sparsekm.tuning.partitions import match_clusters

    output, problem, number = snakemake.output, read_problem(snakemake), read_number(snakemake)
    # If an earlier rule chose the number, the setting is "auto".
    settings = problem.settings if number is None else problem.auto
    asked = {"number": number, "progress": progress.counting("folds")}
    is_age = problem.whole.regions is not None
    found = find_clusters(settings, problem.whole, beside=not is_age, **asked)
    if problem.whole.about.batch is not None:
        centred = find_clusters(settings, centre_batches(problem.whole), **asked)
        same = match_clusters(found.labels, centred.labels, np.arange(len(found.labels)))
        codes, _ = check_batch(problem.whole.about.batch, problem.whole.X)
        said = conclude(found.conclusion, count_batches(found.clustered, codes))
        found = replace(found, batch_centred=same.astype(np.int32), conclusion=said)
    CANDIDATES.write(output.candidates, found.candidates)
    SEPARATION.write(output.separation, found.separation)
    # For an age, no other numbers are tried, so its tables have no rows.
    counts, divisions = found.counts, found.divisions
    if is_age:
        counts, divisions = (pd.DataFrame(columns=[*of.columns]) for of in (COUNTS, DIVISIONS))
    elif snakemake.input.tried:
        divisions = DIVISIONS.read(snakemake.input.tried).assign(silhouette=divisions["silhouette"])
    COUNTS.write(output.numbers, counts)
    DIVISIONS.write(output.divisions, divisions)
    write_fit(output.fit, replace(found, attributes=problem.attributes))
