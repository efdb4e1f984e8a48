"""The conclusion from resampled paths: the chosen fit, its reliability, and a sentence on both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from sparsekm.cluster.matrices.containers import in_blocks
from sparsekm.cluster.sparsity_path import SparsityPath
from sparsekm.tuning.clusterability import Clusterability, association_test, separation_test
from sparsekm.tuning.consensus import sample_confidence
from sparsekm.tuning.consensus_choice import (
    Consensus,
    count_discoveries,
    find_consensus,
    fit_from,
    judge_fits,
    try_sparsities,
)
from sparsekm.tuning.feature_limit import feature_limit
from sparsekm.tuning.resampled_paths import FAMILIES, ResampledPaths
from sparsekm.tuning.resampling import label_everyone


@dataclass(frozen=True)
class Conclusion:
    """Everything that was decided about a data set."""

    consensus: Consensus
    fit: SparsityPath  # the chosen fit, alone
    table: pd.DataFrame  # of all fits tried: see `sparsekm.tuning.consensus_choice.judge_fits`
    confidence: np.ndarray  # (n_samples,): naN for samples that were not drawn where some were
    selection_frequency: np.ndarray  # (n_features,)
    clusterability: Clusterability

    def extend(self, estimator, X: np.ndarray | csr_array, samples: np.ndarray) -> Conclusion:
        """Return the conclusion for all samples, given that from some.

        Algorithm 1 fits all samples at the chosen sparsity, from the nearest of the centres that
        the fit has in these features.

        Parameters
        ----------
        estimator : L0KMeans or L1KMeans
        X : ndarray or csr_array of shape (n_all_samples, n_features)
        samples : ndarray of shape (n_samples,)
            Those of this conclusion, ascending.

        Returns
        -------
        Conclusion
        """
        labels = label_everyone(X, X[samples], self.fit.labels[0], self.fit.weights[0])
        fit = fit_from(estimator, in_blocks(X), labels, self.fit.sparsities)
        partitions = self.consensus.partitions.reshape(-1, len(samples))
        confidence = np.full(X.shape[0], np.nan)
        confidence[samples] = sample_confidence(fit.labels[0][samples], partitions)
        return replace(self, fit=fit, confidence=confidence)

    def sentence(self) -> str:
        """Say what decided, and how sure it is."""
        family = FAMILIES.index(self.consensus.family)
        start = {
            "optimum": "the search for the optimum decided the start, because features on their "
            "own say too little",
            "kolmogorov-smirnov": "features whose distributions are far from a Gaussian "
            "(Kolmogorov-Smirnov) decided the start",
            "mixture": "features whose distributions look like mixtures decided the start",
        }[self.consensus.family]
        evidence = "Evidence" if self.clusterability.has_clusters else "No evidence"
        return (
            f"{evidence} of clusters: {self.clusterability.reason}; {start} (two resamplings agree "
            f"with an adjusted Rand index of {self.consensus.reproducibility[family].mean():.2f}); "
            f"{self.fit.n_selected[0]:,} of {self.fit.weights.shape[1]:,} features are kept"
            f"{self._alternatives()}; a sample is in its "
            f"cluster in {np.nanmean(self.confidence):.0%} of the resampled fits on average."
        )

    def _alternatives(self) -> str:
        """Name the numbers of features whose fits agree as well, neighbours as a range."""
        if len(self.table) == 1:
            return ""
        chosen = self.fit.n_selected[0]
        tried = self.table.groupby("n_selected")["admissible"].any()
        if not tried.drop(chosen).any():
            return ", and no other number that was tried does as well"
        # Of numbers tried one after the other, all of which do as well, the ends are enough.
        named = []
        for _, run in tried[tried].groupby((~tried).cumsum()[tried]):
            if len(run) < 3:
                named += [f"{count:,}" for count in run.index if count != chosen]
            else:
                named.append(f"any tried from {run.index[0]:,} to {run.index[-1]:,}")
        listed = " or ".join([", ".join(named[:-1]), named[-1]][-len(named) :])
        return f", and {listed} would do as well"


def conclude(
    estimator,
    X: np.ndarray,
    sparsities: np.ndarray,
    resamplings: Sequence[ResampledPaths],
    *,
    seed: int,
    sparsity: Any = None,
    family: str | None = None,
    blocks: np.ndarray | None = None,
) -> Conclusion:
    """Decide from resampled paths, which were fitted at `sparsities`.

    `sparsity` is the only one to fit, and `family` the family of starts to use; by default both are
    chosen. `blocks` are those of the resamplings, if any.
    """
    consensus = find_consensus(resamplings, estimator.n_clusters, seed=seed, family=family)
    n_discoveries = count_discoveries(X, consensus.labels)
    tried = [sparsity] if sparsity is not None else try_sparsities(estimator, X, n_discoveries)
    path = fit_from(estimator, X, consensus.labels, tried)
    table = judge_fits(path, consensus.partitions, consensus.weights, n_discoveries)
    chosen = int(np.flatnonzero(table["chosen"])[0])
    fit = path.only(chosen)
    number = FAMILIES.index(consensus.family)
    nearest = int(np.abs(np.log(sparsities / path.sparsities[chosen])).argmin())
    kept = np.sum([resampling.kept[number, nearest] for resampling in resamplings], axis=0)
    drawn = np.sum([resampling.drawn for resampling in resamplings], axis=0)
    if feature_limit(X, path).correlation.is_beyond_chance:
        clusterability = separation_test(
            estimator,
            X,
            sparsities,
            consensus.separation[number],
            consensus.family,
            seed=seed,
            blocks=blocks,
        )
    else:
        clusterability = association_test(X, resamplings, number, seed=seed)
    return Conclusion(
        consensus,
        fit,
        table,
        sample_confidence(fit.labels[0], consensus.partitions.reshape(-1, X.shape[0])),
        kept / np.maximum(drawn, 1),
        clusterability,
    )
