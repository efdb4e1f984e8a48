"""What the searches for a sparsity share: their grid, their choice, and what they hand on."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from sparsekm.cluster.matrices.containers import Data
from sparsekm.cluster.matrices.varying_features import VaryingFeatures
from sparsekm.cluster.path_estimator import FeatureSelector, remember_features
from sparsekm.cluster.sparsity_path import SparsityPath
from sparsekm.runtime.random_state import seed_sequence
from sparsekm.runtime.threads import grant_threads
from sparsekm.tuning.grid import search_grid


class SparsitySearch(MetaEstimatorMixin, FeatureSelector, ClusterMixin, BaseEstimator):
    """Base of the searches: a path over a grid, and the choice of one of its fits.

    A subclass has at least the parameters estimator, sparsities, random_state and n_jobs, and says
    in `fit` which row of `results_` it takes.
    """

    @available_if(lambda self: hasattr(self.estimator, "predict"))
    def predict(self, X: Data) -> np.ndarray:
        """Label samples by the best estimator."""
        check_is_fitted(self)
        with grant_threads(self.n_jobs):
            return self.best_estimator_.predict(X)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        known = hasattr(self.estimator, "__sklearn_tags__")
        tags.input_tags.sparse = known and get_tags(self.estimator).input_tags.sparse
        return tags

    def _check_estimator(self) -> None:
        is_estimator = hasattr(self.estimator, "path") and not isinstance(self.estimator, type)
        if not is_estimator or "sparsity" not in self.estimator.get_params():
            raise TypeError(
                f"estimator={self.estimator!r} should be an estimator with a `sparsity` to tune "
                "and a `path`, such as L0KMeans(3)."
            )

    def _prepare(self, features: VaryingFeatures) -> tuple[Any, np.ndarray, int]:
        """Return the seeded estimator, the grid for the features that vary, and the seed."""
        seed = int(seed_sequence(self.random_state).generate_state(1)[0])
        estimator = clone(self.estimator).set_params(random_state=seed)
        return estimator, search_grid(self.estimator.penalty, self.sparsities, features), seed

    def _take(
        self,
        estimator,
        X,
        features: VaryingFeatures,
        path: SparsityPath,
        sparsities,
        index: int,
        fit: SparsityPath,
    ) -> None:
        """Learn row `index` of `results_` and its fit, a path of one, of all samples.

        Both paths are of the features that vary.
        """
        remember_features(self, X)
        path, fit = path.put_back(features), fit.put_back(features)
        self.best_index_ = index
        self.best_sparsity_ = sparsities[index].item()
        self.path_ = path
        self.best_estimator_ = estimator.set_params(sparsity=self.best_sparsity_)
        with grant_threads(self.n_jobs):
            self.best_estimator_.adopt(X, fit, 0)
        self.labels_ = self.best_estimator_.labels_
        self.feature_weights_ = self.best_estimator_.feature_weights_
