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
from sklearn.metrics import adjusted_rand_score

from sparsekm.annotation.clusters import OVERLAP
from sparsekm.annotation.enrichment import ENRICHMENT
from sparsekm.annotation.gene_table import GENE_TABLE, gene_table, primary_method
from sparsekm.io.hdf5_format import open_checked, read_part
from sparsekm.io.known_classes import class_names, is_known
from sparsekm.io.normalised_file import ANNOTATION, RULE, MatrixFile
from sparsekm.io.store import read_fit
from sparsekm.io.tables import (
    CHOICES,
    COUNTS,
    GAP,
    SCORES,
    SEEDS,
    SEPARATION,
    TableFormat,
)
from sparsekm.pipeline.registry import method_look


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
    # A row per pair of neighbouring clusters, see `sparsekm.tuning.separation`.
    separation: pd.DataFrame | None = None
    trimmed: np.ndarray | None = None  # (n,): whether a sample was set aside
    reproducibility: np.ndarray | None = None  # (n,): share of fits that agree on a sample
    signature: np.ndarray | None = None  # the fewest features that tell the clusters apart
    # (K, p) and (K,): the same for each cluster, and how well they do.
    cluster_signatures: np.ndarray | None = None
    cluster_agreements: np.ndarray | None = None
    centers: np.ndarray | None = None
    batch_centred: np.ndarray | None = None  # (n,): the clusters of values centred within batches
    partitions: np.ndarray | None = None  # (m, n): the fits of folds, whose consensus this is
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
        is_tuned = self.gap is not None or self.separation is not None
        return is_tuned or self.n_kept < self.weights.size

    def rate(self, name: str) -> float | None:
        """One of "cer", "cer_chance", "ari" and "ami" against the labels, None if not known."""
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
    choices: pd.DataFrame | None = None

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
    def source(self) -> str:
        """Where the data come from: "matrix", or a source of the atlas."""
        return str(self.provenance.get("source", ""))

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
    def batches(self) -> tuple[list[pd.DataFrame], float] | None:
        """The samples of each cluster (row) in each batch, as given and centred; agreement."""
        centred = self.primary.batch_centred
        if "batch" not in self.obs or centred is None:
            return None
        labels, batch = self.primary.labels, self.obs["batch"].astype(str).to_numpy()
        counts = [pd.crosstab(found, batch) for found in (labels, centred)]
        return counts, float(adjusted_rand_score(labels, centred))

    @property
    def annotations(self) -> dict[str, pd.Series]:
        """What the user knows of the samples besides their classes, by the names of columns."""
        return {
            str(name).removeprefix(ANNOTATION): self.obs[name]
            for name in self.obs
            if str(name).startswith(ANNOTATION) or name == "batch"
        }

    @property
    def numeric_annotations(self) -> list[str]:
        """The annotations that are numbers."""
        known = self.annotations.items()
        return [name for name, values in known if pd.api.types.is_numeric_dtype(values)]

    @property
    def planted(self) -> np.ndarray | None:
        """Which features were planted as relevant, bool of shape (p,), or None."""
        if "relevant" not in self.var:
            return None
        return self.var["relevant"].to_numpy(dtype=bool)

    def read_features(
        self, indices: Sequence[int], samples: np.ndarray | None = None
    ) -> np.ndarray:
        """Read columns of the normalised matrix, of all or some samples, ascending, as float32."""
        chosen = self._matrix().select(indices)
        if samples is None or isinstance(chosen, np.ndarray):
            return chosen[:] if samples is None else chosen[samples]
        return chosen.take(samples)

    def _matrix(self) -> MatrixFile:
        if self.normalised is None:
            raise ValueError(f"normalised=None should be the file of data set {self.name!r}.")
        return MatrixFile(self.normalised)


def load_dataset_result(
    dataset: str,
    normalised: str | Path,
    *,
    fits: Mapping[str, str | Path],
    genes: str | Path | None = None,
    enrichment: str | Path | None = None,
    contingency: str | Path | None = None,
    counts: str | Path | None = None,
    choices: str | Path | None = None,
    **by_method: Mapping[str, str | Path],
) -> DatasetResult:
    """Read the workflow's files about one data set, except X of ``normalised.h5ad``.

    The order of the methods in `fits` is their order in the report. If no table of genes is given,
    it is made from the fits. `by_method` are further files of some methods: gaps,
    separation, scores and seeds.
    """
    obs, var, uns, spatial = _read_annotations(Path(normalised))
    methods = {
        method: _load_method(
            method,
            file,
            {kind: files[method] for kind, files in by_method.items() if method in files},
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
        choices=None if choices is None else CHOICES.read(choices),
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

    def table(kind: str, form: TableFormat) -> pd.DataFrame | None:
        return form.read(others[kind]) if kind in others else None

    refits = table("seeds", SEEDS)
    return MethodResult(
        name=method,
        labels=fit.labels,
        scores=fit.scores,
        weights=fit.weights,
        sparsity=float(fit.sparsity),
        objective=float(fit.objective),
        attributes=fit.attributes,
        gap=table("gaps", GAP),
        separation=table("separation", SEPARATION),
        trimmed=fit.trimmed,
        reproducibility=fit.reproducibility,
        signature=fit.signature,
        cluster_signatures=fit.cluster_signatures,
        cluster_agreements=fit.cluster_agreements,
        centers=fit.centers,
        batch_centred=fit.batch_centred,
        partitions=fit.partitions,
        metrics=SCORES.read_row(others["scores"]).to_dict() if "scores" in others else {},
        # Of large data there is only the tuned fit.
        seeds=refits if refits is not None and len(refits) > 1 else None,
    )
