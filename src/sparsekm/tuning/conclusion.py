"""The result in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from sparsekm.cluster.matrices.dense_parts import as_dense
from sparsekm.cluster.matrices.scaled_data import ScaledData
from sparsekm.tuning.separation import LEVEL, Leading, could_tell
from sparsekm.tuning.signatures import Signature

# Clusters differ in the zeros of a feature if at most a third, or at least two thirds, are zero.
FEW, MOST = 1 / 3, 2 / 3


def describe_separation(pairs: pd.DataFrame, n_clusters: int, where: str = "") -> str:
    """Say which clusters are separated, and `where`."""
    apart = int((pairs["p_adjusted"] <= LEVEL).sum())
    n_few = int((~could_tell(pairs)).sum())
    if n_few == len(pairs):
        return "There are too few samples or groups to tell whether the clusters are separated"
    few = f"; for {n_few} of the pairs there are too few samples or groups to tell" * (n_few > 0)
    if not apart:
        return (
            "No separate groups found: noise, a gradient or overlapping groups can look like "
            f"this. The clusters are a division into {n_clusters} parts{few}"
        )
    verb = "is" if apart == 1 else "are"
    text = f"{apart} of {len(pairs)} pairs of neighbouring clusters {verb} clearly separated"
    if apart == len(pairs):
        text = "Both" if n_clusters == 2 else f"All {n_clusters}"
        text = f"{text} clusters are clearly separated"
    return text + where + few


def describe_leading(
    data: ScaledData, labels: np.ndarray, leading: Sequence[Leading], is_one_feature: bool
) -> str:
    """Say in which features clusters are separated, if in only one or only in their zeros."""
    in_zeros = _are_of_zeros(data, labels, leading)
    if not leading or not (in_zeros or is_one_feature):
        return ""
    features = sorted({one.feature for one in leading})
    names = data.about.features
    named = ", ".join(str(j if names is None else names[j]) for j in features)
    where = "the zeros of feature" if in_zeros else "feature"
    where += "s" * (len(features) > 1)
    if not is_one_feature:
        return f", in {where} such as {named}"
    alike = len(np.unique(np.concatenate([one.alike for one in leading])))
    n_more = alike - len(features)
    more = f" (and {n_more} correlated feature{'s' * (n_more > 1)})" * (n_more > 0)
    return f", but in {where} {named} alone{more}"


def _are_of_zeros(data: ScaledData, labels: np.ndarray, leading: Sequence[Leading]) -> bool:
    """Say whether separated clusters differ in their shares of zeros of the leading features."""
    for one in leading:
        column = as_dense(data.X[:, [one.feature]])[:, 0].astype(np.float64)
        scale, location = data.scale[one.feature], data.location[one.feature]
        is_zero = np.abs(column * scale + location) <= 1e-6 * scale
        shares = sorted(is_zero[labels == k].mean() for k in one.pair)
        if shares[0] > FEW or shares[1] < MOST:
            return False
    return bool(leading)


def describe_numbers(
    table: pd.DataFrame, pairs: pd.DataFrame, n_distinct: int | None = None
) -> str:
    """Say how a number of clusters was chosen. If few samples are distinct, say that, too."""
    chosen, numbers = table[table["chosen"]].iloc[0], table["n_clusters"]
    tried = f"{numbers.min()} to {numbers.max()} clusters were tried"
    if len(numbers) == 1:
        tried = f"Only {numbers.iloc[0]} clusters were tried"
    if numbers.max() == n_distinct:
        tried += ", up to the number of distinct samples"
    if chosen["n_groups"] > 1:
        return f"{tried}: {chosen['n_groups']} groups are clearly separated"
    if not could_tell(pairs).any():
        return f"{tried}: K = {chosen['n_clusters']} is the most reproducible"
    shown = f"the clusters for K = {chosen['n_clusters']}, the most reproducible number,"
    shown += " only divide the samples"
    return f"{tried}: no group is separated from all others; {shown}"


def describe_features(signature: Signature, weights: np.ndarray) -> str:
    """Say how many features have weight, and how few reproduce the clusters."""
    few = "No small set of features reproduces the clusters"
    if signature.features is not None:
        n_few = f"{len(signature.features):,}"
        n_few += " feature" if n_few == "1" else " features"
        few = f"The signature of {n_few} assigns left-out samples to the same clusters"
    n_kept = np.count_nonzero(weights)
    return (
        # Adding 0 avoids -0.00.
        f"{few} (adjusted Rand index {round(signature.agreement, 2) + 0.0:.2f}). "
        f"{n_kept:,} of {len(weights):,} features {'has' if n_kept == 1 else 'have'} weight"
    )
