"""The results of a run for one data set, read from the workflow's files.

Only the columns of the matrix X that a figure needs are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

from sparsekm.annotation.clusters import majority_classes
from sparsekm.annotation.enrichment import ENRICHMENT
from sparsekm.annotation.gene_table import GENE_TABLE, gene_table, primary_method
from sparsekm.cluster.sparsity_path import ChosenFit
from sparsekm.io.hdf5_format import open_checked, read_part
from sparsekm.io.known_classes import class_names, distinct_classes, is_known
from sparsekm.io.normalised_file import ANNOTATION, RULE, read_features, read_var
from sparsekm.io.store import read_fit
from sparsekm.io.tables import (
    CANDIDATES,
    CHOICES,
    COUNTS,
    DIVISIONS,
    GAP,
    SCORES,
    SEEDS,
    SEPARATION,
)


class Nouns(NamedTuple):
    """The names of the parts of a data set, and of one label."""

    features: str
    samples: str
    labels: str
    label: str


@dataclass(frozen=True, eq=False)
class DatasetResult:
    """All results for one data set in the report."""

    name: str
    obs: pd.DataFrame
    var: pd.DataFrame
    provenance: Mapping[str, Any]
    methods: Mapping[str, ChosenFit]
    genes: pd.DataFrame
    normalised: Path
    regions: pd.DataFrame | None = None
    spatial: np.ndarray | None = None
    enrichment: pd.DataFrame | None = None
    counts: pd.DataFrame | None = None
    choices: pd.DataFrame | None = None
    # For a matrix: the numbers of clusters compared, the clusters of each, and the candidates.
    numbers: pd.DataFrame | None = None
    divisions: pd.DataFrame | None = None
    candidates: pd.DataFrame | None = None

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
    def words(self) -> Nouns:
        """The names of its parts."""
        if self.is_atlas:
            return Nouns("genes", "voxels", "regions", "region")
        return Nouns("features", "samples", "classes", "class")

    @property
    def source(self) -> str:
        """Where the data come from: "matrix", or a source of the atlas."""
        return str(self.provenance.get("source", ""))

    @property
    def is_simulated(self) -> bool:
        """Whether the data are simulated."""
        return bool(self.provenance.get("simulated", False))

    @property
    def labels(self) -> np.ndarray | None:
        """The known classes, as in `sparsekm.io.known_classes`, shape (n,), or None."""
        column = next((name for name in ("label", "region") if name in self.obs), None)
        return None if column is None else class_names(self.obs[column])

    @property
    def n_classes(self) -> int | None:
        """Number of known classes, None without labels."""
        return None if self.labels is None else len(distinct_classes(self.labels))

    @property
    def n_unlabelled(self) -> int:
        """Number of samples without a label, 0 if there are no labels at all."""
        return 0 if self.labels is None else int((~is_known(self.labels)).sum())

    @property
    def primary(self) -> ChosenFit:
        """The method that is shown first."""
        return self.methods[primary_method(self.methods, is_atlas=self.is_atlas)]

    @property
    def majorities(self) -> dict[int, str]:
        """The classes that name clusters of this method, see `majority_classes`."""
        return {} if self.labels is None else majority_classes(self.primary.labels, self.labels)

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
        """Annotations of the samples besides their classes, by the names of columns."""
        return {
            str(name).removeprefix(ANNOTATION): self.obs[name]
            for name in self.obs
            if str(name).startswith(ANNOTATION) or name == "batch"
        }

    @property
    def planted(self) -> np.ndarray | None:
        """Which features were planted as relevant, bool of shape (p,), or None."""
        return self.var["relevant"].to_numpy(dtype=bool) if "relevant" in self.var else None

    @cached_property
    def all_features(self) -> np.ndarray:
        """The names of all features in the file, clustered or not."""
        used, var = read_var(self.normalised)
        return (self.var if len(used) == len(var) else var).index.astype(str).to_numpy()

    def read_features(
        self, indices: Sequence[int], samples: np.ndarray | None = None, *, whole: bool = False
    ) -> np.ndarray:
        """Read columns of the normalised matrix, of all or some samples, ascending, as float32.

        With `whole`, `indices` are positions in `all_features`.
        """
        return read_features(self.normalised, indices, samples, whole=whole)


_OF_DATASET = {
    "genes": GENE_TABLE,
    "enrichment": ENRICHMENT,
    "counts": COUNTS,
    "choices": CHOICES,
    "numbers": COUNTS,
    "divisions": DIVISIONS,
    "candidates": CANDIDATES,
}
_OF_METHOD = {"gaps": GAP, "separation": SEPARATION, "seeds": SEEDS}


def load_dataset_result(
    dataset: str, normalised: str | Path, *, fits: Mapping[str, str | Path], **files: Any
) -> DatasetResult:
    """Read the workflow's files about one data set, except X of ``normalised.h5ad``.

    The report has the methods in the order of `fits`. `files` are those about the data set and, by
    method, gaps, separation, scores and seeds. A missing table of genes is made from the fits.
    """
    with open_checked(normalised, RULE) as file:
        obs = read_part(file, "obs", pd.DataFrame)
        var = read_part(file, "var", pd.DataFrame)
        uns = read_part(file, "uns", dict) if "uns" in file else {}
        spatial = read_part(file, "obsm/spatial") if "obsm/spatial" in file else None
    methods, expected = {}, (len(obs), len(var))
    for name, fit in fits.items():
        own = {kind: of.get(name) for kind, of in files.items() if kind not in _OF_DATASET}
        methods[name] = _load_method(name, fit, own)
        found = methods[name].labels.size, methods[name].scores.size
        if found != expected:
            raise ValueError(
                f"{fit}: (n_samples, n_features)={found} should be {expected}, as in {normalised}."
            )
    tables = {name: form.read(files[name]) for name, form in _OF_DATASET.items() if name in files}
    regions = uns.get("regions")
    if "genes" not in tables:
        tables["genes"] = gene_table(var, methods, is_atlas=regions is not None)
    return DatasetResult(
        name=dataset,
        obs=obs,
        var=var,
        provenance=uns.get("provenance", {}),
        methods=methods,
        normalised=Path(normalised),
        regions=None if regions is None else pd.DataFrame(regions),
        spatial=spatial,
        **tables,
    )


def _load_method(name: str, fit: str | Path, files: Mapping[str, Any]) -> ChosenFit:
    read = {kind: form.read(files[kind]) for kind, form in _OF_METHOD.items() if files.get(kind)}
    # For large data there is only the tuned fit.
    if len(read.get("seeds", ())) < 2:
        read["seeds"] = None
    if files.get("scores"):
        read["rates"] = SCORES.read_row(files["scores"]).dropna().to_dict()
    return replace(read_fit(fit), name=name, **read)
