"""The results of a path at each sparsity. They can be read and drawn without fitting."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    import pandas as pd

    from sparsekm.cluster.matrices.varying_features import VaryingFeatures


@dataclass(frozen=True)
class Fit:
    """A partition and the weights that are best for it."""

    labels: np.ndarray  # (n_samples,), int32
    weights: np.ndarray  # (n_features,): what the weight step answers to `scores`
    # (n_features,): the contributions a_j, computed from the labels alone.
    scores: np.ndarray
    objective: float  # ``weights @ scores``
    n_iter: int = 0  # rounds of the search that found it
    # After every weight step: never falls.
    objectives: list[float] = field(default_factory=list)
    converged: bool = True  # false where the search ran out of rounds
    sparsity: float = np.nan  # the count or the bound that the weight step had
    centers: Any = None  # (n_clusters, n_features): the means, where they are known


# The fits of a path, and the objectives that the search reached before they were refined.
Found = tuple[list[Fit], np.ndarray]


@dataclass(frozen=True, kw_only=True)
class ChosenFit(Fit):
    """The result of a method: a fit, and further knowledge about its clusters.

    `SparseKMeans` has it as `result_`, and the workflow's files ``tuned.h5`` store it. Centres are
    on the scale of the clustered data. A sample that was set aside has the label of the nearest
    cluster. Only `SparseKMeans` sets all fields; other methods set the fields of `Fit`.
    """

    # If clusters were joined: the centres from before, (m, p), which assign samples, and the
    # cluster of each centre, (m,).
    fitted_centers: np.ndarray | None = None
    cluster_of: np.ndarray | None = None
    # (p,): what values are divided by before distances, if not 1.
    scale: np.ndarray | None = None
    # (n,): 1 for a sample that was set aside as an outlier.
    trimmed: np.ndarray | None = None
    # How features were ranked, see `sparsekm.tuning.feature_ranking`.
    screening: str = ""
    has_clusters: bool | None = None  # whether any two clusters are clearly separated
    conclusion: str = ""  # what was found, in words
    # (n,): share of the fits to folds that assign a sample to its cluster, NaN if it was not
    # fitted; and the cluster of a sample in the fits that leave it out, or -1.
    reproducibility: np.ndarray | None = None
    left_out: Any = None
    # (K, p): the means of the clusters by `left_out`.
    left_out_centers: np.ndarray | None = None
    # (K,): mean Jaccard overlap of clusters with those of folds.
    overlaps: np.ndarray | None = None
    selection_frequency: Any = None  # (p,): share of these fits that keep a feature
    # Features, ascending: the smallest set that assigns held-out samples to their clusters, if
    # there is one, and its adjusted Rand index; the number of features that do nearly as well, and
    # their index; then the set and the index of each cluster.
    signature: np.ndarray | None = None
    signature_agreement: float | None = None
    n_nearly: int = 0
    nearly_agreement: float = 0.0
    cluster_signatures: Any = None  # a sequence
    cluster_agreements: np.ndarray | None = None
    # (n,): the clusters of values that are centred within batches. They have the numbers of the
    # clusters that they match, or -1.
    batch_centred: np.ndarray | None = None
    # (n_fits, n): those of folds, if all samples were fitted.
    partitions: np.ndarray | None = None
    # Tables with a row per pair of neighbouring clusters, per candidate, and per number of clusters
    # tried: see `SparseKMeans`. `divisions` has a row per sample: its silhouette, and clusters_K
    # for each number of clusters tried. Files hold each as a separate table.
    separation: pd.DataFrame | None = None
    candidates: pd.DataFrame | None = None
    numbers: pd.DataFrame | None = None
    divisions: pd.DataFrame | None = None
    # In the report, the name of the method, and its further tables: the gap curve, this fit and
    # those from other seeds, and its row of rates of agreement with known classes.
    name: str = ""
    gaps: pd.DataFrame | None = None
    seeds: pd.DataFrame | None = None
    rates: Mapping[str, Any] = field(default_factory=dict)
    # Of the file, see `io.store`.
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, fit: Fit, **known: Any) -> ChosenFit:
        """Make a result from a fit and further fields."""
        return cls(**{**vars(fit), **known})

    @property
    def n_kept(self) -> int:
        """Number of features with nonzero weight (NW)."""
        return int(np.count_nonzero(self.weights))

    @property
    def is_sparse(self) -> bool:
        """Whether the method selects features."""
        is_tuned = self.gaps is not None or self.separation is not None
        return is_tuned or self.n_kept < self.weights.size

    @property
    def is_division(self) -> bool:
        """Whether its clusters were tested, and none is clearly separated from another."""
        return self.separation is not None and not self.has_clusters

    @property
    def measured_centers(self) -> np.ndarray:
        """The means of the clusters, (K, p), over held-out samples if there are any."""
        return self.centers if self.left_out_centers is None else self.left_out_centers

    @property
    def clustered(self) -> np.ndarray:
        """The labels, (n,), -1 for samples that were set aside."""
        return self.labels if self.trimmed is None else np.where(self.trimmed, -1, self.labels)

    @property
    def distance_weights(self) -> np.ndarray:
        """The weights of squared differences between samples and centres, (p,)."""
        return self.weights if self.scale is None else self.weights / self.scale**2

    @property
    def placing(self) -> tuple[np.ndarray, np.ndarray]:
        """The centres that assign samples, (m, p), and the cluster of each centre, (m,)."""
        if self.fitted_centers is None or self.cluster_of is None:
            return self.centers, np.arange(len(self.centers))
        return self.fitted_centers, self.cluster_of


@dataclass(frozen=True)
class SparsityPath:
    """Fits at several sparsities, in the requested order.

    Parameters
    ----------
    sparsities : ndarray of shape (n_sparsities,)
        Numbers of features, or bounds on the l1 norm.
    objectives : ndarray of shape (n_sparsities,)
        The objective of each fit.
    labels : ndarray of shape (n_sparsities, n_samples), int32
        The cluster of each sample in each fit.
    weights : ndarray of shape (n_sparsities, n_features)
        The weight of each feature in each fit.
    scores : ndarray of shape (n_sparsities, n_features)
        The score of each feature in each fit: its between-cluster sum of squares a_j.
    n_iter : ndarray of shape (n_sparsities,), int64
        Rounds of the search at each sparsity.
    search : str
        The search that ran: "alternate" or "global".
    first_objectives : ndarray of shape (n_sparsities,)
        The objectives that the search reached, before the fits were refined. If the search used
        only a random subset of the samples, these objectives refer to the subset. The gap statistic
        compares them with the objectives of reference data.
    converged : ndarray of shape (n_sparsities,), bool, or None
        False if the search ran out of rounds (`max_iter`). None if that is not known.

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
        """Stack fits, one for each sparsity.

        Parameters
        ----------
        sparsities : ndarray of shape (n_sparsities,)
            Numbers of features, or bounds on the l1 norm.
        fits : sequence of sparsekm.cluster.sparsity_path.Fit
            A fit for each sparsity, such as `fit_at` returns.
        search : str
            The search that ran.
        first_objectives : ndarray of shape (n_sparsities,), optional
            The objectives before the fits were refined. By default, they are the objectives of the
            fits.

        Returns
        -------
        SparsityPath
            The path, in the order of `sparsities`.
        """
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
        """Return one of the fits.

        Parameters
        ----------
        index : int
            Position of the fit in the path.

        Returns
        -------
        sparsekm.cluster.sparsity_path.Fit
            The fit at this position; its fields are labels, weights, scores, objective and so on.
        """
        return Fit(
            self.labels[index],
            self.weights[index],
            self.scores[index],
            float(self.objectives[index]),
            int(self.n_iter[index]),
            converged=self.converged is None or bool(self.converged[index]),
            sparsity=float(self.sparsities[index]),
        )

    def take(self, indices: ArrayLike) -> SparsityPath:
        """Return a path with some of the fits.

        Parameters
        ----------
        indices : array-like
            Positions of these fits, or a boolean for each fit.

        Returns
        -------
        SparsityPath
            The path, in the order of `indices`.
        """
        return self._replace_arrays(lambda name: getattr(self, name)[indices])

    def put_back(self, features: VaryingFeatures) -> SparsityPath:
        """Turn a path of the features that vary into a path of all features.

        Parameters
        ----------
        features : sparsekm.cluster.matrices.varying_features.VaryingFeatures
            Which features vary.

        Returns
        -------
        SparsityPath
            The path, in which constant features have weight and score 0.
        """
        weights, scores = (features.put_back(values) for values in (self.weights, self.scores))
        return replace(self, weights=weights, scores=scores)

    @classmethod
    def best_at(cls, paths: Sequence[SparsityPath], sparsity: float) -> SparsityPath:
        """Return the best fit at one sparsity, from several paths of the same data.

        Parameters
        ----------
        paths : sequence of SparsityPath
            The paths.
        sparsity : float
            A sparsity that at least one of the paths has.

        Returns
        -------
        SparsityPath
            A path with one fit.
        """
        fits = [path.take(path.sparsities == sparsity) for path in paths]
        return max((fit for fit in fits if len(fit.objectives)), key=lambda fit: fit.objectives[0])

    @classmethod
    def join(cls, paths: Sequence[SparsityPath]) -> SparsityPath:
        """Concatenate paths that the same search made from the same data.

        Parameters
        ----------
        paths : sequence of SparsityPath
            The paths.

        Returns
        -------
        SparsityPath
            All fits, path after path.
        """
        return paths[0]._replace_arrays(
            lambda name: np.concatenate([getattr(path, name) for path in paths])
        )

    def _replace_arrays(self, make: Callable[[str], Any]) -> SparsityPath:
        names = [field.name for field in fields(self) if np.ndim(getattr(self, field.name)) > 0]
        return replace(self, **{name: make(name) for name in names})
