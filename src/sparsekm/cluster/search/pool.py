"""The best partitions found so far at one sparsity."""

from __future__ import annotations

from hashlib import sha256

import numpy as np

from sparsekm.cluster.search.crossover import canonical_labels


def partition_key(labels: np.ndarray) -> bytes:
    """Digest labels, of whatever width: what tells partitions apart in little memory."""
    return sha256(labels.astype(np.int32).tobytes()).digest()


class Pool:
    """The best distinct partitions found at one sparsity.

    Parameters
    ----------
    n_clusters : int
    capacity : int
        Partitions kept at most: the weakest beyond them leaves.
    """

    def __init__(self, n_clusters: int, capacity: int) -> None:
        self.n_clusters = n_clusters
        self.capacity = capacity
        self._members: dict[bytes, tuple[float, np.ndarray]] = {}

    def __len__(self) -> int:
        return len(self._members)

    def add(self, labels: np.ndarray, objective: float) -> None:
        """Take a partition in, unless it is known."""
        labels = canonical_labels(labels, self.n_clusters)
        self._members[partition_key(labels)] = (objective, labels)
        if len(self._members) > self.capacity:
            weakest = min(self._members, key=lambda key: (self._members[key][0], key))
            del self._members[weakest]

    def holds(self, labels: np.ndarray) -> bool:
        """Whether a partition is among them, however its clusters are named."""
        return partition_key(canonical_labels(labels, self.n_clusters)) in self._members

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Return one of the partitions, each as likely as the others."""
        return self.ranked(int(rng.integers(len(self))))

    @property
    def best(self) -> np.ndarray:
        """The best partition."""
        return self.ranked(0)

    @property
    def best_objective(self) -> float:
        """The largest objective."""
        return max(objective for objective, _ in self._members.values())

    def ranked(self, rank: int) -> np.ndarray:
        """Return the best partition for rank 0, the next for 1, and so on."""
        ranked = sorted(self._members.items(), key=lambda item: (-item[1][0], item[0]))
        return ranked[rank][1][1]
