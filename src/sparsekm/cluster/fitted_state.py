"""What every estimator does around a fit: read the data, take over what was fitted, warn."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array, validate_data

from sparsekm.cluster.alternation import Fit
from sparsekm.cluster.matrices.containers import as_readable
from sparsekm.cluster.matrices.matrix import CentredMatrix
from sparsekm.cluster.matrices.sparse_checks import in_canonical_format
from sparsekm.cluster.matrices.sparse_matrix import SparseMatrix
from sparsekm.cluster.matrices.streamed_matrix import StreamedMatrix
from sparsekm.cluster.matrices.varying_features import VaryingFeatures
from sparsekm.cluster.sparsity_path import SparsityPath

FLOATS = [np.float64, np.float32]
SPARSE_FORMATS = ["csr", "csc"]


def read_data(estimator: BaseEstimator, X) -> np.ndarray | csr_array:
    """Validate data without setting anything on the estimator, fitted or not.

    A sparse matrix becomes a csr_array in canonical format. Names of features that a fit could not
    remember in the end are refused here.
    """
    X = as_readable(X)
    values = check_array(
        X, accept_sparse=SPARSE_FORMATS, dtype=FLOATS, estimator=estimator, input_name="X"
    )
    remember_features(BaseEstimator(), X)
    return in_canonical_format(values)


def read_varying(estimator: BaseEstimator, X) -> tuple[np.ndarray | csr_array, VaryingFeatures]:
    """Validate data as `read_data` does; return the features that vary, and which these are."""
    values = read_data(estimator, X)
    features = VaryingFeatures.of_values(values)
    return features.select(values), features


def read_new(estimator: BaseEstimator, X) -> np.ndarray | csr_array:
    """Validate data for a fitted estimator, as `read_data` does."""
    values = validate_data(
        estimator, as_readable(X), reset=False, accept_sparse=SPARSE_FORMATS, dtype=FLOATS
    )
    return in_canonical_format(values)


def adopt_fit(estimator, X, fit: Fit) -> None:
    """Set the attributes that every estimator takes from a fit."""
    remember_features(estimator, X)
    estimator.labels_ = fit.labels
    estimator.feature_weights_ = fit.weights
    estimator.feature_scores_ = fit.scores
    estimator.objective_ = fit.objective
    estimator.n_iter_ = fit.n_iter


def remember_features(estimator: BaseEstimator, X) -> None:
    """Set the number of features and, where X has them, their names, at the end of a fit."""
    if isinstance(X, CentredMatrix | SparseMatrix | StreamedMatrix):
        X = np.empty((0, X.n_features))
    validate_data(estimator, X, skip_check_array=True)


def warn_unconverged(estimator: BaseEstimator, what: str) -> None:
    """Warn that a fit ended because its rounds ran out."""
    warnings.warn(
        f"{type(estimator).__name__} did not converge: after max_iter={estimator.max_iter} rounds "
        f"{what}. Raise max_iter.",
        ConvergenceWarning,
        stacklevel=4,
    )


def select_fit(path: SparsityPath, index: int, own: tuple[int, int, int]) -> Fit:
    """Return a fit of a path of the estimator's `own` samples, features and clusters."""
    fitted = (path.labels.shape[1], path.weights.shape[1], int(path.labels.max()) + 1)
    if fitted[:2] != own[:2] or fitted[2] > own[2]:
        raise ValueError(
            f"path has (n_samples, n_features, n_clusters)={fitted}; should be those of X and "
            f"of the estimator, {own}."
        )
    return Fit(
        path.labels[index],
        path.weights[index],
        path.scores[index],
        float(path.objectives[index]),
        int(path.n_iter[index]),
        converged=path.converged is None or bool(path.converged[index]),
    )
