"""Where features are high, what the clusters are, and what any smooth map keeps."""

import anndata
import numpy as np
import pandas as pd
import pytest
from scipy.ndimage import gaussian_filter
from scipy.sparse import csr_array
from scipy.stats import chi2_contingency, kruskal
from written_files import save_matrix

from sparsekm.annotation.clusters import (
    associate,
    average_within,
    cover_features,
    find_highest,
    locate_features,
    tabulate_overlap,
)
from sparsekm.annotation.enrichment import find_enriched, keep_by_chance, random_map
from sparsekm.annotation.gene_sets import build_gene_sets, match_features
from sparsekm.cluster.batches import centre_within
from sparsekm.cluster.matrices.matrix import CentredMatrix, feature_scores
from sparsekm.cluster.sparsity_path import ChosenFit
from sparsekm.cluster.weight_step import TopFeatures
from sparsekm.io import normalised_file
from sparsekm.io.readers.raw_matrix import RawMatrix


def test_effect_is_cohens_d_by_its_definition(seed):
    X = np.random.default_rng(seed).normal(size=(30, 5))
    codes = np.repeat([0, 1, 2], [5, 10, 15])
    [(groups, effects, leads)] = find_highest(X, codes)
    for j in range(5):
        means = [X[codes == k, j].mean() for k in range(3)]
        assert groups[j] == np.argmax(means)
        inside, outside = X[codes == groups[j], j], X[codes != groups[j], j]
        spread = sum((part - part.mean()) @ (part - part.mean()) for part in (inside, outside))
        expected = (inside.mean() - outside.mean()) / np.sqrt(spread / 28)
        assert effects[j] == pytest.approx(expected)
        assert leads[j] == pytest.approx(sorted(means)[-1] - sorted(means)[-2])


def test_clusters_within_batches_have_the_means_of_centred_values(tmp_path, seed, monkeypatch):
    monkeypatch.setattr(normalised_file, "NUMBERS_AT_ONCE", 12)
    X = np.random.default_rng(seed).normal(size=(12, 4))
    # A batch without the second cluster, and a cluster that matches none.
    batch, labels = np.repeat(["b", "a"], [4, 8]), np.array([0, 0, 0, -1] * 2 + [1] * 4)
    centred = centre_within(X - X.mean(axis=0), np.repeat([0, 1], [4, 8]))
    found = average_within(X - X.mean(axis=0), labels, batch)
    assert found.index.tolist() == [-1, 0, 1]
    for cluster, means in found.iterrows():
        np.testing.assert_allclose(means, centred[labels == cluster].mean(axis=0), atol=1e-12)


def test_a_file_gives_what_its_matrix_gives_with_samples_of_no_class(tmp_path, seed, monkeypatch):
    # In blocks of a few samples, some of which have no class.
    monkeypatch.setattr(normalised_file, "NUMBERS_AT_ONCE", 12)
    X = np.random.default_rng(seed).normal(size=(12, 4)).astype(np.float32)
    labels = np.array(["", "a", "b"] * 4, dtype=object)
    file, clusters = save_matrix(tmp_path / "m.h5ad", X, {"label": labels}), np.arange(12) % 2
    table = locate_features(file, clusters, labels)
    pd.testing.assert_frame_equal(table, locate_features(X, clusters, labels))


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_features_that_were_not_clustered_have_scores_and_centres_of_the_same_labels(
    tmp_path, seed, monkeypatch, kind
):
    monkeypatch.setattr(normalised_file, "NUMBERS_AT_ONCE", 12)
    X = np.random.default_rng(seed).normal(size=(12, 5)).astype(np.float32)
    names, used, labels = list("abcde"), [1, 3], np.arange(12, dtype=np.int32) % 3
    file, whole = tmp_path / "m.h5ad", pd.DataFrame(index=names)
    if kind is csr_array:
        whole["center"] = X.mean(axis=0, dtype=np.float64)
    obs = pd.DataFrame(index=[f"s{i}" for i in range(12)])
    var = whole.iloc[used]
    everything = RawMatrix.of(kind(X)), whole
    normalised_file.write_normalised(file, kind(X[:, used]), obs, var, {}, whole=everything)
    X = X - whole.get("center", pd.Series(0, names)).to_numpy()
    scores, centers = np.array([7.0, 8.0]), np.arange(6.0).reshape(3, 2)
    fit = ChosenFit(labels, np.array([0.0, 1.0]), scores, 8.0, centers=centers)
    table, found = cover_features(file, {"l0": fit})
    assert list(table.index) == names
    assert found["l0"].weights.tolist() == [0, 0, 0, 1, 0]
    means = np.array([X[labels == k].mean(axis=0) for k in range(3)])
    means[:, used] = centers
    np.testing.assert_allclose(found["l0"].centers, means, atol=1e-6)
    centred = X - X.mean(axis=0)
    expected = 4 * sum(centred[labels == k].mean(axis=0) ** 2 for k in range(3))
    expected[used] = scores
    np.testing.assert_allclose(found["l0"].scores, expected, rtol=1e-5)
    pd.testing.assert_frame_equal(locate_features(file, labels), locate_features(X, labels))
    # Programs that open the file find all features where scanpy puts them.
    assert anndata.read_h5ad(file).raw.shape == (12, 5)


