"""All methods on labelled real data sets, compared with plain ones and published error rates."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from sklearn.cluster import AgglomerativeClustering, SpectralClustering
from sklearn.metrics import adjusted_rand_score

from sparsekm.cluster.estimators import KMeans
from sparsekm.figures.style import GREY, MARKERS, figure_style, new_figure
from sparsekm.io.input_error import InputError, reason_of
from sparsekm.metrics import classification_error_rate, matching_error_rate
from sparsekm.pipeline.registry import MethodLook, get_method, method_look
from sparsekm.simulation import replicate_seed
from sparsekm.studies import RIVALS
from sparsekm.tuning.feature_ranking import ScaledData, rank_features
from sparsekm.tuning.fold_fits import match_clusters
from sparsekm.tuning.gap import default_sparsities
from sparsekm.tuning.gap_search import GapSearch

# From this share of the refits on, a sample is reproducible.
REPRODUCIBLE = 0.9
_SHAPE = ["n_samples", "n_features", "n_clusters"]
_PUBLISHED = ["source", "data_set", "method", *_SHAPE, "error", "status", "recomputed"]


class LabelledSet(NamedTuple):
    """A data set with known classes, or a subsample of one."""

    X: np.ndarray  # (n_samples, n_features): features that vary, on their own scale
    labels: np.ndarray  # (n_samples,): the classes, from 0
    n_clusters: int  # the number of classes
    n_available: int  # samples in the file


def read_labelled_set(file: str | Path, *, max_samples: int, random_state) -> LabelledSet:
    """Read a matrix X with classes y from an .npz, or a random subsample of `max_samples`."""
    try:
        with Path(file).open("rb") as opened, np.load(opened, allow_pickle=False) as archive:
            X, y = np.asarray(archive["X"]), np.asarray(archive["y"])
    except FileNotFoundError:
        raise
    # A damaged file can cause almost any error anywhere inside zipfile or NumPy.
    except Exception as error:
        raise InputError(
            f"{file}: {reason_of(error)}; it should be written by numpy.savez."
        ) from error
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise InputError(f"{file}: X should be a matrix of numbers, is {X.dtype} of {X.shape}.")
    if y.shape != (len(X),) or pd.isna(y).any() or not np.isfinite(X).all():
        raise InputError(f"{file}: y should have one class for each row of X, and X be finite.")
    rows = np.arange(len(X))
    if len(X) > max_samples:
        rows = np.sort(np.random.default_rng(random_state).permutation(len(X))[:max_samples])
    classes, labels = np.unique(y[rows], return_inverse=True)
    if len(classes) < 2:
        raise InputError(
            f"{file}: classes={len(classes)} among {len(rows)} samples should be >= 2."
        )
    used = np.asarray(X[rows], dtype=np.float64)
    return LabelledSet(used[:, np.ptp(used, axis=0) > 0], labels, len(classes), len(X))


def run_seeds(
    file: str | Path,
    method: str,
    seeds: Sequence[int],
    *,
    max_samples: int,
    effort: Mapping[str, int],
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """Run a method, see `fit_method`, with every seed as `random_state`.

    The stem of the file is the name of the data set. If there are more than `max_samples`, each
    seed draws its own subsample. `effort` is ``n_sparsities`` and ``n_references`` of a method that
    is tuned by the gap. A row per seed has the sizes and the measures of `score_method`.
    """
    name, rows = Path(file).stem, []
    for done, seed in enumerate(seeds, start=1):
        # The seed does not depend on the method, so that all methods use the same samples.
        draw = replicate_seed(seed, "yardstick", name, 0)
        data = read_labelled_set(file, max_samples=max_samples, random_state=draw)
        sizes = data.n_available, *data.X.shape, data.n_clusters
        about = {"data_set": name, "method": method, "seed": seed}
        about |= dict(zip(("n_available", *_SHAPE), sizes, strict=True))
        rows.append(about | score_method(data, method, effort, seed))
        if progress is not None:
            progress(done, len(seeds))
    return pd.DataFrame(rows)


def score_method(
    data: LabelledSet, method: str, effort: Mapping[str, int], seed: int
) -> dict[str, Any]:
    """Cluster a labelled data set, and compare the clusters with the classes.

    The error is of the best matching of clusters to classes. Of a method that is refitted,
    reproducible is the share of samples in their cluster in nine tenths of the refits, and right
    the share of these in their class.
    """
    start = time.perf_counter()
    found, n_kept = fit_method(data, method, effort, seed)
    seconds, labels = time.perf_counter() - start, found.labels_
    again = getattr(found, "sample_reproducibility_", np.full(len(labels), np.nan))
    sure = again >= REPRODUCIBLE
    right = match_clusters(data.labels, labels, np.arange(len(labels))) == data.labels
    return {
        "error": matching_error_rate(data.labels, labels),
        "cer": classification_error_rate(data.labels, labels),
        "ari": adjusted_rand_score(data.labels, labels),
        "n_kept": n_kept,
        "seconds": seconds,
        "reproducible": np.nan if np.isnan(again).all() else sure.mean(),
        "right": right[sure].mean() if sure.any() else np.nan,
    }


def fit_method(
    data: LabelledSet, method: str, effort: Mapping[str, int], seed: int
) -> tuple[Any, int]:
    """Fit a method; return it and the number of features that it uses.

    `SparseKMeans` sees X as it comes, all others but "centred" z-scores. Highly variable features
    have the largest variances for their mean. Spectral clustering is of ten nearest neighbours.
    """
    scaled, n_clusters = ScaledData.standardise(data.X), data.n_clusters
    X, found = scaled.X, KMeans(n_clusters, random_state=seed)
    match method:
        case "centred":
            X = data.X - data.X.mean(axis=0)
        case "variance500":
            X = X[:, rank_features(scaled, "variance")[:500]]
        case "variable200":
            X = X[:, rank_features(scaled, "trend")[:200]]
        case "ward":
            found = AgglomerativeClustering(n_clusters)
        case "spectral":
            found = SpectralClustering(n_clusters, affinity="nearest_neighbors", random_state=seed)
        case _:
            known = get_method(method)
            X = data.X if known.tuning == "resampling" else X
            found = known.estimator(n_clusters, random_state=seed)
            if known.tuning == "gap":
                grid = default_sparsities(str(known.penalty), X.shape[1], effort["n_sparsities"])
                shared: Any = {"n_references": effort["n_references"], "random_state": seed}
                found = GapSearch(found, sparsities=grid, rule="auto", **shared)
    with warnings.catch_warnings():
        # Classes far apart have no edge between them.
        warnings.filterwarnings("ignore", "Graph is not fully connected", UserWarning)
        found.fit(X)
    return found, int(np.count_nonzero(getattr(found, "feature_weights_", np.ones(X.shape[1]))))


def read_published(file: str | Path) -> pd.DataFrame:
    """Read the published error rates, ``data/paper/real_set_errors.csv``.

    Their status is "recomputed" (by this project), "printed" (verified in the authors'
    publication), or "unchecked".
    """
    return pd.read_csv(file, usecols=_PUBLISHED)[_PUBLISHED]


def add_published(summary: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Add the published error of the same method on the same data set, and its status, if known.

    Data sets match if the name begins with the published name, ignoring case, and the numbers of
    samples, features and classes are equal. The columns are published_error and published_status.
    """
    known = published.rename(columns={"n_samples": "n_available", "data_set": "name"})
    keys = ["method", "n_available", "n_features", "n_clusters"]
    known = known.drop_duplicates(keys, keep="last")[[*keys, "name", "error", "status"]]
    known = summary[[*keys, "data_set"]].merge(known, how="left")
    names = zip(known["data_set"], known["name"].fillna(""), strict=True)
    is_same = [bool(theirs) and ours.lower().startswith(theirs.lower()) for ours, theirs in names]
    statuses = known["status"].where(is_same, "").to_numpy()
    errors = known["error"].where(is_same).to_numpy()
    return summary.assign(published_error=errors, published_status=statuses)


