"""Fit the chosen model again from other seeds, score every fit, and select the one to show."""

from rule_problem import read_problem
from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    import numpy as np
    import pandas as pd
    from sklearn.metrics import adjusted_rand_score

    from sparsekm.io.known_classes import is_known
    from sparsekm.io.normalised_file import read_normalised
    from sparsekm.io.store import read_fit, write_fit
    from sparsekm.io.tables import SEEDS
    from sparsekm.metrics import chance_corrected_rates
    from sparsekm.pipeline.problem import order_fits, refit
    from sparsekm.pipeline.registry import get_method

    files, params = snakemake.input, snakemake.params
    fits = [read_fit(files.fit)]
    classes = read_normalised(files.normalised, values=False).about.labels
    method, most = get_method(snakemake.wildcards.method), params.problem["max_samples"]
    if params.n_seeds > 1 and (most is None or len(fits[0].labels) <= most):
        grid = {"sparsities": [fits[0].sparsity]}
        problem = read_problem(snakemake, n_clusters=fits[0].attributes["n_clusters"], grid=grid)
        for number in range(1, params.n_seeds):
            fits.append(refit(problem, fits[0], number))
            progress(number, params.n_seeds - 1, "seeds")
    seeds = order_fits(fits, method.maximises)
    shown = fits[seeds[0]]

    def score(seed):
        fit, rates = fits[seed], dict.fromkeys(("cer", "cer_chance", "ari", "ami"))
        if classes is not None:
            known = is_known(classes)
            rates = chance_corrected_rates(classes[known], fit.labels[known])
        return {
            "seed": seed,
            "objective": fit.objective,
            "n_nonzero_weights": np.count_nonzero(fit.weights),
            "n_kept_too": np.count_nonzero((fit.weights != 0) & (shown.weights != 0)),
            "agreement": adjusted_rand_score(shown.labels, fit.labels),
            **rates,
        }

    SEEDS.write(snakemake.output.seeds, pd.DataFrame([score(seed) for seed in seeds]))
    write_fit(snakemake.output.fit, shown)
