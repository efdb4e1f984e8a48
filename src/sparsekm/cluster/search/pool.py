"""Pools of partitions at each sparsity, and the crossing of two of them.

A child takes each cluster whole from one of its parents, after the clusters of the two have been
matched by their overlap: the inheritance of centres of HG-means (Gribel & Vidal 2019,
doi:10.1016/j.patcog.2018.12.022), but in terms of labels, so that it costs O(n) and no distances.
"""

from __future__ import annotations

from bisect import insort
from hashlib import sha256

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


def partition_key(labels: np.ndarray) -> bytes:
    """Digest labels, of whatever width: what tells partitions apart in little memory."""
    return sha256(labels.astype(np.int32).tobytes()).digest()


class Pool:
    """The best distinct partitions found at one sparsity, at most `capacity` of them."""

    def __init__(self, n_clusters: int, capacity: int) -> None:
        self.n_clusters = n_clusters
        self.capacity = capacity
        # Best first, by objective and key.
        self._ranked: list[tuple[float, bytes, np.ndarray]] = []
        # Keys of what was climbed from.
        self._starts: set[bytes] = set()

    def __len__(self) -> int:
        return len(self._ranked)

    def add(self, labels: np.ndarray, objective: float) -> None:
        """Take a partition in, unless it is known."""
        labels = canonical_labels(labels, self.n_clusters)
        key = partition_key(labels)
        if not any(key == known for _, known, _ in self._ranked):
            insort(self._ranked, (-objective, key, labels), key=lambda member: member[:2])
            del self._ranked[self.capacity :]

    def is_new_start(self, labels: np.ndarray) -> bool:
        """Return whether nothing climbed from these labels before."""
        return partition_key(canonical_labels(labels, self.n_clusters)) not in self._starts

    def remember_start(self, labels: np.ndarray) -> bool:
        """Note that a climb begins here; return whether none did before."""
        known = len(self._starts)
        self._starts.add(partition_key(canonical_labels(labels, self.n_clusters)))
        return len(self._starts) > known

    def draw(self, uniform: float) -> np.ndarray:
        """Return one of the partitions, each as likely as the others: `uniform` is in [0, 1)."""
        return self.members[int(uniform * len(self))]

    @property
    def best(self) -> np.ndarray:
        """The best partition."""
        return self.members[0]

    @property
    def best_objective(self) -> float:
        """The largest objective."""
        return -self._ranked[0][0]

    @property
    def members(self) -> list[np.ndarray]:
        """The partitions, best first."""
        return [labels for _, _, labels in self._ranked]
