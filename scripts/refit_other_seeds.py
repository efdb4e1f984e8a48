"""Fit the final model again from other seeds, and score every fit."""

from posed_problem import pose
from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    import numpy as np
    import pandas as pd
    from sklearn.metrics import adjusted_rand_score

    from sparsekm.io.fit_file import read_fit
    from sparsekm.io.known_classes import is_known
    from sparsekm.io.normalised_file import read_classes
    from sparsekm.io.resampling_file import Resamplings
    from sparsekm.io.seed_file import SEEDS
    from sparsekm.metrics.partition_metrics import chance_corrected_rates
    from sparsekm.pipeline.other_seeds import refit

    files, params = snakemake.input, snakemake.params
    shown = read_fit(files.fit)
    classes, _ = read_classes(files.normalised)
    known = None if classes is None else is_known(classes)
    rows = []

    def score(labels, weights, objective):
        rates = dict.fromkeys(("cer", "cer_chance", "ari", "ami"))
        if known is not None:
            rates = chance_corrected_rates(classes[known], labels[known])
        row = {
            "seed": len(rows),
            "objective": objective,
            "n_nonzero_weights": np.count_nonzero(weights),
            "n_kept_too": np.count_nonzero((weights != 0) & (shown.weights != 0)),
            "agreement": adjusted_rand_score(shown.labels, labels),
            **rates,
        }
        rows.append(row)

    score(shown.labels, shown.weights, shown.objective)
    most = params.problem["max_samples"]
    if most is None or len(shown.labels) <= most:
        grid = {"sparsities": [shown.sparsity]}
        problem = pose(snakemake, n_clusters=shown.attributes["n_clusters"], grid=grid)
        resamplings = Resamplings.read(files.resamplings).paths if files.resamplings else None
        for number in range(1, params.n_seeds):
            path = refit(problem, shown, number, resamplings)
            score(path.labels[0], path.weights[0], path.objectives[0])
            progress(number, params.n_seeds - 1, "seeds")
    SEEDS.write(snakemake.output.seeds, pd.DataFrame(rows))
