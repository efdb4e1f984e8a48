"""New samples put to the clusters of a run, or to none of them.

The distance of a sample from a cluster is the root of the weighted mean, over the features of the
run that are known of it, of its squared differences from the centre, in the units of the run
(z-scores, as a rule). Features that a table lacks are left out for the samples of the run as well.
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
from sparsekm.cluster.matrices.dense_parts import as_dense
from sparsekm.cluster.matrices.scaled_data import ScaledData
from sparsekm.io.input_error import InputError
from sparsekm.io.normalised_file import read_normalised, row_blocks
from sparsekm.io.readers.messages import shown
from sparsekm.io.readers.raw_matrix import RawMatrix
from sparsekm.io.readers.reader import read_matrix
from sparsekm.io.store import TunedFit, read_fit
from sparsekm.io.tables import TABLES
from sparsekm.pipeline.scales import log_counts, log_values

SCALINGS = ("run", "own")
LEAST_SHARE = 0.5
"""The least share of the weight of the run's features that a table, and a sample, should have."""
NEARLY_ALL = 0.99
"""The share of a cluster's own samples that are nearer to it than its limit."""
# Settings that hold for another table of the same kind; it may lack the columns that some name.
_TAKEN_OVER = ("transpose", "decimal", "layer", "missing_values", "duplicates")
_NAMING = ("samples", "ignore", "keep")
# Of more than this share of samples in none of the clusters, the scale may be another.
_SUSPICIOUS = 0.5

PREDICTED = TABLES["predicted.csv"]


