"""Sparse data of many more features than stored values in a sample: seconds and memory."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.sparse import coo_array, csr_array

from benchmarks.measure import measure, one_thread
from sparsekm import KMeans, L0KMeans, SparseKMeans
from sparsekm.metrics import classification_error_rate

N_CLUSTERS, N_MARKERS, SEED = 4, 30, 0
# Samples, features, and values stored in a sample.
SIZES = [(300, 2**20, 80), (3387, 45_000, 90), (6000, 400_000, 60), (20_000, 200_000, 100)]
# Of the values of a sample such a share is among the markers of its cluster.
SHARE_OF_MARKERS = 0.3


def simulate(n_samples: int, n_features: int, n_stored: int) -> tuple[csr_array, np.ndarray]:
    """Draw positive values in random places; 30 features mark each of four clusters."""
    rng = np.random.default_rng(SEED)
    labels = rng.integers(N_CLUSTERS, size=n_samples)
    places = rng.integers(n_features, size=(n_samples, n_stored))
    n_marking = int(SHARE_OF_MARKERS * n_stored)
    own = rng.integers(N_MARKERS, size=(n_samples, n_marking)) + N_MARKERS * labels[:, None]
    places[:, :n_marking] = own * (n_features // (N_CLUSTERS * N_MARKERS + 1))
    values = (1 + rng.gamma(2.0, size=places.size)).astype(np.float32)
    stored = (values, (np.repeat(np.arange(n_samples), n_stored), places.ravel()))
    return coo_array(stored, shape=(n_samples, n_features)).tocsr(), labels


def benchmark() -> pd.DataFrame:
    """Fit each size on one thread."""
    estimators = [
        KMeans(N_CLUSTERS, random_state=SEED),
        L0KMeans(N_CLUSTERS, sparsity=100, random_state=SEED),
        SparseKMeans(N_CLUSTERS, random_state=SEED),
    ]
    rows = []
    with one_thread():
        for estimator in estimators:
            # Compiled before it is measured, for few samples and for many.
            for n_samples in (300, 4500):
                estimator.fit(simulate(n_samples, 30_000, 60)[0])
        for size in SIZES:
            X, labels = simulate(*size)
            for estimator in estimators:
                found = measure(lambda estimator=estimator, X=X: estimator.fit(X))
                error = classification_error_rate(labels, found.result.labels_)
                name = type(estimator).__name__
                rows.append((*size, name, found.cpu, found.memory, found.peak, error))
    names = ["n_samples", "n_features", "n_stored", "fit", "cpu", "added_mb", "peak_mb", "cer"]
    return pd.DataFrame(rows, columns=names)