def test_lead_is_the_distance_to_the_next_group_that_has_samples():
    # Means of groups 0, 1 and 3: 1, 7 and 4; group 2 is empty, and -1 is no group.
    X = np.array([[0.0], [2.0], [7.0], [4.0], [99.0]])
    some, same = find_highest(X, [0, 0, 1, 3, -1], [1, 1, 1, 1, 1])
    assert some.lead.tolist() == [3]
    assert np.isnan(same.lead[0])
    # Two groups share the highest mean: the feature leads in neither.
    assert find_highest(X[[0, 2, 2]], [0, 1, 2])[0].lead.tolist() == [0]


def test_effects_far_from_zero_are_exact_and_those_of_equal_values_unknown():
    codes = np.repeat([0, 1, 2], 40)
    noise = np.random.default_rng(0).choice([-1.0, 1.0], (120, 1))
    X = np.hstack([noise, 1e9 + noise, np.full((120, 1), 0.3), np.where(codes, 0.1, 0.7)[:, None]])
    [found] = find_highest(X, codes)
    assert found.effect[1] == found.effect[0]
    assert np.isnan(found.effect[2:]).all()
    assert found.lead[3] == pytest.approx(0.6)


def test_table_names_classes_and_leaves_them_out_where_there_are_none():
    X = np.array([[0.0], [0.1], [5.0], [5.2]])
    table = locate_features(X, np.array([1, 1, 0, 0]), np.array(["b", "b", "a", "a"]))
    assert table.loc[0, "highest_cluster"] == 0
    assert table.loc[0, "highest_label"] == "a"
    assert table.loc[0, "effect_label"] == table.loc[0, "effect_cluster"] > 10
    partly = locate_features(X, np.array([1, 1, 0, 0]), np.array(["", "b", "a", "a"]))
    assert partly.loc[0, "highest_label"] == "a"
    assert partly.loc[0, "effect_label"] == pytest.approx(5 / (0.02**0.5))
    assert table.loc[0, "lead_label"] == table.loc[0, "lead_cluster"] == pytest.approx(5.05)
    columns = ["highest_cluster", "effect_cluster", "lead_cluster"]
    assert list(locate_features(X, np.array([1, 1, 0, 0]))) == columns


CLUSTERS = {"l0": np.array([0, 0, 0, 1, 1, 2, 2, 2, 2]), "kmeans": np.zeros(9, int)}
LABELS = np.array(list("AABAACCCB"), dtype=object)
REGIONS = pd.DataFrame(
    {"acronym": ["C", "B", "gone"], "name": ["see", "bee", "gone"], "color": ["cc0000", "b0", "0"]}
)