_MEASURES = ["error", "cer", "ari", "n_kept", "reproducible", "right"]
# The method with which all others are compared.
BASELINE = "kmeans"
# A set is solved by a method whose error is at most this.
SOLVED = 0.25


def summarise(table: pd.DataFrame) -> pd.DataFrame:
    """Average the results of `run_seeds` over seeds, for every data set and method.

    Of sizes it is the maximum (they differ only if samples are drawn), of measures the mean and,
    with the ending _sd, the standard deviation (ddof = 1, NaN for a single seed), of seconds the
    median, since the first fit of a job also loads or compiles code.
    """
    groups = table.groupby(["data_set", "method"], sort=False)
    summary = groups[["n_available", *_SHAPE]].max()
    summary.insert(0, "seeds", groups.size())
    for name in _MEASURES:
        summary[name] = groups[name].mean()
        summary[f"{name}_sd"] = groups[name].std()
    summary["seconds"] = groups["seconds"].median()
    return summary.reset_index()


def count_wins(summary: pd.DataFrame) -> pd.DataFrame:
    """Average every method over the data sets, and count its wins and losses against k-means.

    The columns are method, sets; means of error, cer, ari, and share (of features kept); better,
    same and worse: on how many data sets the mean error is lower than that of k-means by at least
    half a sample, within half a sample, or higher. Without k-means these are empty. On sets with an
    error of at most .25, right is the mean share of reproducible samples in their class; where the
    best plain method (k-means or one of `RIVALS`) has such an error, regret is the mean excess.
    """
    baseline = summary[summary["method"] == BASELINE].set_index("data_set")["error"]
    plain = summary[summary["method"].isin([BASELINE, *RIVALS])]
    best = plain.groupby("data_set")["error"].min()
    half = 0.5 / summary["n_samples"]
    # The tolerance below allows for rounding.
    margin = summary["error"] - summary["data_set"].map(baseline)
    judged = summary.assign(
        share=summary["n_kept"] / summary["n_features"],
        right=summary["right"].where(summary["error"] <= SOLVED),
        regret=summary["error"] - summary["data_set"].map(best[best <= SOLVED]),
        better=margin <= -half + 1e-12,
        same=margin.abs() < half - 1e-12,
        worse=margin >= half - 1e-12,
    )
    groups = judged.groupby("method", sort=False)
    overview = groups[["error", "cer", "ari", "share", "regret", "right"]].mean()
    overview.insert(0, "sets", groups.size())
    counts = groups[["better", "same", "worse"]].sum()
    if baseline.empty:
        counts = counts.astype(object).assign(better=None, same=None, worse=None)
    return overview.join(counts).reset_index()


