"""A path over an HDF5 dataset that is read in blocks: time, and the peak of memory."""

from __future__ import annotations

import resource
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import h5py
import numpy as np
import pandas as pd

from benchmarks.many_samples import simulate

N_CLUSTERS, SEED = 10, 1
SHARES = [0.01, 0.1, 1.0]
BLOCK_SIZES = [4_096, 16_384]


def write_matrix(file: Path, n_samples: int, n_features: int, part: int = 10_000) -> None:
    """Write a simulated matrix, part after part: one draw, each time with noise of its own."""
    drawn = simulate(min(part, n_samples), n_features, N_CLUSTERS)
    with h5py.File(file, "w") as handle:
        X = handle.create_dataset(
            "X", (n_samples, n_features), np.float32, chunks=(256, n_features)
        )
        for start in range(0, n_samples, part):
            stop = min(start + part, n_samples)
            noise = np.random.default_rng([SEED, start]).standard_normal(
                (stop - start, n_features), dtype=np.float32
            )
            X[start:stop] = drawn[: stop - start] + 0.5 * noise


def fit_path(file: Path, block_size: int) -> tuple[float, float, float]:
    """Fit, in a process of its own; return seconds, peak megabytes and the largest objective."""
    from sparsekm import L0KMeans, StreamedMatrix

    started = time.perf_counter()
    with h5py.File(file, "r") as handle:
        matrix = StreamedMatrix(handle["X"], block_size=block_size)
        sparsities = [share * matrix.n_features for share in SHARES]
        estimator = L0KMeans(N_CLUSTERS, n_init=3, random_state=SEED, n_jobs=-1)
        path = estimator.path(matrix, sparsities)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return time.perf_counter() - started, peak, float(path.objectives.max())


def benchmark(n_samples: int = 200_000, n_features: int = 2_000) -> pd.DataFrame:
    """Measure wall seconds and the peak of resident memory, interpreter included."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "matrix.h5"
        write_matrix(file, n_samples, n_features)
        size = file.stat().st_size / 2**20
        for block_size in BLOCK_SIZES:
            # A process of its own, so that the peak is that of this fit.
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                wall, peak, objective = pool.submit(fit_path, file, block_size).result()
            rows.append((n_samples, n_features, size, block_size, wall, peak, objective))
    columns = ["n_samples", "n_features", "file_mb", "block_size", "wall", "peak_mb", "objective"]
    return pd.DataFrame(rows, columns=columns)