def test_purity_is_the_share_of_the_best_region_of_which_each_cluster_has_one_even_when_tied():
    table = tabulate_overlap(CLUSTERS, LABELS, REGIONS)
    best = table[table["is_best"] & (table["method"] == "l0")].set_index("cluster")
    assert best["label"].to_dict() == {0: "A", 1: "A", 2: "C"}
    assert best["share_of_cluster"].tolist() == [2 / 3, 1, 0.75]
    assert best["share_of_label"].tolist() == [0.5, 0.5, 1]
    table = tabulate_overlap({"l0": np.zeros(2, int)}, np.array(["A", "B"]), REGIONS)
    # The order of the atlas decides: A is none of its regions.
    assert table[table["is_best"]]["label"].tolist() == ["B"]
    assert table["label"].tolist() == ["B", "A"]


def test_samples_without_a_known_class_are_left_out():
    labels = np.where(np.arange(9) % 2, LABELS, "")
    known = np.arange(9) % 2 == 1
    table = tabulate_overlap(CLUSTERS, labels, REGIONS)
    expected = tabulate_overlap({m: c[known] for m, c in CLUSTERS.items()}, labels[known], REGIONS)
    pd.testing.assert_frame_equal(table, expected)
    assert "" not in set(table["label"])


SIDE, SMOOTH, ROUGH = 20, 20, 60
POSITIONS = np.argwhere(np.ones((SIDE, SIDE))).astype(float)


def smooth_maps(rng, n):
    return [gaussian_filter(rng.standard_normal((SIDE, SIDE)), 3).ravel() for _ in range(n)]


def test_smooth_features_are_kept_by_any_map():
    rng = np.random.default_rng(1)
    smooth = smooth_maps(rng, 3)
    X = np.column_stack([*smooth, *rng.standard_normal((9, SIDE**2))])
    X /= X.std(axis=0)
    kept = keep_by_chance(X, POSITIONS, 4, 3, seed=0, n_maps=20)
    assert kept.shape == (20, 12)
    assert (kept.sum(axis=1) == 3).all()
    assert kept[:, :3].mean() > 0.9
    np.testing.assert_array_equal(kept[:5], keep_by_chance(X, POSITIONS, 4, 3, seed=0, n_maps=5))


def test_a_term_of_smooth_genes_is_enriched_for_any_map_and_one_of_the_clusters_is_not():
    rng = np.random.default_rng(2)
    smooth = smooth_maps(rng, SMOOTH)
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


def test_numbers_and_categories_have_the_tests_of_scipy():
    rng, labels = np.random.default_rng(0), np.repeat([0, 1, 2], 20)
    age, sex = pd.Series(rng.normal(size=60) + labels), pd.Series(rng.choice(["f", "m"], 60))
    table = associate(labels, {"sex": sex, "age": age}).set_index("column")
    statistic, p = kruskal(*(age[labels == k] for k in range(3)))
    assert table.loc["age", "p"] == pytest.approx(p)
    assert table.loc["age", "effect"] == pytest.approx(statistic / 59)
    expected = chi2_contingency(pd.crosstab(labels, sex), correction=False).pvalue
    assert table.loc["sex", "p"] == pytest.approx(expected)
    # The larger of two p-values stays, the smaller doubles at most.
    assert table.loc["sex", "q"] == pytest.approx(max(table["p"]))
    assert table.loc["age", "q"] == pytest.approx(min(2 * p, max(table["p"])))
    # A batch that is the clusters has an effect of one and stands first.
    batch = pd.Series(np.array(["x", "y", "z"], dtype=object)[labels])
    table = associate(labels, {"noise": pd.Series(np.arange(60) % 2), "batch": batch})
    assert table["column"].tolist() == ["batch", "noise"]
    assert table["effect"][0] == pytest.approx(1)


def test_missing_values_are_left_out_and_a_constant_column_has_no_effect():
    labels = np.repeat([0, 1, 2], 20)
    values = pd.Series(np.where(np.arange(60) < 5, np.nan, labels * 1.0))
    columns = {"some": values, "same": pd.Series(["a"] * 60)}
    table = associate(labels, columns).set_index("column")
    assert table.loc["some", "n"] == 55
    assert table.loc["same", ["effect", "p"]].tolist() == [0, 1]
    assert associate(labels, {}).empty
