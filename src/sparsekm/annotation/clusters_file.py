"""The file ``clusters.h5ad``: a data set with the results of all methods.

The AnnData of ``normalised.h5ad`` (with X as it was clustered, the known classes in
``obs["label"]``, the coordinates of an atlas age in ``obsm["spatial"]``), and for each method m

* ``obs["cluster_m"]``: category of the clusters' numbers, counted from 0 as in ``tuned.h5``;
* ``var["score_m"]`` (the between-cluster sum of squares a_j), ``var["rank_m"]``,
  ``var["weight_m"]``, and ``var["kept_m"]`` (bool), whether the weight is not zero;
* ``varm["centers_m"]`` (p, K): the cluster means;
* if m resamples, ``obs["confidence_m"]`` and ``var["selection_frequency_m"]``: shares of the
  resampled fits that put a sample into its cluster, and that keep a feature;
* ``uns["sparsekm"][m]``: sparsity, objective, seed, parameters, versions and digests.

``var["verdict"]`` is present if both l0 and l1 ran. Any scverse tool can open the file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anndata
import numpy as np
import pandas as pd

from sparsekm.annotation.gene_table import VERDICTS, judge_features, rank_scores
from sparsekm.io.atomic_hdf5 import write_anndata
from sparsekm.io.fit_file import Fit


def add_clusters(data: anndata.AnnData, fits: Mapping[str, Fit]) -> None:
    """Add the results of each method to a data set, in place."""
    found: dict[str, Any] = {}
    for method, fit in fits.items():
        if (len(fit.labels), len(fit.weights)) != data.shape:
            raise ValueError(
                f"{method}: n_samples={len(fit.labels)} and n_features={len(fit.weights)} should "
                f"be {data.n_obs} and {data.n_vars}, as in the data."
            )
        data.obs[f"cluster_{method}"] = cluster_categories(fit)
        data.var[f"score_{method}"] = fit.scores
        data.var[f"rank_{method}"] = rank_scores(fit.scores)
        data.var[f"weight_{method}"] = fit.weights
        data.var[f"kept_{method}"] = fit.weights != 0
        data.varm[f"centers_{method}"] = np.ascontiguousarray(fit.centers.T)
        if fit.confidence is not None:
            data.obs[f"confidence_{method}"] = fit.confidence
        if fit.selection_frequency is not None:
            data.var[f"selection_frequency_{method}"] = fit.selection_frequency
        found[method] = _describe(fit)
    if "l0" in fits and "l1" in fits:
        verdicts = judge_features(fits["l0"].weights, fits["l1"].weights)
        data.var["verdict"] = pd.Categorical(verdicts, categories=VERDICTS)
    data.uns["sparsekm"] = found


def cluster_categories(fit: Fit) -> pd.Categorical:
    """Return the labels of a fit as categories of strings, in numerical order."""
    numbers = [str(k) for k in range(int(fit.attributes["n_clusters"]))]
    return pd.Categorical.from_codes(fit.labels, categories=numbers)


def write_clusters(file: str | Path, data: anndata.AnnData) -> None:
    """Write a data set with its clusters atomically, compressed."""
    write_anndata(file, data, compression="gzip", compression_opts=1)


def _describe(fit: Fit) -> dict[str, Any]:
    """Return how a fit was made; nested settings are JSON, since HDF5 has no type for them."""
    return {
        "sparsity": fit.sparsity,
        "objective": fit.objective,
        "n_features_kept": int(np.count_nonzero(fit.weights)),
        **{
            name: json.dumps(value, sort_keys=True) if isinstance(value, Mapping) else value
            for name, value in fit.attributes.items()
        },
    }
