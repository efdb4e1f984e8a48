"""Sparse data of many samples: beside scikit-learn's k-means on the same CSR, and dense."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
from scipy.sparse import csc_array, csr_array
from sklearn.base import clone
from sklearn.cluster import KMeans

from benchmarks.measure import measure, one_thread
from sparsekm import L0KMeans
from sparsekm.metrics import classification_error_rate

N_CLUSTERS, SPARSITY, SEED = 20, 200, 1
SHARE_STORED = 0.1
# A marker is stored in so many of the samples of its own cluster.
SHARE_OF_CLUSTER = 0.7


def simulate(n_samples: int, n_features: int) -> tuple[csr_array, np.ndarray]:
    """Draw positive values in a tenth of the places; each of 200 features marks one cluster."""
    rng = np.random.default_rng(SEED)
    labels = rng.integers(N_CLUSTERS, size=n_samples)
    places, values = [], []
    for j in range(n_features):
        stored = rng.random(n_samples, dtype=np.float32) < SHARE_STORED
        heights = rng.exponential(1.0, n_samples).astype(np.float32)
        if j < SPARSITY:
            own = labels == j % N_CLUSTERS
            stored[own] = rng.random(np.count_nonzero(own)) < SHARE_OF_CLUSTER
            heights[own] += 1.0
        places.append(np.flatnonzero(stored).astype(np.int32))
        values.append(heights[stored])
    starts = np.concatenate([[0], np.cumsum([len(rows) for rows in places])])
    # scikit-learn's k-means takes no indices of 64 bits.
    stored = (np.concatenate(values), np.concatenate(places), starts.astype(np.int32))
    return csc_array(stored, shape=(n_samples, n_features)).tocsr(), labels


def benchmark(n_samples: int = 100_000, n_features: int = 2_000) -> pd.DataFrame:
    """Compare a sparse fit with one start of k-means and with the dense fit: one thread each."""
    X, labels = simulate(n_samples, n_features)
    planted = np.arange(n_features) < SPARSITY
    ours = L0KMeans(N_CLUSTERS, sparsity=SPARSITY, random_state=SEED, n_jobs=1)
    theirs = KMeans(N_CLUSTERS, n_init=1, random_state=SEED)
    fits = [
        ("L0KMeans", ours, X),
        ("scikit-learn KMeans, n_init=1", theirs, X),
        ("L0KMeans, dense", clone(ours), X.toarray()),
    ]
    rows = []
    with one_thread():
        # Compiled before it is timed.
        L0KMeans(2, sparsity=5, n_init=1, random_state=SEED).fit(X[:5000, :50])
        for name, estimator, data in fits:
            found = measure(partial(estimator.fit, data))
            kept = getattr(estimator, "feature_weights_", np.ones(n_features)) > 0
            error = classification_error_rate(labels, estimator.labels_)
            share = np.count_nonzero(kept & planted) / SPARSITY
            rows.append((name, n_samples, n_features, X.nnz, found.cpu, found.memory, error, share))
    columns = ["method", "n_samples", "n_features", "n_stored", "cpu", "memory_mb", "cer"]
    return pd.DataFrame(rows, columns=[*columns, "planted_found"])
