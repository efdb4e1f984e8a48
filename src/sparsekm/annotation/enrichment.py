"""Terms that are over-represented in a group of the genes analysed.

P-values are hypergeometric, one-sided; q-values are over all terms within the size limits [1]_. All
numbers count genes of the data set with any term, and not genes of the genome, because the atlas
selected its genes, and well-known genes may be kept more often.

Genes of one category often have similar patterns in space, and then many categories are
over-represented for any smooth map [2]_. Therefore, if positions are known, `p_spatial` is the
share of random maps for which as many genes of the group have the term. A random map has the same
number of clusters as the result, each with the samples nearest to a random sample, and the same
number of features is kept.

References
----------
.. [1] Y. Benjamini, Y. Hochberg (1995). doi:10.1111/j.2517-6161.1995.tb02031.x
.. [2] B. D. Fulcher, A. Arnatkeviciute, A. Fornito (2021). doi:10.1038/s41467-021-22862-1
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy.spatial import cKDTree
from scipy.stats import false_discovery_control, hypergeom

from sparsekm.annotation.gene_sets import GeneSets, MatchedFeatures
from sparsekm.annotation.gene_table import primary_method
from sparsekm.cluster.matrices.matrix import feature_scores
from sparsekm.cluster.matrices.sparse_matrix import as_matrix
from sparsekm.cluster.weight_step import TopFeatures
from sparsekm.io.tables import TABLES
from sparsekm.pipeline.provenance import derive_seed

N_MAPS = 199


def random_map(positions: np.ndarray, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Draw a partition of n samples, int32, into compact, non-empty clusters."""
    seeds = rng.choice(len(positions), n_clusters, replace=False)
    labels = cKDTree(positions[seeds]).query(positions)[1].astype(np.int32)
    # If several samples are in one place, a later seed could get no sample.
    labels[seeds] = np.arange(n_clusters, dtype=np.int32)
    return labels


def keep_by_chance(
    X: np.ndarray,
    positions: np.ndarray,
    n_clusters: int,
    n_kept: int,
    *,
    seed: int,
    n_maps: int = N_MAPS,
) -> np.ndarray:
    """Return which features each random map keeps, a mask of shape (n_maps, n_features)."""
    matrix = as_matrix(X)
    keep = TopFeatures(float(n_kept))
    kept = np.zeros((n_maps, X.shape[1]), dtype=bool)
    for number in range(n_maps):
        rng = np.random.default_rng(derive_seed(seed, "map", number))
        labels = random_map(positions, n_clusters, rng)
        kept[number] = keep.weigh(feature_scores(matrix, labels, n_clusters)) > 0
    return kept


ENRICHMENT = TABLES["enrichment.csv"]
GROUPS = ("kept", "dropped", "only l1")
"""Groups of features, in the order of tables."""


def group_features(
    weights: Mapping[str, np.ndarray], *, is_atlas: bool = False
) -> dict[str, np.ndarray]:
    """Group features, as masks of shape (p,), by their weights under the sparse methods.

    The group ``"only l1"``, kept by l1 and not by l0, exists if `primary_method` is l0.
    """
    sparse = ("l0", "l1", "sparse")
    kept = {m: np.asarray(weights[m]) != 0 for m in sparse if m in weights}
    if not kept:
        return {}
    primary = primary_method(kept, is_atlas=is_atlas)
    groups = {"kept": kept[primary], "dropped": ~kept[primary]}
    if primary == "l0" and "l1" in kept:
        groups["only l1"] = kept["l1"] & ~kept["l0"]
    return groups