_BAND = "#F3F3F3"
# As grey as k-means, whose marker is left out.
_RIVAL_LOOKS = {
    name: MethodLook(RIVALS[name], GREY, marker, "-")
    for name, marker in zip(RIVALS, MARKERS[:2] + MARKERS[3:6], strict=True)
}


def yardstick_figure(table: pd.DataFrame, summary: pd.DataFrame) -> Figure:
    """Draw a band per data set with errors and shares of kept features; a line spans the seeds."""
    names = list(dict.fromkeys(summary["data_set"]))
    methods = list(dict.fromkeys(summary["method"]))
    table = table.assign(share=table["n_kept"] / table["n_features"])
    heights = np.linspace(-0.5, 0.5, len(methods) + 2)[1:-1]
    with figure_style():
        figure = new_figure(7.2, (0.1 * len(methods) + 0.12) * len(names) + 1.1)
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=[3, 2])
        handles = []
        for method, height in zip(methods, heights, strict=True):
            marks, own = _marks(method), summary[summary["method"] == method]
            rows = table[table["method"] == method].groupby("data_set")
            for axes, column in ((left, "error"), (right, "share")):
                # The mean on every data set, and a line over all seeds.
                groups = rows[column].agg(["min", "mean", "max"])
                places = np.array([names.index(name) for name in groups.index]) + height
                span = {"color": marks["color"], "linewidth": 1.1, "zorder": 2.8}
                axes.hlines(places, groups["min"], groups["max"], **span)
                axes.plot(groups["mean"], places, **marks)
            places = [names.index(name) + height for name in own["data_set"]]
            left.plot(own["published_error"], places, **_ring(method))
            title = RIVALS.get(method) or method_look(method).title
            handles.append(Line2D([], [], label=title, **marks))
        if summary["published_error"].notna().any():
            handles.append(Line2D([], [], label="ring: published", **_ring("")))
        _label(left, right, names, summary)
        figure.legend(handles=handles, loc="outside upper center", ncols=min(len(handles), 4))
    return figure


def _marks(method: str) -> dict[str, Any]:
    look = _RIVAL_LOOKS.get(method) or method_look(method)
    size = {"markersize": 4.8, "markeredgewidth": 0.9, "zorder": 3, "clip_on": False}
    color = {"color": look.color, "markerfacecolor": look.color}
    return {"marker": look.marker, "linestyle": "", **color, **size}


def _ring(method: str) -> dict[str, Any]:
    """Mark a published value by a ring, which remains visible around an equal value of ours."""
    ring = {"marker": "o", "markerfacecolor": "white", "markersize": 8.5, "zorder": 2.5}
    return _marks(method) | ring


def _label(left: Axes, right: Axes, names: list[str], summary: pd.DataFrame) -> None:
    sizes = summary.groupby("data_set")[_SHAPE].first()
    labels = [
        f"{name}\n{sizes.n_samples[name]:,} × {sizes.n_features[name]:,}, "
        f"K = {sizes.n_clusters[name]}"
        for name in names
    ]
    left.set_yticks(np.arange(len(names)), labels)
    left.set_ylim(len(names) - 0.5, -0.5)
    left.set(xlabel="share of samples outside their class", xlim=(0, None))
    right.set(xlabel="share of the features kept", xlim=(0, 1))
    for axes in (left, right):
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x", color="#DDDDDD", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines["left"].set_color(GREY)
        for place in range(0, len(names), 2):
            axes.axhspan(place - 0.5, place + 0.5, color=_BAND, zorder=0, linewidth=0)
