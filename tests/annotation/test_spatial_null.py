"""Random maps of the tissue: what they are, and which terms stand out from any smooth map."""

import numpy as np
import pandas as pd
from scipy.ndimage import gaussian_filter

from sparsekm.annotation.enrichment import find_enriched, keep_by_chance, random_map
from sparsekm.annotation.gene_matching import match_features
from sparsekm.annotation.gene_sets import build_gene_sets
from sparsekm.cluster.matrices.matrix import CentredMatrix
from sparsekm.cluster.matrices.scatter import feature_scores
from sparsekm.cluster.weight_step import TopFeatures

SIDE, SMOOTH, ROUGH = 20, 20, 60
POSITIONS = np.argwhere(np.ones((SIDE, SIDE))).astype(float)


def test_clusters_of_a_random_map_are_compact_and_never_empty():
    labels = random_map(POSITIONS, 6, np.random.default_rng(0))
    assert set(labels) == set(range(6))
    # Most neighbours belong together.
    assert np.mean(np.diff(labels.reshape(SIDE, SIDE), axis=1) == 0) > 0.7
    one_place = random_map(np.zeros((5, 3)), 5, np.random.default_rng(0))
    assert sorted(one_place) == list(range(5))


def test_smooth_features_are_kept_by_any_map():
    rng = np.random.default_rng(1)
    smooth = [gaussian_filter(rng.standard_normal((SIDE, SIDE)), 3).ravel() for _ in range(3)]
    X = np.column_stack([*smooth, *rng.standard_normal((9, SIDE**2))])
    X /= X.std(axis=0)
    kept = keep_by_chance(X, POSITIONS, 4, 3, seed=0, n_maps=20)
    assert kept.shape == (20, 12)
    assert (kept.sum(axis=1) == 3).all()
    assert kept[:, :3].mean() > 0.9
    np.testing.assert_array_equal(kept[:5], keep_by_chance(X, POSITIONS, 4, 3, seed=0, n_maps=5))


def test_a_term_of_smooth_genes_is_enriched_for_any_map_and_one_of_the_clusters_is_not():
    rng = np.random.default_rng(2)
    smooth = [gaussian_filter(rng.standard_normal((SIDE, SIDE)), 3).ravel() for _ in range(SMOOTH)]
    scattered = rng.integers(0, 4, SIDE**2).astype(np.int32)
    marks = 2.0 * (scattered[:, None] == np.arange(8) % 4) + rng.standard_normal((SIDE**2, 8))
    X = np.column_stack([marks, *smooth, rng.standard_normal((SIDE**2, ROUGH))])
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    genes = [f"g{j}" for j in range(X.shape[1])]
    terms = {
        "T:marks": genes[:8],
        "T:smooth": genes[8 : 8 + SMOOTH],
        "T:rough": genes[8 + SMOOTH :],
    }
    sets = build_gene_sets("symbol", terms, {})
    matched = match_features(pd.DataFrame(index=genes), sets)
    maps = keep_by_chance(X, POSITIONS, 4, 8, seed=0, n_maps=99)

    def test_terms(labels, **nulls):
        kept = TopFeatures(8.0).weigh(feature_scores(CentredMatrix(X), labels, 4)) > 0
        groups = {"kept": kept, "dropped": ~kept}
        table = find_enriched(sets, matched, groups, term_size=(5, 100), **nulls)
        return table.set_index(["group", "term"])

    # Regions of the tissue that mean nothing: the usual test is sure of them.
    regions = test_terms(random_map(POSITIONS, 4, rng), by_chance=maps)
    assert regions.loc[("kept", "T:smooth"), "q_value"] < 1e-3
    assert regions.loc[("kept", "T:smooth"), "p_spatial"] > 0.5
    assert regions.loc[("dropped", "T:rough"), "p_spatial"] > 0.5
    # Clusters that no map of regions has.
    clusters = test_terms(scattered, by_chance=maps)
    assert clusters.loc[("kept", "T:marks"), "q_value"] < 1e-3
    assert clusters.loc[("kept", "T:marks"), "p_spatial"] == 0.01
    assert test_terms(scattered)["p_spatial"].isna().all()
