"""Assign new samples to the clusters of a run, or to none of them.

If a table has nearly all features with weight, they are used as in `SparseKMeans.predict`;
otherwise the signature is used. The distance of a sample from a centre is the root of the weighted
mean of its squared differences, over its known features, in the units of the run (usually
z-scores). Features that a table lacks are also left out for the samples of the run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import gamma

from sparsekm.annotation.gene_table import primary_method
from sparsekm.cluster.description import Description
from sparsekm.cluster.estimator_input import label_observed
from sparsekm.cluster.matrices.dense_parts import as_dense
from sparsekm.cluster.sparsity_path import ChosenFit
from sparsekm.io.input_error import InputError
from sparsekm.io.normalised_file import NormalisedData, read_normalised, row_blocks
from sparsekm.io.readers.messages import name_some
from sparsekm.io.readers.raw_matrix import RawMatrix
from sparsekm.io.readers.reader import read_matrix
from sparsekm.io.store import read_fit
from sparsekm.io.tables import TABLES
from sparsekm.pipeline.scales import log_counts, log_values

SCALINGS = ("run", "own")
LEAST_WEIGHT = 0.95
"""The smallest share of the weight that a table must have to use the features with weight."""
LEAST_KNOWN = 0.5
"""The smallest share of the weight of these features that must be known for a sample."""
NEARLY_ALL = 0.99
"""The share of a centre's own samples whose distance is below its limit."""
# Settings that apply to another table of the same kind, which may lack the columns that some
# settings name.
_TAKEN_OVER = ("transpose", "decimal", "layer", "missing_values", "duplicates")
_NAMING = ("samples", "ignore", "keep")
# If more than this share of samples is in none of the clusters, the scale may differ.
_SUSPICIOUS = 0.5

PREDICTED = TABLES["predicted.csv"]


