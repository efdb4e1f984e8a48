"""Rules for the numbers of features and of clusters on 23 designs: docs/choosing_features.md.

A design is the same data in every run: its seed is made from its settings and the repetition.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from sparsekm import GapSearch, KMeans, L0KMeans, SparseKMeans, classification_error_rate
from sparsekm.cluster.matrices.scaled_data import ScaledData
from sparsekm.runtime.threads import one_blas_thread
from sparsekm.simulation import (
    EXPERIMENTS,
    THREE_LEVELS,
    Experiment,
    SimulatedData,
    replicate_seed,
)
from sparsekm.tuning.feature_ranking import choose_screening, rank_features
from sparsekm.tuning.gap import (
    RULES,
    default_sparsities,
    feature_limit,
    select_sparsity,
    share_of,
)

SEED, REPLICATES = 20180101, 3
SEARCH = {"n_init": 3, "min_cluster_size": 3}
REFERENCES, N_REFERENCES, N_SPARSITIES = ("permutation", "gaussian", "shrunk"), 5, 10
FIRST = 200


def blocks(*, rho: float, mu: float, random_state) -> SimulatedData:
    """Draw three clusters in 50 of 500 features, the others in blocks with correlation rho."""
    rng = np.random.default_rng(random_state)
    labels = np.repeat(np.arange(3), 20)
    X = rng.standard_normal((60, 500))
    for start in range(50, 500, 25):
        members = X[:, start : start + 25]
        members *= np.sqrt(1 - rho)
        members += np.sqrt(rho) * rng.standard_normal((60, 1))
    X[:, :50] += mu * np.array(THREE_LEVELS)[labels][:, None]
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    return SimulatedData(X, labels, (np.arange(500) < 50) & (mu != 0))


def nuisance(*, nuisance: str, random_state) -> SimulatedData:
    """Draw two classes with markers, and stronger variation that has nothing to do with them.

    Four Gaussian factors load on all features. The nuisance "factors" is no other; "batches" are
    two and a "gradient" a position that shift three tenths of the features; "heavy_tails" are of
    t-distributed features, "outliers" three samples with three times the noise; "split" are halves
    of the first class that 30 features tell apart.
    """
    rng = np.random.default_rng(random_state)
    n, p, n_markers = 72, 1000, 60
    labels = (np.arange(n) + 0.5 > 0.65 * n).astype(int)
    X = rng.standard_normal((n, p))
    factors = rng.standard_normal((n, 4))
    with one_blas_thread:
        X += factors @ (0.5 * rng.standard_normal((4, p)))
    others = partial(rng.choice, np.arange(n_markers, p), replace=False)
    if nuisance in ("batches", "gradient"):
        driven = others(int(0.3 * p))
        rises = nuisance == "gradient"
        shift = 4 * rng.uniform(size=n) if rises else 1.5 * rng.integers(2, size=n)
        X[:, driven] += shift[:, None] * rng.choice([-1, 1], len(driven))
    elif nuisance == "heavy_tails":
        driven = others(int(0.15 * p))
        X[:, driven] += rng.standard_t(3, (n, len(driven)))
    elif nuisance == "outliers":
        X[rng.choice(n, 3, replace=False)] *= 3
    elif nuisance == "split":
        X[:, n_markers : n_markers + 30] += 3 * ((labels == 0) & (rng.random(n) < 0.5))[:, None]
    for feature in range(n_markers):
        X[:, feature] += 3 * rng.choice([-1, 1]) * (labels == feature % 2)
    X -= X.mean(axis=0)
    X /= X.std(axis=0, ddof=1)
    return SimulatedData(X, labels, np.arange(p) < n_markers)


SIZES = {"n_features": 500, "n_relevant": 50, "cluster_size": 20}
# Three clusters whose features a and b correlate as rho^|a - b|.
AUTOREGRESSIVE = Experiment("autoregressive", THREE_LEVELS, {"rho": 0.0, "mu": 0.9, **SIZES})
DRAWS = {"autoregressive": AUTOREGRESSIVE, "blocks": blocks, "nuisance": nuisance, **EXPERIMENTS}
NUISANCES = ("factors", "batches", "gradient", "heavy_tails", "outliers", "split")
# By kind and name: what is drawn, and its settings. With mu = 0 there are no clusters.
DESIGNS = {
    ("independent", "exp1"): ("experiment_1", {}),
    **{
        ("independent", f"exp2_mu{mu}_p{p}"): ("experiment_2", {"mu": mu, "n_features": p})
        for mu, p in ((0.6, 200), (0.7, 200), (0.7, 500), (0.7, 1000))
    },
    ("independent", "exp3_p25"): ("experiment_3", {"n_features": 25}),
    ("independent", "exp4_rho0.1"): ("experiment_4", {"rho": 0.1}),
    ("independent", "ar_rho0"): ("autoregressive", {"rho": 0}),
    ("correlated", "exp4_rho0.3"): ("experiment_4", {"rho": 0.3}),
    **{("correlated", f"ar_rho{r}"): ("autoregressive", {"rho": r}) for r in (0.3, 0.6, 0.9)},
    **{("correlated", f"blocks_mu{mu}"): ("blocks", {"rho": 0.5, "mu": mu}) for mu in (0.9, 1.5)},
    **{("correlated", f"nuisance_{n}"): ("nuisance", {"nuisance": n}) for n in NUISANCES},
    ("no clusters", "none"): ("autoregressive", {"rho": 0, "mu": 0}),
    ("no clusters", "none_rho0.9"): ("autoregressive", {"rho": 0.9, "mu": 0}),
    ("no clusters", "none_blocks"): ("blocks", {"rho": 0.5, "mu": 0}),
}


def draw(design: str, settings: dict, replicate: int) -> SimulatedData:
    """Draw a repetition of a design, z-scored."""
    seed = replicate_seed(SEED, design, settings, replicate)
    return DRAWS[design](**settings, random_state=seed)


def fit_rules(data: SimulatedData, seed: int) -> pd.DataFrame:
    """Apply every rule to a data set.

    There is a row for each: rule, cer, share of the features kept, and of `SparseKMeans` apart
    (whether any clusters stand apart) and known (whether the number of clusters is the known one).
    """
    X, labels, n_features = data.X, data.labels, data.X.shape[1]
    estimator = L0KMeans(data.n_clusters, random_state=seed, **SEARCH)
    grid = default_sparsities("l0", n_features, N_SPARSITIES)
    shared = {"sparsities": grid, "n_references": N_REFERENCES, "random_state": seed}
    searches = {kind: GapSearch(estimator, reference=kind, **shared).fit(X) for kind in REFERENCES}
    path = searches["permutation"].path_
    limit = feature_limit(X, path)
    errors = np.array([classification_error_rate(labels, found) for found in path.labels])
    few = path.n_selected <= share_of(n_features)
    chosen = {
        f"{kind}, {rule}": select_sparsity(search.results_, rule, limit)
        for kind, search in searches.items()
        for rule in RULES
    }
    # The last two know the labels.
    chosen |= {"k-means": len(grid) - 1, "best on path": errors.argmin()}
    chosen["best of few"] = errors[few].argmin() if few.any() else 0
    rows = [
        {"rule": rule, "cer": errors[row], "share": path.n_selected[row] / n_features}
        for rule, row in chosen.items()
    ]
    scaled = ScaledData.standardise(X)
    first = rank_features(scaled, choose_screening(scaled))[:FIRST]
    found = KMeans(data.n_clusters, random_state=seed).fit(X[:, first])
    error = classification_error_rate(labels, found.labels_)
    rows.append({"rule": "k-means, first", "cer": error, "share": len(first) / n_features})
    for rule, n_clusters in (("SparseKMeans", data.n_clusters), ("SparseKMeans, auto", "auto")):
        found = SparseKMeans(n_clusters, min_cluster_size=3, random_state=seed).fit(X)
        rows.append(
            {
                "rule": rule,
                "cer": classification_error_rate(labels, found.labels_),
                "share": found.get_support().mean(),
                "apart": float(found.has_clusters_),
                "known": float(found.n_clusters_ == data.n_clusters),
            }
        )
    return pd.DataFrame(rows)


def summarise(table: pd.DataFrame) -> pd.DataFrame:
    """Average the repetitions of each design and rule, and add whether the rule passes.

    On independent features the CER is to be at most a tenth above that of the permutation gap; on
    correlated ones at most .01 above that of k-means, with at most a quarter of the features. The
    last rows, of the design "all", are means over those of a kind.
    """
    summary = table.groupby(["kind", "design", "rule"], sort=False).mean().reset_index()
    by_rule = {rule: rows.set_index("design")["cer"] for rule, rows in summary.groupby("rule")}
    near = summary["cer"] <= summary["design"].map(by_rule["permutation, max"]) * 1.1 + 1e-12
    good = summary["cer"] <= summary["design"].map(by_rule["k-means"]) + 0.01
    passes = near.where(summary["kind"] == "independent", good & (summary["share"] <= 0.25))
    summary["passes"] = passes.astype(float).where(summary["cer"].notna())
    means = summary.drop(columns="design").groupby(["kind", "rule"], sort=False).mean()
    return pd.concat([summary, means.reset_index().assign(design="all")], ignore_index=True)


def benchmark() -> pd.DataFrame:
    """Apply every rule to three repetitions of every design."""
    tables = []
    for (kind, name), design in DESIGNS.items():
        for replicate in range(REPLICATES):
            data = draw(*design, replicate)
            rules = fit_rules(data, replicate)
            if not data.relevant.any():
                rules[["cer", "known"]] = np.nan
            tables.append(rules.assign(kind=kind, design=name))
        print(f"{name} done", flush=True)
    return summarise(pd.concat(tables))
