"""The first steps of every estimator: check the data and fill missing values."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array, validate_data

from sparsekm.cluster.imputation import fill_missing
from sparsekm.cluster.kmeans.many_samples import label_samples
from sparsekm.cluster.matrices.inputs import as_readable, in_canonical_format
from sparsekm.cluster.matrices.matrix import FeatureMatrix
from sparsekm.cluster.validation import check_choice

# How estimators may treat NaN in X.
MISSING = ("error", "impute")


def imputes(estimator: Any) -> bool:
    """Tell whether an estimator, or the one that it tunes, fills missing values."""
    missing = getattr(getattr(estimator, "estimator", estimator), "missing", MISSING[0])
    return check_choice("missing", missing, MISSING) == "impute"


def _name_the_cure(estimator: Any, error: ValueError) -> ValueError:
    """Add the setting that helps to scikit-learn's error about NaN; return others unchanged."""
    if "contains NaN" not in str(error):
        return error
    if imputes(estimator):
        return ValueError("Sparse X contains NaN: give X.toarray(), which missing='impute' fills.")
    known = [name for name in estimator.get_params() if name.rpartition("__")[2] == "missing"]
    pipeline = f"make_pipeline(StandardScaler(), KNNImputer(), {type(estimator).__name__}(...))"
    cure = f"set {known[0]}='impute'" if known else f"impute it before, as in {pipeline}"
    return ValueError(f"Input X contains NaN: {cure}.")


def check_observed(X: np.ndarray, names: Any = None) -> np.ndarray:
    """Return X if every feature and every sample has a value; `names` are the feature names."""
    lacking = np.isnan(X)
    for axis, what in ((0, "feature"), (1, "sample")):
        empty = np.flatnonzero(lacking.all(axis=axis))
        if len(empty):
            first = empty[0] if axis or names is None else repr(names[empty[0]])
            raise ValueError(
                f"X has no value in {len(empty)} {what}(s), the first of them {what} {first}; "
                "missing='impute' requires at least one in each. Leave them out."
            )
    return X


def label_observed(X, weights, means, centers, n_threads=1) -> np.ndarray:
    """Label samples as `label_samples` does, by the observed values of the features with weight."""
    support = np.flatnonzero(weights)
    if issparse(X) or not np.isnan(X[:, support]).any():
        return label_samples(X, weights, means, centers, n_threads)
    labels = label_samples(np.nan_to_num(X), weights, means, centers, n_threads)
    kept = X[:, support]
    rows = np.flatnonzero(np.isnan(kept).any(axis=1))
    differences = kept[rows, :, None] - means[:, None] - centers
    if (empty := np.isnan(differences).all(axis=(1, 2))).any():
        raise ValueError(
            f"sample {rows[empty][0]} of X has no value for any feature with weight; there should "
            "be >= 1."
        )
    squares = np.nansum(weights[support, None] * np.square(differences), axis=1)
    labels[rows] = squares.argmin(axis=1)
    return labels


def _rules(estimator: BaseEstimator, X) -> dict[str, Any]:
    """Return the arguments of scikit-learn's data checks; only in dense data can NaN be filled."""
    finite = "allow-nan" if imputes(estimator) and not issparse(X) else True
    dtypes = [np.float64, np.float32]
    return {"accept_sparse": ["csr", "csc"], "dtype": dtypes, "ensure_all_finite": finite}


def _check_values(estimator, X) -> Any:
    try:
        return check_array(X, estimator=estimator, input_name="X", **_rules(estimator, X))
    except ValueError as error:
        raise _name_the_cure(estimator, error) from None


def read_data(estimator: BaseEstimator, X) -> np.ndarray | csr_array:
    """Validate data, and fill missing values if the estimator imputes; it is not changed.

    This already refuses feature names that a fit could not store at its end.
    """
    X = as_readable(X)
    values = _check_values(estimator, X)
    remember_features(BaseEstimator(), X)
    if imputes(estimator) and not issparse(values):
        values = fill_missing(check_observed(values, getattr(X, "columns", None)))
    return in_canonical_format(values)


def read_holes(estimator: BaseEstimator, X) -> np.ndarray | None:
    """Return which values are missing, (n_samples, n_features), if the estimator fills them."""
    if not imputes(estimator) or issparse(X):
        return None
    holes = np.isnan(_check_values(estimator, as_readable(X)))
    return holes if holes.any() else None


def read_new(estimator: BaseEstimator, X) -> np.ndarray | csr_array:
    """Validate data for a fitted estimator; missing values are not filled."""
    X = as_readable(X)
    return in_canonical_format(validate_data(estimator, X, reset=False, **_rules(estimator, X)))


# The attributes that `fit` sets if it is given batches.
OF_BATCHES = ("batch_centred_", "batch_agreement_", "batch_shares_")


def remember_features(estimator: BaseEstimator, X) -> None:
    """Set number and names of the features after a fit; delete the batches of an earlier fit."""
    for name in OF_BATCHES:
        estimator.__dict__.pop(name, None)
    if isinstance(X, FeatureMatrix):
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