@dataclass(frozen=True)
class Placement:
    """The m centres to which samples are assigned, in the s features that are compared."""

    features: np.ndarray  # (s,): their positions in the features of the run
    weights: np.ndarray  # (s,)
    centers: np.ndarray  # (m, s)
    cluster_of: np.ndarray  # (m,): joined clusters have several centres

    def measure(self, Z: np.ndarray) -> np.ndarray:
        """Return the distances of samples (n, s) from the centres: (n, m), NaN if unknown."""
        known = np.isfinite(Z)
        weight, Z = known @ self.weights, np.where(known, Z, 0)
        squares = [np.square(Z - known * center) @ self.weights for center in self.centers]
        enough = weight >= LEAST_KNOWN * self.weights.sum()
        return np.sqrt(np.transpose(squares) / np.where(enough, weight, np.nan)[:, np.newaxis])

    def decide(self, Z: np.ndarray, limits: np.ndarray) -> pd.DataFrame:
        """Tabulate the clusters of samples (n, s), as `PREDICTED`; `limits` are of the centres."""
        distances = self.measure(Z)
        known = np.isfinite(distances[:, 0])
        nearest, shift = np.zeros(len(Z), int), self.centers.mean(axis=0)
        # Distances are not used, because `predict` rounds differently, and the clusters should
        # agree.
        centers = (self.centers - shift).T
        nearest[known] = label_observed(Z[known], self.weights, shift, centers)
        cluster, first = self.cluster_of[nearest], distances[np.arange(len(Z)), nearest]
        others = np.where(self.cluster_of == cluster[:, np.newaxis], np.inf, distances).min(axis=1)
        # A sample may be on two centres at once.
        ratio = np.divide(first, others, out=np.ones_like(first), where=others != 0)
        found = {
            "cluster": pd.Series(cluster, dtype="Int64").mask(~known),
            "distance": first,
            "margin": np.maximum(1 - ratio, 0),
        }
        return pd.DataFrame(found).assign(none_of_them=~known | (first > limits[nearest]))

    def limits(self, file: Path, labels: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the distance limit of every centre (m,), and the share of samples at home.

        Both are computed from the samples of the run, in its `file`, and their clusters, -1 for
        none. Each sample counts for the nearest centre of its cluster. Its distance is to the
        centre of the other samples there, which is n / (n - 1) times as far away. The limit is a
        quantile of the distances. With few samples the largest distance is too small, so the limit
        is at least the quantile of a gamma distribution of squares with the mean of the centre and
        the relative spread of all. A sample is at home if its nearest centre belongs to its
        cluster.
        """
        found = [self.measure(Z) for _, Z in row_blocks(file, self.features)]
        distances, labels = np.concatenate(found)[labels >= 0], labels[labels >= 0]
        at_home = float(np.mean(self.cluster_of[distances.argmin(axis=1)] == labels))
        within = np.where(self.cluster_of == labels[:, np.newaxis], distances, np.inf)
        center, own = within.argmin(axis=1), within.min(axis=1)
        sizes = np.bincount(center, minlength=len(self.centers))
        # A single sample has no distance to others.
        used = np.flatnonzero(sizes[center] > 1)
        own, center = own[used], center[used]
        squares = pd.Series((own * sizes[center] / (sizes[center] - 1)) ** 2).groupby(center)
        ratios = squares.obj / squares.transform("mean")
        with np.errstate(divide="ignore"):
            shape = (len(used) - squares.ngroups) / np.square(ratios - 1).sum()
        usual = squares.mean() * gamma.ppf(NEARLY_ALL, shape, scale=1 / shape)
        limits = np.sqrt(np.fmax(squares.quantile(NEARLY_ALL, interpolation="higher"), usual))
        return limits.reindex(range(len(sizes)), fill_value=limits.max()).to_numpy(), at_home


@dataclass(frozen=True)
class KnownClusters:
    """The clusters of a run, and the features that separate them."""

    fit: ChosenFit
    data: NormalisedData  # the samples of the run, without their values
    file: Path  # the file of the data

    @classmethod
    def read(
        cls, run: str | Path, dataset: str | None = None, method: str | None = None
    ) -> KnownClusters:
        """Read the result of a run, by default of its only data set and the method shown first."""
        fits = [file.parts[-3:-1] for file in sorted(Path(run).glob("results/*/*/tuned.h5"))]
        names = list(dict.fromkeys(name for name, _ in fits))
        if not names:
            cure = "Give the folder of a run that ended"
            raise InputError(f"{run}: there should be results/*/*/tuned.h5. {cure}.")
        dataset = _one_of(
            "dataset", names[0] if dataset is None and len(names) == 1 else dataset, names
        )
        methods = [method for name, method in fits if name == dataset]
        method = _one_of("method", method or primary_method(methods), methods)
        fit = read_fit(Path(run, "results", dataset, method, "tuned.h5"))
        file = Path(run, "data", dataset, "normalised.h5ad")
        data = read_normalised(file, most_bytes=0)
        if data.provenance.get("source") != "matrix":
            raise InputError(f"dataset={dataset!r} should be a table, not an age of the atlas.")
        if data.X.shape != (len(fit.labels), len(fit.weights)):
            raise InputError(f"{file} has changed since results/{dataset} was made. Run again.")
        return cls(fit, data, file)

    @property
    def signature(self) -> np.ndarray:
        """The features of the signature; empty without a signature."""
        return np.array([], int) if self.fit.signature is None else self.fit.signature

    def names(self, features: np.ndarray) -> list[str]:
        """Return the names of some features."""
        return np.array(self.data.about.features, dtype=object)[features].tolist()

    def place_by(self, raw: RawMatrix) -> tuple[Placement, str]:
        """Return how the samples of a table are assigned, and a sentence about it.

        Raises
        ------
        InputError
            If the features of the table have less than `LEAST_WEIGHT`, and the table lacks some of
            the signature.
        """
        weights, signature, there = self.fit.weights, self.signature, {*raw.about.features}
        kept = np.flatnonzero(weights)
        has = np.array([name in there for name in self.names(kept)], dtype=bool)
        share = weights[kept[has]].sum() / weights.sum()
        said = f"{has.sum()} of the {len(kept)} features that have weight are in the table"
        if not has.all():
            said += f" ({share:.2%} of the weight); it lacks {name_some(self.names(kept[~has]))}"
        if share >= LEAST_WEIGHT:
            features, (centers, cluster_of) = kept[has], self.fit.placing
            own = self.fit.distance_weights[features]
            placement = Placement(features, own, centers[:, features], cluster_of)
            return placement, f"{said}. Samples are assigned by the features that are in the table"
        if lacks := [name for name in self.names(signature) if name not in there]:
            rule = f"or the whole signature, of which it lacks {name_some(lacks)}"
        elif not len(signature):
            rule = "because the run has no signature"
        else:
            clusters = np.arange(len(self.fit.centers))
            equal = np.ones(len(signature))
            placement = Placement(signature, equal, self.fit.centers[:, signature], clusters)
            of = f"{len(signature)} feature{'s' * (len(signature) > 1)}"
            return placement, f"{said}. Samples are assigned by the signature of {of}"
        turned = {*self.names(kept)} & {*(raw.about.samples or ())}
        cure = " Set transpose: true." if turned else ""
        raise InputError(
            f"{said}. The table should have {LEAST_WEIGHT:.0%} of the weight, {rule}. Its features "
            f"are {name_some(raw.about.features)}.{cure}"
        )


def _one_of(argument: str, value: str | None, known: list[str]) -> str:
    if value not in known:
        raise InputError(f"{argument}={value!r} should be one of {known}.")
    return value


def read_samples(
    table: str | Path | pd.DataFrame, known: KnownClusters, reading: Mapping[str, Any]
) -> RawMatrix:
    """Read new samples: a numeric frame, or a file with the settings of the run's own table."""
    if isinstance(table, pd.DataFrame):
        frame = table.select_dtypes("number")
        values = frame.to_numpy(np.float64)
        offset = np.nan_to_num(values[0])
        axes = {"samples": frame.index, "features": frame.columns}
        names = Description(**{kind: [*map(str, axis)] for kind, axis in axes.items()})
        return RawMatrix.of((values - offset).astype(np.float32), offset, about=names)
    about = known.data.provenance
    settings = json.loads(about.get("reading", "{}"))
    same = Path(table).suffix.lower() == Path(str(about.get("file"))).suffix.lower()
    taken = {
        name: settings[name] for name in (*_TAKEN_OVER, *_NAMING) if same and settings.get(name)
    }
    named = pd.Series([taken[name] for name in _NAMING if name in taken], dtype=object).explode()
    compared = np.union1d(np.flatnonzero(known.fit.weights), known.signature)
    wanted = frozenset(known.names(compared))
    answers = {"wanted": wanted, "inherited": frozenset(map(str, named))}
    return read_matrix(table, **(taken | dict(reading)), **answers)


def predict_samples(
    raw: RawMatrix, known: KnownClusters, scaling: str = "run"
) -> tuple[pd.DataFrame, list[str]]:
    """Assign new samples to the clusters of a run: a table as `PREDICTED`, and remarks.

    If `scaling` is "own", z-scores use the moments of the new samples, not those of the run.
    """
    _one_of("scaling", scaling, [*SCALINGS])
    data, (placement, placed) = known.data, known.place_by(raw)
    features, said = placement.features, [placed]
    where = {name: at for at, name in enumerate(raw.about.features)}
    places = np.array([where[name] for name in known.names(features)])
    values = _transformed(raw, data.provenance, places)
    if data.means is not None:
        mean, deviation = values.mean(), values.std()
        if scaling == "run":
            mean, deviation = data.means[features], data.deviations[features]
        values = (values - mean) / np.where(deviation > 0, deviation, np.nan)
        whose = "the run's samples" if scaling == "run" else "these samples"
        said.append(f"z-scores are made with the means and deviations of {whose}")
    elif scaling == "own":
        raise InputError("scaling='own' should be 'run', because the run made no z-scores.")
    limits, at_home = placement.limits(known.file, known.fit.clustered)
    said.append(f"{at_home:.1%} of the run's own samples are nearest to their own cluster")
    if known.fit.has_clusters is False:
        said.append(
            "the run found no separate groups. Its clusters are only a division; other samples "
            "might be divided differently"
        )
    table = placement.decide(values.to_numpy(), limits)
    table.insert(0, "sample", raw.about.samples or [f"sample{at + 1}" for at in range(len(table))])
    n_none = int(table["none_of_them"].sum())
    if n_none > _SUSPICIOUS * len(table):
        said.append(
            f"{n_none} of {len(table)} samples are in none of the clusters. Are the values on the "
            f"scale of the run's table? It has normalise: {data.provenance['normalisation']}"
        )
    return table, said


def _transformed(raw: RawMatrix, provenance: Mapping[str, Any], places: np.ndarray) -> pd.DataFrame:
    """Return new samples as the run had its own before standardisation: (n, s), NaN if unknown."""
    how = provenance["normalisation"]
    if how == "counts":
        if "library_size" not in provenance:
            raise InputError(
                "the run did not store its library size. Run it again with this version."
            )
        raw, _ = log_counts(raw, float(provenance["library_size"]))
    elif how == "log2":
        raw = log_values(raw)
    rows = [as_dense(block[:, places]).astype(np.float64) for _, block in raw.blocks()]
    return pd.DataFrame(np.concatenate(rows) + raw.offset[places])