@dataclass(frozen=True)
class KnownClusters:
    """The K clusters of a run, and the s features that tell them apart."""

    kind: str  # what the features are: "features of the signature" or "features kept"
    places: np.ndarray  # (s,): where they are among all
    weights: np.ndarray  # (s,)
    fit: TunedFit
    data: ScaledData  # the samples of the run
    file: Path  # that of the data

    @classmethod
    def read(
        cls, run: str | Path, dataset: str | None = None, method: str | None = None
    ) -> KnownClusters:
        """Read what a run found, by default about its only data set and with its answer."""
        fits = [file.parts[-3:-1] for file in sorted(Path(run).glob("results/*/*/tuned.h5"))]
        names = list(dict.fromkeys(name for name, _ in fits))
        if not names:
            rule = "give the folder of a run that ended"
            raise InputError(f"{run}: no results/*/*/tuned.h5 there: {rule}.")
        dataset = _one_of(
            "dataset", names[0] if dataset is None and len(names) == 1 else dataset, names
        )
        methods = [method for name, method in fits if name == dataset]
        method = _one_of("method", method or primary_method(methods), methods)
        fit = read_fit(Path(run, "results", dataset, method, "tuned.h5"))
        file = Path(run, "data", dataset, "normalised.h5ad")
        data, few = read_normalised(file, most_bytes=0), fit.signature
        if data.provenance.get("source") != "matrix":
            raise InputError(f"dataset={dataset!r} should be a table, not an age of the atlas.")
        if data.X.shape != (len(fit.labels), len(fit.weights)):
            raise InputError(f"{file}: results/{dataset} was made of another one: run again.")
        if few is not None:
            return cls("features of the signature", few, np.ones(len(few)), fit, data, file)
        used = np.flatnonzero(fit.weights)
        return cls("features kept", used, fit.weights[used], fit, data, file)

    def measure(self, Z: np.ndarray) -> np.ndarray:
        """Return the distances of samples (m, s) from the centres: (m, K), NaN if unknown."""
        known = np.isfinite(Z)
        weight, Z = known @ self.weights, np.where(known, Z, 0)
        centers = self.fit.centers[:, self.places]
        squares = [np.square(Z - known * center) @ self.weights for center in centers]
        enough = weight >= LEAST_SHARE * self.weights.sum()
        return np.sqrt(np.transpose(squares) / np.where(enough, weight, np.nan)[:, np.newaxis])

    def limits(self, has: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the clusters' limits of distance (K,), and the share of samples at home.

        `has` (s,) are the features to use. Distances are those of the samples from the centre of
        all others of their cluster, which is n / (n - 1) times as far away. The limit is their
        quantile or, if it is larger, that of a gamma distribution of squares with the mean of the
        cluster and the relative spread of all: of a few samples, the largest is too near. At home
        are samples that are nearest to their own cluster.
        """
        blocks = row_blocks(self.file, self.places)
        found = [self.measure(np.where(has, Z, np.nan)) for _, Z in blocks]
        labels = self.fit.clustered
        distances, labels = np.concatenate(found)[labels >= 0], labels[labels >= 0]
        sizes = np.bincount(labels, minlength=len(self.fit.centers))
        distances[:, sizes == 0] = np.inf
        at_home = float(np.mean(distances.argmin(axis=1) == labels))
        # A sample alone has no distance from others of its cluster.
        used = np.flatnonzero(sizes[labels] > 1)
        own, labels = distances[used, labels[used]], labels[used]
        squares = pd.Series((own * sizes[labels] / (sizes[labels] - 1)) ** 2).groupby(labels)
        ratios = squares.obj / squares.transform("mean")
        with np.errstate(divide="ignore"):
            shape = (len(used) - squares.ngroups) / np.square(ratios - 1).sum()
        usual = squares.mean() * gamma.ppf(NEARLY_ALL, shape, scale=1 / shape)
        limits = np.sqrt(np.fmax(squares.quantile(NEARLY_ALL, interpolation="higher"), usual))
        return limits.reindex(range(len(sizes)), fill_value=limits.max()).to_numpy(), at_home


def _one_of(argument: str, value: str | None, known: list[str]) -> str:
    if value not in known:
        raise InputError(f"{argument}={value!r} should be one of {known}.")
    return value


def read_samples(
    table: str | Path | pd.DataFrame, known: KnownClusters, reading: Mapping[str, Any]
) -> RawMatrix:
    """Read new samples, numbers of a frame, or a file as the run read its own of the same kind."""
    if isinstance(table, pd.DataFrame):
        frame = table.select_dtypes("number")
        values = frame.to_numpy(np.float64)
        offset = np.nan_to_num(values[0])
        names = [[str(name) for name in axis] for axis in (frame.columns, frame.index)]
        return RawMatrix.of((values - offset).astype(np.float32), offset, *names)
    about = known.data.provenance
    settings = json.loads(about.get("reading", "{}"))
    same = Path(table).suffix.lower() == Path(str(about.get("file"))).suffix.lower()
    taken = {
        name: settings[name] for name in (*_TAKEN_OVER, *_NAMING) if same and settings.get(name)
    }
    named = pd.Series([taken[name] for name in _NAMING if name in taken], dtype=object).explode()
    wanted = frozenset(np.array(known.data.about.features, dtype=object)[known.places])
    answers = {"wanted": wanted, "inherited": frozenset(map(str, named))}
    return read_matrix(table, **(taken | dict(reading)), **answers)


def predict_samples(
    raw: RawMatrix, known: KnownClusters, scaling: str = "run"
) -> tuple[pd.DataFrame, list[str]]:
    """Put new samples to the clusters of a run: a table as `PREDICTED`, and what there is to say.

    With the `scaling` "own" their features are made z-scores by their own moments, not the run's.
    """
    _one_of("scaling", scaling, [*SCALINGS])
    data, names = known.data, np.array(known.data.about.features, dtype=object)[known.places]
    where = {name: at for at, name in enumerate(raw.features)}
    places = np.array([where.get(name, -1) for name in names])
    has = places >= 0
    said = [f"{has.sum()} of the {len(has)} {known.kind} are in the table"]
    if not has.all():
        said[0] += f"; it lacks {shown(names[~has].tolist())}"
    if known.weights[has].sum() < LEAST_SHARE * known.weights.sum():
        turned = " Set transpose: true." if {*names} & {*(raw.samples or ())} else ""
        raise InputError(
            f"{said[0]}. Those that it has should make up at least {LEAST_SHARE:.0%} of them. Its "
            f"own features begin with {shown(raw.features)}; names should be as in the run.{turned}"
        )
    values = _transformed(raw, data.provenance, places)
    if data.means is not None:
        mean, deviation = values.mean(), values.std()
        if scaling == "run":
            mean, deviation = data.means[known.places], data.deviations[known.places]
        values = (values - mean) / np.where(deviation > 0, deviation, np.nan)
        whose = "the run's samples" if scaling == "run" else "these samples"
        said.append(f"z-scores are made with the means and deviations of {whose}")
    elif scaling == "own":
        raise InputError("scaling='own' should be 'run': the run made no z-scores.")
    limits, at_home = known.limits(has)
    said.append(f"{at_home:.1%} of the run's own samples are nearest to their own cluster")
    if not known.fit.attributes.get("has_clusters", True):
        said.append("the run found no separate groups: other samples may be clustered otherwise")
    table = _decide(known.measure(values.to_numpy()), limits)
    table.insert(0, "sample", raw.samples or [f"sample{at + 1}" for at in range(len(table))])
    n_none = int(table["none_of_them"].sum())
    if n_none > _SUSPICIOUS * len(table):
        said.append(
            f"{n_none} of {len(table)} samples are in none of the clusters: are the values on the "
            f"scale of the run's table? The run has normalise: {data.provenance['normalisation']}"
        )
    return table, said


def _decide(distances: np.ndarray, limits: np.ndarray) -> pd.DataFrame:
    """Tabulate the nearest cluster, as `PREDICTED`; `distances` are (m, K), NaN if unknown."""
    nearest = np.argsort(distances, axis=1)[:, 0]
    first, second = np.sort(distances, axis=1)[:, :2].T
    unknown = np.isnan(first)
    # A sample may be on two centres at once.
    ratio = np.divide(first, second, out=np.ones_like(first), where=second != 0)
    cluster = pd.Series(nearest, dtype="Int64").mask(unknown)
    found = {"cluster": cluster, "distance": first, "margin": 1 - ratio}
    return pd.DataFrame(found).assign(none_of_them=unknown | (first > limits[nearest]))


def _transformed(raw: RawMatrix, provenance: Mapping[str, Any], places: np.ndarray) -> pd.DataFrame:
    """Return new samples as the run saw its own before z-scores: (m, s), NaN where unknown."""
    how = provenance["normalisation"]
    if how == "counts":
        if "library_size" not in provenance:
            raise InputError(
                "the run did not keep its library size: run it again, by this version."
            )
        raw = log_counts(raw, float(provenance["library_size"]))
    elif how == "log2":
        raw = log_values(raw)
    rows = [as_dense(block[:, places]).astype(np.float64) for _, block in raw.blocks()]
    values = np.concatenate(rows) + raw.offset[places]
    values[:, places < 0] = np.nan
    return pd.DataFrame(values)
