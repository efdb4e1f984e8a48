"""The results of a run for one data set, read from the workflow's files.

Only `load_dataset_result` reads files; the matrix X is never read completely, but only the columns
that a figure needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sparsekm.annotation.clusters import OVERLAP
from sparsekm.annotation.enrichment import ENRICHMENT
from sparsekm.annotation.gene_table import GENE_TABLE, gene_table, primary_method
from sparsekm.figures.palette import method_look
from sparsekm.io.hdf5_format import open_checked, read_part
from sparsekm.io.known_classes import class_names, is_known
from sparsekm.io.matrix_file import RULE, MatrixFile, RowSource
from sparsekm.io.store import read_fit, read_path, read_samples
from sparsekm.io.tables import COUNTS, GAP, SCORES, SEEDS, SEPARATION, STARTS
from sparsekm.metrics.partition_metrics import classification_error_rate


@dataclass(frozen=True)
class MethodPath:
    """The partitions of one method at every sparsity: (m,), (m,) and (m, n).

    `samples` are those of the partitions, None for all.
    """

    sparsities: np.ndarray
    n_selected: np.ndarray
    labels: np.ndarray
    samples: np.ndarray | None = None


@dataclass(frozen=True)
class MethodResult:
    """The results of one method: its tuned fit and its tuning."""

    name: str
    labels: np.ndarray
    scores: np.ndarray
    weights: np.ndarray
    sparsity: float
    objective: float
    attributes: Mapping[str, Any] = field(default_factory=dict)
    gap: pd.DataFrame | None = None
    consensus: pd.DataFrame | None = None
    # A row per pair of neighbouring clusters, see `sparsekm.tuning.separation`.
    separation: pd.DataFrame | None = None
    reproducibility: np.ndarray | None = None  # (n,): share of fits that agree on a sample
    signature: np.ndarray | None = None  # the fewest features that tell the clusters apart
    path: MethodPath | None = None
    centers: np.ndarray | None = None
    metrics: Mapping[str, Any] = field(default_factory=dict)
    # As in ``seeds.csv``: this fit, then those from other seeds; None without any.
    seeds: pd.DataFrame | None = None

    @property
    def title(self) -> str:
        """The name of the method for readers."""
        return method_look(self.name).title

    @property
    def n_kept(self) -> int:
        """Number of features with nonzero weight (NW)."""
        return int(np.count_nonzero(self.weights))

    @property
    def is_sparse(self) -> bool:
        """Whether the method selects features."""
        is_tuned = self.gap is not None or self.consensus is not None
        return is_tuned or self.n_kept < self.weights.size

    @property
    def cer(self) -> float | None:
        """Classification error rate against the labels, or None if it is not known."""
        return self._metric("cer")

    @property
    def cer_chance(self) -> float | None:
        """Mean classification error rate of random clusters of these sizes, or None."""
        return self._metric("cer_chance")

    @property
    def ari(self) -> float | None:
        """Adjusted Rand index against the labels, or None if it is not known."""
        return self._metric("ari")

    @property
    def ami(self) -> float | None:
        """Adjusted mutual information with the labels, or None if it is not known."""
        return self._metric("ami")

    def _metric(self, name: str) -> float | None:
        value = self.metrics.get(name)
        return None if value is None or pd.isna(value) else float(value)


@dataclass(frozen=True)
class DatasetResult:
    """All results for one data set in the report."""

    name: str
    obs: pd.DataFrame
    var: pd.DataFrame
    provenance: Mapping[str, Any]
    methods: Mapping[str, MethodResult]
    genes: pd.DataFrame
    regions: pd.DataFrame | None = None
    enrichment: pd.DataFrame | None = None
    contingency: pd.DataFrame | None = None
    spatial: np.ndarray | None = None
    normalised: Path | None = None
    counts: pd.DataFrame | None = None

    @property
    def n_samples(self) -> int:
        """Number of samples (voxels of an atlas age)."""
        return len(self.obs)

    @property
    def n_features(self) -> int:
        """Number of features (genes)."""
        return len(self.var)

    @property
    def is_atlas(self) -> bool:
        """Whether the samples are voxels of a brain, with regions and coordinates."""
        return self.regions is not None and self.spatial is not None and "region" in self.obs

    @property
    def is_simulated(self) -> bool:
        """Whether the data are simulated."""
        return bool(self.provenance.get("simulated", False))

    @property
    def label_column(self) -> str | None:
        """The column of obs with which the clusters are compared."""
        return next((name for name in ("label", "region") if name in self.obs), None)

    @property
    def labels(self) -> np.ndarray | None:
        """The labels with which the clusters are compared, shape (n,), or None.

        They are classes as in `sparsekm.io.known_classes`.
        """
        return None if self.label_column is None else class_names(self.obs[self.label_column])

    @property
    def n_unlabelled(self) -> int:
        """Number of samples without a label, 0 if there are no labels at all."""
        return 0 if self.labels is None else int((~is_known(self.labels)).sum())

    def error_rate(self, partition: np.ndarray, samples: np.ndarray | None = None) -> float:
        """Compute the classification error rate of a partition of all or some samples."""
        labels = self.labels if samples is None else self.labels[samples]
        known = is_known(labels)
        return classification_error_rate(labels[known], partition[known])

    @property
    def primary(self) -> MethodResult:
        """The method whose clusters and features are the answer."""
        return self.methods[primary_method(self.methods, is_atlas=self.is_atlas)]

    @property
    def overlap(self) -> pd.DataFrame | None:
        """Its clusters against the known classes, as in `contingency`; None without any."""
        table = self.contingency
        if table is None or table.empty:
            return None
        return table[table["method"] == self.primary.name]

    @property
    def majorities(self) -> dict[int, str]:
        """The class that most samples of each cluster have; empty without known classes."""
        if self.overlap is None:
            return {}
        best = self.overlap[self.overlap["is_best"]]
        return {int(row.cluster): str(row.label) for row in best.itertuples()}

    @property
    def planted(self) -> np.ndarray | None:
        """Which features were planted as relevant, bool of shape (p,), or None."""
        if "relevant" not in self.var:
            return None
        return self.var["relevant"].to_numpy(dtype=bool)

    def read_features(self, indices: Sequence[int]) -> np.ndarray:
        """Read columns of the normalised matrix, at ascending positions, as float32."""
        return self._matrix().select(indices)[:]

    def select_features(
        self, indices: Sequence[int], samples: np.ndarray | None = None
    ) -> RowSource:
        """Select columns of the normalised matrix, which are read on demand unless small.

        See `sparsekm.io.matrix_file`. Of `samples`, ascending, all columns are read first.
        """
        if samples is not None:
            return self._matrix().take(samples)[:, indices]
        return self._matrix().select(indices)

    def _matrix(self) -> MatrixFile:
        if self.normalised is None:
            raise ValueError(f"normalised=None should be the file of data set {self.name!r}.")
        return MatrixFile(self.normalised)


def load_dataset_result(
    dataset: str,
    normalised: str | Path,
    *,
    fits: Mapping[str, str | Path],
    paths: Mapping[str, str | Path] | None = None,
    gaps: Mapping[str, str | Path] | None = None,
    consensus: Mapping[str, str | Path] | None = None,
    separation: Mapping[str, str | Path] | None = None,
    scores: Mapping[str, str | Path] | None = None,
    seeds: Mapping[str, str | Path] | None = None,
    genes: str | Path | None = None,
    enrichment: str | Path | None = None,
    contingency: str | Path | None = None,
    counts: str | Path | None = None,
) -> DatasetResult:
    """Read the workflow's files about one data set, except X of ``normalised.h5ad``.

    The order of the methods in `fits` is their order in the report. If no table of genes is given,
    it is made from the fits.
    """
    kinds = {
        "path": paths,
        "gap": gaps,
        "consensus": consensus,
        "separation": separation,
        "scores": scores,
        "seeds": seeds,
    }
    obs, var, uns, spatial = _read_annotations(Path(normalised))
    methods = {
        method: _load_method(
            method,
            file,
            {kind: files[method] for kind, files in kinds.items() if method in (files or {})},
        )
        for method, file in fits.items()
    }
    for method, result in methods.items():
        found, expected = (result.labels.size, result.scores.size), (len(obs), len(var))
        if found != expected:
            raise ValueError(
                f"{fits[method]}: (n_samples, n_features)={found} should be {expected}, "
                f"as in {normalised}."
            )
    regions = uns.get("regions")
    return DatasetResult(
        name=dataset,
        obs=obs,
        var=var,
        provenance=uns.get("provenance", {}),
        methods=methods,
        genes=gene_table(var, methods, is_atlas=regions is not None)
        if genes is None
        else GENE_TABLE.read(genes),
        regions=None if regions is None else pd.DataFrame(regions),
        enrichment=None if enrichment is None else ENRICHMENT.read(enrichment),
        contingency=None if contingency is None else OVERLAP.read(contingency),
        spatial=spatial,
        normalised=Path(normalised),
        counts=None if counts is None else COUNTS.read(counts),
    )


def _read_annotations(
    normalised: Path,
) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, Any], np.ndarray | None]:
    with open_checked(normalised, RULE) as file:
        return (
            read_part(file, "obs", RULE, pd.DataFrame),
            read_part(file, "var", RULE, pd.DataFrame),
            read_part(file, "uns", RULE, dict) if "uns" in file else {},
            read_part(file, "obsm/spatial", RULE) if "obsm/spatial" in file else None,
        )


def _load_method(
    method: str, fit_file: str | Path, others: Mapping[str, str | Path]
) -> MethodResult:
    fit = read_fit(fit_file)
    path = None
    if "path" in others:
        whole, _ = read_path(others["path"])
        samples = read_samples(others["path"])
        path = MethodPath(whole.sparsities, whole.n_selected, whole.labels, samples)
    refits = SEEDS.read(others["seeds"]) if "seeds" in others else None
    return MethodResult(
        name=method,
        labels=fit.labels,
        scores=fit.scores,
        weights=fit.weights,
        sparsity=float(fit.sparsity),
        objective=float(fit.objective),
        attributes=fit.attributes,
        gap=GAP.read(others["gap"]) if "gap" in others else None,
        consensus=STARTS.read(others["consensus"]) if "consensus" in others else None,
        separation=SEPARATION.read(others["separation"]) if "separation" in others else None,
        reproducibility=fit.reproducibility,
        signature=fit.signature,
        path=path,
        centers=fit.centers,
        metrics=SCORES.read_row(others["scores"]).to_dict() if "scores" in others else {},
        # Of large data there is only the tuned fit.
        seeds=refits if refits is not None and len(refits) > 1 else None,
    )
