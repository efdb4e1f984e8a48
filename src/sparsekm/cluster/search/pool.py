"""The best partitions found so far at one sparsity."""

from __future__ import annotations

from bisect import insort
from hashlib import sha256

import numpy as np

from sparsekm.cluster.search.crossover import canonical_labels


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

    def remember_start(self, labels: np.ndarray) -> None:
        """Note that a climb begins here."""
        self._starts.add(partition_key(canonical_labels(labels, self.n_clusters)))

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
