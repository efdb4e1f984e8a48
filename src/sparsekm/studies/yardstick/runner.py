"""One method on one labelled data set, over several seeds."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.metrics import adjusted_rand_score

from sparsekm.metrics import classification_error_rate, matching_error_rate
from sparsekm.pipeline.registry import Method
from sparsekm.simulation.replicate_seed import replicate_seed
from sparsekm.studies.yardstick.labelled_set import LabelledSet, read_labelled_set
from sparsekm.tuning.gap_search import GapSearch
from sparsekm.tuning.grid import default_sparsities


def run_seeds(
    file: str | Path,
    method: Method,
    seeds: Sequence[int],
    *,
    max_samples: int,
    effort: Mapping[str, int],
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """Run a method on a labelled data set with every seed as `random_state`.

    The file is an ``.npz`` with arrays X (samples x features) and y (classes); its stem is the name
    of the data set. If there are more than `max_samples`, each seed draws its own subsample.
    `effort` is ``n_sparsities`` and ``n_references`` of a method that is tuned by the gap.

    There is a row per seed: data_set, method, seed, n_available (samples in the file), n_samples
    (used), n_features (that vary), n_clusters, and the measures of `score_method`.
    """
    name = Path(file).stem
    rows = []
    for done, seed in enumerate(seeds, start=1):
        # The seed does not depend on the method, so that all methods use the same samples.
        draw = replicate_seed(seed, "yardstick", name, 0)
        data = read_labelled_set(file, max_samples=max_samples, random_state=draw)
        rows.append(
            {
                "data_set": name,
                "method": method.name,
                "seed": seed,
                "n_available": data.n_available,
                "n_samples": data.X.shape[0],
                "n_features": data.X.shape[1],
                "n_clusters": data.n_clusters,
                **score_method(data, method, effort, seed),
            }
        )
        if progress is not None:
            progress(done, len(seeds))
    return pd.DataFrame(rows)


def score_method(
    data: LabelledSet, method: Method, effort: Mapping[str, int], seed: int
) -> dict[str, Any]:
    """Fit a method to a labelled data set, and compare its clusters with the classes.

    Returns error (share of samples outside their class under the best matching of clusters to
    classes), cer, ari, n_kept (features with nonzero weight) and seconds (wall time of the fit).
    """
    estimator = set_up(method, data.n_clusters, data.X.shape[1], effort, seed)
    start = time.perf_counter()
    estimator.fit(data.X)
    seconds = time.perf_counter() - start
    return {
        "error": matching_error_rate(data.labels, estimator.labels_),
        "cer": classification_error_rate(data.labels, estimator.labels_),
        "ari": adjusted_rand_score(data.labels, estimator.labels_),
        "n_kept": int(np.count_nonzero(estimator.feature_weights_)),
        "seconds": seconds,
    }


def set_up(
    method: Method, n_clusters: int, n_features: int, effort: Mapping[str, int], seed: int
) -> BaseEstimator:
    """Make the estimator, inside a `GapSearch` if its sparsity is tuned by the gap.

    All other methods choose the number of features themselves.
    """
    estimator = method.estimator(n_clusters, random_state=seed)
    if method.tuning != "gap":
        return estimator
    return GapSearch(
        estimator,
        sparsities=default_sparsities(method.penalty, n_features, effort["n_sparsities"]),
        n_references=effort["n_references"],
        rule="auto",
        random_state=seed,
    )
