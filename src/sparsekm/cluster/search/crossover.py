"""Partitions as genotypes: canonical form, matching of clusters, inheritance.

A child takes each cluster whole from one of its parents, after the clusters of the two have been
matched by their overlap: the inheritance of centres of HG-means (Gribel & Vidal 2019,
doi:10.1016/j.patcog.2018.12.022), but in terms of labels, so that it costs O(n) and no distances.
"""

from __future__ import annotations

import numpy as np

from sparsekm.runtime.compiled import compiled


@compiled
def canonical_labels(labels, n_clusters):
    """Rename clusters by first appearance: equal partitions get equal labels."""
    names = np.full(n_clusters, -1, labels.dtype)
    renamed = np.empty_like(labels)
    following = 0
    for i in range(labels.shape[0]):
        k = labels[i]
        if names[k] < 0:
            names[k] = following
            following += 1
        renamed[i] = names[k]
    return renamed


@compiled
def match_clusters(labels, other, n_clusters):
    """Rename the clusters of `other` after those of `labels`, largest overlap first."""
    overlap = np.zeros((n_clusters, n_clusters), np.int64)
    for i in range(labels.shape[0]):
        overlap[labels[i], other[i]] += 1
    names = np.zeros(n_clusters, other.dtype)
    for _ in range(n_clusters):
        best = np.argmax(overlap)
        a = best // n_clusters
        b = best % n_clusters
        names[b] = a
        overlap[a, :] = -1
        overlap[:, b] = -1
    renamed = np.empty_like(other)
    for i in range(other.shape[0]):
        renamed[i] = names[other[i]]
    return renamed


@compiled
def cross(mother, father, n_clusters, draws, child):
    """Write a child of two partitions.

    Samples on whose cluster the parents agree keep it; the others go to the cluster that is
    inherited from the parent which puts them there, or, where both or neither claim them, by lot.
    `draws` (n_samples + n_clusters,), uniform in [0, 1), are all the chance there is.
    """
    n = mother.shape[0]
    matched = match_clusters(mother, father, n_clusters)
    from_mother = draws[n:] < 0.5
    for i in range(n):
        a = mother[i]
        b = matched[i]
        claimed_by_mother = from_mother[a]
        claimed_by_father = not from_mother[b]
        take_a = claimed_by_mother
        if claimed_by_mother == claimed_by_father:
            take_a = draws[i] < 0.5
        child[i] = a if take_a else b
