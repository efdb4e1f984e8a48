"""What neighbours in space do to the gap and to SparseKMeans, on made fields and two ages.

The ages are those of an earlier run: ``snakemake data/E13.5/normalised.h5ad
data/P14/normalised.h5ad``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from scipy.ndimage import gaussian_filter

from sparsekm import GapSearch, L0KMeans, SparseKMeans, classification_error_rate
from sparsekm.io.normalised_file import read_normalised
from sparsekm.tuning.fold_fits import BLOCKS_PER_CLUSTER, space_blocks

SIDE, N_FEATURES, N_PLANTED, K = 24, 40, 8, 4
# Standard deviation of the smoothing, and how far clusters are apart in units of the noise.
FIELDS = [(4, 0), (2, 0), (2, 3), (1, 2)]
AGES = ["E13.5", "P14"]
SEEDS = range(3)
REFERENCES = ["permutation", "spatial"]


def benchmark() -> pd.DataFrame:
    """Tune by either reference, and leave out single samples or blocks of space."""
    grid = [2, 4, 8, 16, 28, 40]
    rows = []
    for width, effect in FIELDS:
        for seed in SEEDS:
            data = draw_field(width, effect, seed)
            name = f"field: width {width}, effect {effect}"
            rows += [_tuned(name, *data, K, grid, reference, seed) for reference in REFERENCES]
    for age in AGES:
        found = read_normalised(Path("data", age, "normalised.h5ad"))
        data = np.asarray(found.X), found.positions, found.labels, found.relevant
        n_clusters = len(set(found.labels))
        centred = centre_sections(data[0], found.positions), *data[1:]
        for seed in SEEDS:
            rows += [_tuned(age, *data, n_clusters, None, kind, seed) for kind in REFERENCES]
            name = f"{age}, section means subtracted"
            rows += [_tuned(name, *centred, n_clusters, None, kind, seed) for kind in REFERENCES]
            rows.append(_left_out(name, *centred, n_clusters, True, seed))
            rows += [_left_out(age, *data, n_clusters, blocks, seed) for blocks in (False, True)]
    return pd.DataFrame(rows)


def draw_field(
    width: float, effect: float, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Draw smooth features on a grid; the first ones are raised in a quarter of it each."""
    rng = np.random.default_rng(seed)
    inside = slice(SIDE, 2 * SIDE)
    noise = rng.standard_normal((N_FEATURES, 3 * SIDE, 3 * SIDE))
    fields = [gaussian_filter(each, width)[inside, inside].ravel() for each in noise]
    X = _standardise(np.stack(fields, axis=1))
    positions = np.argwhere(np.ones((SIDE, SIDE))).astype(float)
    upper, right = (positions >= SIDE / 2).astype(int).T
    quarter = 2 * upper + right
    for feature in range(N_PLANTED):
        X[:, feature] += effect * (quarter == feature % K)
    return _standardise(X), positions, quarter, np.arange(N_FEATURES) < N_PLANTED


def centre_sections(X: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Subtract each feature's mean in each sagittal section, a plane of the last coordinate."""
    sections = pd.Series(positions[:, -1])
    return _standardise(X - pd.DataFrame(X).groupby(sections).transform("mean").to_numpy())


def _tuned(name, X, positions, labels, planted, n_clusters, grid, reference, seed) -> dict:
    estimator = L0KMeans(n_clusters, n_init=5, min_cluster_size=5)
    search = GapSearch(
        estimator, sparsities=grid, n_references=5, reference=reference, random_state=seed
    ).fit(X, positions=positions)
    best = search.results_.iloc[search.best_index_]
    described = _describe(name, seed, f"gap, {reference}", search, labels, planted)
    return {**described, "gap": best["gap"], "se": best["se"]}


def _left_out(name, X, positions, labels, planted, n_clusters, in_blocks, seed) -> dict:
    blocks = space_blocks(positions, BLOCKS_PER_CLUSTER * n_clusters) if in_blocks else None
    found = SparseKMeans(n_clusters, min_cluster_size=5, random_state=seed).fit(X, groups=blocks)
    kind = f"SparseKMeans, {'blocks' if in_blocks else 'samples'}"
    described = _describe(name, seed, kind, found, labels, planted)
    return {**described, "reproducibility": np.nanmean(found.sample_reproducibility_)}


def _describe(name, seed, method, found, labels, planted) -> dict:
    kept = found.get_support()
    return {
        "data": name,
        "seed": seed,
        "method": method,
        "kept": kept.sum(),
        "planted_kept": (kept & planted).sum(),
        "planted": planted.sum(),
        "cer": classification_error_rate(labels, found.labels_),
    }


def _standardise(X: np.ndarray) -> np.ndarray:
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
