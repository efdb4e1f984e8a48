"""What a path found, sparsity by sparsity: read and drawn also where nothing is fitted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from sparsekm.cluster.matrices.containers import VaryingFeatures


@dataclass(frozen=True)
class Fit:
    """A partition and the weights that are best for it."""

    labels: np.ndarray  # (n_samples,), int32
    weights: np.ndarray  # (n_features,): what the weight step answers to `scores`
    scores: np.ndarray  # (n_features,): the contributions a_j, computed from the labels alone
    objective: float  # ``weights @ scores``
    n_iter: int = 0  # rounds of the search that found it
    objectives: list[float] = field(default_factory=list)  # after every weight step: never falls
    converged: bool = True  # false where the search ran out of rounds


@dataclass(frozen=True)
class SparsityPath:
    """Fits at several sparsities, in the order they were asked for.

    Attributes
    ----------
    sparsities : ndarray of shape (n_sparsities,)
    objectives : ndarray of shape (n_sparsities,)
    labels : ndarray of shape (n_sparsities, n_samples), int32
    weights : ndarray of shape (n_sparsities, n_features)
    scores : ndarray of shape (n_sparsities, n_features)
        The scores a_j of every feature under the labels of each sparsity.
    n_iter : ndarray of shape (n_sparsities,), int64
        Rounds of the search at each sparsity.
    search : str
        The search that ran: "alternate" or "global".
    first_objectives : ndarray of shape (n_sparsities,)
        What the search came to at its stated effort, maybe on a sample: what those of references
        are compared with.
    converged : ndarray of shape (n_sparsities,), bool, or None
        False where the search ran out of rounds (`max_iter`), of which a fit warns; None where that
        is not known.

    Examples
    --------
    >>> from sparsekm import L0KMeans
    >>> X = [[0.0, 5.0, 1.0], [1.0, -5.0, 0.0], [20.0, 5.0, 4.0], [21.0, -5.0, 5.0]]
    >>> path = L0KMeans(2, random_state=0).path(X, [1, 2])
    >>> path.weights
    array([[1., 0., 0.],
           [1., 0., 1.]])
    >>> path.objectives.tolist()
    [400.0, 416.0]
    """

    sparsities: np.ndarray
    objectives: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    scores: np.ndarray
    n_iter: np.ndarray
    search: str
    first_objectives: np.ndarray
    converged: np.ndarray | None = None

    @property
    def n_selected(self) -> np.ndarray:
        """Number of kept features at each sparsity, shape (n_sparsities,)."""
        return np.count_nonzero(self.weights, axis=1)

    @classmethod
    def from_fits(
        cls,
        sparsities: np.ndarray,
        fits: Sequence[Fit],
        search: str,
        first_objectives: np.ndarray | None = None,
    ) -> SparsityPath:
        """Stack fits, one per sparsity; by default they were not swept."""
        objectives = np.array([fit.objective for fit in fits])
        return cls(
            sparsities=np.asarray(sparsities, dtype=np.float64),
            objectives=objectives,
            first_objectives=objectives if first_objectives is None else first_objectives,
            labels=np.array([fit.labels for fit in fits], dtype=np.int32),
            weights=np.array([fit.weights for fit in fits]),
            scores=np.array([fit.scores for fit in fits]),
            n_iter=np.array([fit.n_iter for fit in fits], dtype=np.int64),
            search=search,
            converged=np.array([fit.converged for fit in fits]),
        )

    def fit_at(self, index: int) -> Fit:
        """Return one of the fits as it was found."""
        return Fit(
            self.labels[index],
            self.weights[index],
            self.scores[index],
            float(self.objectives[index]),
            int(self.n_iter[index]),
            converged=self.converged is None or bool(self.converged[index]),
        )

    def take(self, indices: ArrayLike) -> SparsityPath:
        """Return a path of some of the fits, in the order of `indices`."""
        return self._replace_arrays(lambda name: getattr(self, name)[indices])

    def put_back(self, features: VaryingFeatures) -> SparsityPath:
        """Return a path of all features, from one of those that vary: constant ones have 0."""
        weights, scores = (features.put_back(values) for values in (self.weights, self.scores))
        return replace(self, weights=weights, scores=scores)

    @classmethod
    def best_at(cls, paths: Sequence[SparsityPath], sparsity: float) -> SparsityPath:
        """Return a path of one fit: the best, of all paths of the same data, at a sparsity."""
        fits = [path.take(path.sparsities == sparsity) for path in paths]
        return max((fit for fit in fits if len(fit.objectives)), key=lambda fit: fit.objectives[0])

    @classmethod
    def join(cls, paths: Sequence[SparsityPath]) -> SparsityPath:
        """Put paths of the same data and search one behind the other."""
        return paths[0]._replace_arrays(
            lambda name: np.concatenate([getattr(path, name) for path in paths])
        )

    def _replace_arrays(self, make: Callable[[str], Any]) -> SparsityPath:
        names = [field.name for field in fields(self) if np.ndim(getattr(self, field.name)) > 0]
        return replace(self, **{name: make(name) for name in names})
