"""Tables of clusters with their markers, of regions with their recall, and of both across ages."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from sparsekm.annotation.clusters import tabulate_overlap
from sparsekm.annotation.gene_table import GENE_TABLE
from sparsekm.reporting.ages_section import view_corresponding
from sparsekm.reporting.clusters import planted_recall, region_colors, view_markers, view_regions

# Clusters 0 to 3 hold 40, 40, 24 and 16 of 120 voxels; the last two divide the region r1.


@pytest.fixture(scope="module")
def brain(brain_result):
    """The brain with planted regions and known leads: l0 keeps the first four of its genes."""
    genes = brain_result.genes.assign(
        relevant=[True, True, True, False, True, True, False, False],
        planted_regions=["RSP;CSP", "RSP", "CSP", "RSP", "RSP", "r1", "", ""],
        highest_cluster=[0, 3, 0, 0, 1, 1, 1, 1],
        effect_cluster=[1.5, 2.5, float("nan"), 0.5, 9, 9, 9, 9],
        lead_cluster=[0.25, 1.0, 0.75, 0.5, 9, 9, 9, 9],
    )
    clusters = {name: method.labels for name, method in brain_result.methods.items()}
    regions = brain_result.obs["region"].astype(str).to_numpy(dtype=object)
    overlap = tabulate_overlap(clusters, regions, brain_result.regions)
    return dataclasses.replace(brain_result, genes=genes, contingency=overlap)


def texts(row):
    return [cell.text for cell in row]


def test_markers_are_the_kept_genes_by_distance_up_and_down(brain):
    l0 = brain.methods["l0"]
    centers = np.zeros((4, brain.n_features))
    kept = np.flatnonzero(l0.weights)
    centers[0, kept[:2]], centers[1, kept[2]] = (0.25, 0.75), -1.5
    # A dropped gene marks nothing.
    centers[2, np.flatnonzero(l0.weights == 0)[0]] = 9
    view = _markers_of(brain, centers)
    names = brain.var.index[kept]
    assert [column.text for column in view.columns[:3]] == ["cluster", "voxels", "majority"]
    # Of the 80 others 40 are in the cluster where the third gene is low.
    up = f"{names[1]} +0.8, {names[2]} +0.8, {names[0]} +0.2"
    assert texts(view.rows[0]) == ["0", "40", "RSP", up, "none"]
    down = f"{names[2]} −1.5, {names[1]} −0.4, {names[0]} −0.1"
    assert texts(view.rows[1]) == ["1", "40", "CSP", "none", down]


def _markers_of(result, centers, **found):
    l0 = dataclasses.replace(result.methods["l0"], centers=centers, **found)
    return view_markers(dataclasses.replace(result, methods={"l0": l0}), "genes.csv")


def test_markers_of_unlabelled_samples_have_no_majority_and_without_centres_no_table(brain):
    unlabelled = dataclasses.replace(brain, contingency=None)
    view = _markers_of(unlabelled, np.zeros((4, brain.n_features)))
    assert texts(view.rows[0]) == ["0", "40", "none", "none"]
    assert _markers_of(brain, None) is None


def test_markers_name_the_fewest_that_tell_a_cluster_from_the_others_whether_kept_or_not(brain):
    names, signatures = brain.var.index, np.zeros((4, brain.n_features), np.int8)
    centers = np.zeros(signatures.shape)
    centers[0, :2] = 0.25, -1.5
    signatures[0, :2] = 1
    agreements = np.array([0.987, 0.3, 0.3, 0.3])
    view = _markers_of(brain, centers, cluster_signatures=signatures, cluster_agreements=agreements)
    assert view.columns[-1].text == "told from the others by"
    assert "puts left-out voxels into the cluster" in view.caption
    told = [texts(row)[-1] for row in view.rows]
    assert told[:2] == [f"{names[1]} −1.5, {names[0]} +0.2 (0.99)", "none (0.30)"]


def test_recall_counts_planted_genes_in_each_of_their_regions(brain):
    # The fourth gene is not planted as relevant; the fifth and sixth are dropped.
    assert planted_recall(brain) == {"RSP": (3, 2), "CSP": (2, 2), "r1": (1, 0)}
    only_kmeans = dataclasses.replace(brain, methods={"kmeans": brain.methods["kmeans"]})
    assert planted_recall(only_kmeans) is None


def test_regions_show_their_best_cluster_and_recall(brain):
    rows = view_regions(brain, region_colors(brain)).rows
    assert texts(rows[0])[2:] == ["40", "0", "100%", "100%", "3", "2"]
    assert texts(rows[1])[2:] == ["40", "1", "100%", "100%", "2", "2"]
    # Of the two clusters in r1, the larger has 24 of its 40 voxels.
    assert texts(rows[2])[2:] == ["40", "2", "60%", "100%", "1", "0"]


def test_real_regions_have_a_best_cluster_and_no_recall(brain):
    genes = brain.genes.drop(columns=["relevant", "planted_regions"])
    real = dataclasses.replace(brain, genes=genes)
    assert len(view_regions(real, region_colors(real)).rows[0]) == 6
    bare = dataclasses.replace(real, contingency=None)
    assert len(view_regions(bare, region_colors(bare)).rows[0]) == 3


def test_clusters_correspond_by_the_region_with_most_of_their_voxels(brain):
    merged = brain.methods["l0"].labels.clip(max=1)
    regions = brain.obs["region"].astype(str).to_numpy(dtype=object)
    later = dataclasses.replace(
        brain,
        name="P4",
        contingency=tabulate_overlap({"l0": merged}, regions, brain.regions),
    )
    view = view_corresponding([brain, later])
    assert texts(view.rows[0]) == ["RSP", "0 (100%)", "0 (100%)"]
    assert texts(view.rows[1]) == ["CSP", "1 (100%)", "1 (100%)"]
    # The merged cluster has 40 voxels in both; the tie goes to CSP.
    assert texts(view.rows[2]) == ["r1", "2 (60%), 3 (40%)", "no cluster"]
    assert view_corresponding([brain]) is None
    fewer = later.contingency[later.contingency["label"] != "r1"]
    view = view_corresponding([brain, dataclasses.replace(later, contingency=fewer)])
    assert texts(view.rows[2])[2] == "–"


def test_leads_survive_the_file_and_may_be_empty(brain, tmp_path):
    table = brain.genes.assign(lead_cluster=[float("nan"), *range(7)])
    GENE_TABLE.write(tmp_path / "genes.csv", table)
    read = GENE_TABLE.read(tmp_path / "genes.csv")["lead_cluster"]
    assert pd.isna(read[0])
    assert read[1:].tolist() == list(range(7))
