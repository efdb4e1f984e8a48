"""The files of a run, as its jobs write them, from arrays."""

import numpy as np
import pandas as pd

from sparsekm.cluster.matrices.sparse_matrix import cluster_centers
from sparsekm.cluster.sparsity_path import ChosenFit
from sparsekm.io.normalised_file import write_normalised
from sparsekm.io.store import write_fit


def save_matrix(file, X, obs=(), var=(), about=(), **parts):
    """Write values with columns of obs and var; samples are s0, s1 ..., features g0, g1 ..."""
    n_samples, n_features = X.shape
    obs = pd.DataFrame(dict(obs), [f"s{i}" for i in range(n_samples)])
    var = pd.DataFrame(dict(var), [f"g{j}" for j in range(n_features)])
    write_normalised(file, X, obs, var, dict(about), **parts)
    return file


def save_fit(file, X, labels, weights, about, **more):
    """Write a fit to values, with the centres and scores of its labels."""
    labels, weights = np.asarray(labels, dtype=np.int32), np.asarray(weights, dtype=float)
    about = {**about, "n_clusters": int(labels.max()) + 1}
    centers = cluster_centers(X, labels, about["n_clusters"]).astype(float)
    scores = (np.bincount(labels)[:, None] * centers**2).sum(axis=0)
    known = {"sparsity": float(np.count_nonzero(weights)), "objective": float(weights @ scores)}
    known |= {"labels": labels, "scores": scores, "weights": weights, "centers": centers}
    write_fit(file, ChosenFit(**known, attributes=about, **more))
    return file