def find_enriched(
    sets: GeneSets,
    matched: MatchedFeatures,
    groups: Mapping[str, np.ndarray],
    *,
    by_chance: np.ndarray | None = None,
    term_size: tuple[int, int] = (5, 500),
) -> pd.DataFrame:
    """Test every term within the size limits in every group; the columns are `ENRICHMENT`.

    A gene is in a group if any of its features is, but not in "dropped" if it is in "kept".
    `by_chance`, a mask of shape (n_maps, p), has the features that random maps keep. `term_size`
    has the smallest and the largest number of analysed genes of a tested term.
    """
    low, high = term_size
    if not 1 <= low <= high:
        raise ValueError(f"term_size={list(term_size)} should be 1 <= smallest <= largest.")
    # The analysed genes of each term.
    number = np.full(len(sets.genes) + 1, -1, dtype=np.int64)
    known = np.flatnonzero(matched.positions >= 0)
    number[matched.positions[known]] = known
    carried = (number[members] for members in sets.members)
    analysed = [genes[genes >= 0] for genes in carried]
    tested = {t: genes for t, genes in enumerate(analysed) if low <= genes.size <= high}
    if not groups or not tested:
        return pd.DataFrame({column: [] for column in ENRICHMENT.columns}).astype({"genes": object})
    nulls: dict[str, list[np.ndarray]] = {"kept": [], "dropped": []}
    for kept in () if by_chance is None else by_chance:
        for name, genes in _choose({"kept": kept, "dropped": ~kept}, matched).items():
            nulls[name].append(genes)
    parts = [
        _test_group(name, genes, sets, matched, tested, nulls.get(name, []))
        for name, genes in _choose(groups, matched).items()
    ]
    return pd.concat(parts, ignore_index=True)


def least_q(tests: pd.DataFrame) -> float:
    """Return the smallest q that the sizes of the terms of a group allow.

    A term would then share as many genes with the group as the smaller of the two has.
    """
    size = tests["n_group"]
    most = np.minimum(tests["n_term"], size)
    p_value = hypergeom.sf(most - 1, tests["n_analysed"], tests["n_term"], size)
    return float(false_discovery_control(np.clip(p_value, 0, 1)).min())


def _choose(groups: Mapping[str, np.ndarray], matched: MatchedFeatures) -> dict[str, np.ndarray]:
    """Return which genes with any term are in each group."""
    annotated = matched.positions >= 0
    chosen = {name: matched.any_of(features) & annotated for name, features in groups.items()}
    if {"kept", "dropped"} <= chosen.keys():
        chosen["dropped"] &= ~chosen["kept"]
    return chosen


def _test_group(
    group: str,
    chosen: np.ndarray,
    sets: GeneSets,
    matched: MatchedFeatures,
    carries: Mapping[int, np.ndarray],
    nulls: list[np.ndarray],
) -> pd.DataFrame:
    """Test the terms of `carries`, which has the genes of each term."""
    n_analysed, n_group = int((matched.positions >= 0).sum()), int(chosen.sum())
    shared = [genes[chosen[genes]] for genes in carries.values()]
    n_term, n_shared = (np.array([g.size for g in of]) for of in (carries.values(), shared))
    expected = n_group * n_term / max(n_analysed, 1)
    p_value = np.clip(hypergeom.sf(n_shared - 1, n_analysed, n_term, n_group), 0, 1)
    p_spatial: np.ndarray | float = np.nan
    if nulls:
        # The share of maps, including the result, whose group has at least as many genes of a term.
        found = np.array([[int(n[genes].sum()) for genes in carries.values()] for n in nulls])
        p_spatial = (1 + (found >= n_shared).sum(axis=0)) / (1 + len(nulls))
    table = pd.DataFrame(
        {
            "group": group,
            "term": [sets.terms[t] for t in carries],
            "name": [sets.names[t] for t in carries],
            "n_analysed": n_analysed,
            "n_group": n_group,
            "n_term": n_term,
            "n_shared": n_shared,
            "expected": expected,
            "fold": np.divide(n_shared, expected, out=np.ones(len(carries)), where=expected > 0),
            "p_value": p_value,
            "q_value": false_discovery_control(p_value),
            "p_spatial": p_spatial,
            "genes": [";".join(sorted(matched.symbols[g] for g in genes)) for genes in shared],
        }
    )
    # Size and identifier break ties, such as between terms with the same genes.
    return table.sort_values(["p_value", "n_term", "term"], kind="stable", ignore_index=True)
