"""The table of features ``genes.csv``, and which genes are kept at which ages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sparsekm.cluster.sparsity_path import ChosenFit
from sparsekm.io.hdf5_format import DamagedFileError
from sparsekm.io.tables import TABLES

VERDICTS = ("kept by both", "only l0", "only l1", "neither")
"""Which of l0 and l1 keep a feature, in the order of tables."""

# The first of these methods that was run has its clusters and features shown first. For the atlas
# it is the paper's method.
_PREFERRED_ORDER = ("sparse", "l0", "l1", "kmeans")
_ATLAS_ORDER = ("l0", "l1", "sparse", "kmeans")
_IDENTIFIERS = ("entrez_id", "gene_id")
_DESCRIPTIVE_COLUMNS = ("name", *_IDENTIFIERS, "relevant", "planted_kind", "planted_regions")
GENE_TABLE = TABLES["genes.csv"]


def rank_scores(scores: np.ndarray) -> np.ndarray:
    """Rank features by descending score from 1; ties go to the lowest index, as in selection."""
    order = np.argsort(-np.asarray(scores, dtype=np.float64), kind="stable")
    return np.argsort(order) + 1


def judge_features(l0_weights: np.ndarray, l1_weights: np.ndarray) -> np.ndarray:
    """Return which methods keep each feature, one of `VERDICTS`."""
    l0_keeps, l1_keeps = np.asarray(l0_weights) != 0, np.asarray(l1_weights) != 0
    kept = [l0_keeps & l1_keeps, l0_keeps, l1_keeps]
    return np.select(kept, list(VERDICTS[:3]), default=VERDICTS[3])


def gene_table(
    var: pd.DataFrame,
    fits: Mapping[str, ChosenFit],
    *,
    stability: Mapping[str, np.ndarray] | None = None,
    further: pd.DataFrame | None = None,
    is_atlas: bool = False,
) -> pd.DataFrame:
    """Tabulate every feature of a data set under every method, p rows.

    `var` is indexed by the features' symbols. Each method m, with its fit, has ``score_m`` (the
    between-cluster sum of squares a_j), ``rank_m`` and ``weight_m``. If known, there are
    ``stability_m``, the share of half-samples that keep the feature, and ``selection_frequency_m``,
    the share of resamplings that keep it. `further` has additional columns, in the order of `var`.
    If l0 and l1 ran, the last is ``verdict``, one of `VERDICTS`. The table is sorted by rank under
    the method of `primary_method`.
    """
    methods = _order_methods(fits, is_atlas)
    table = pd.DataFrame({"symbol": np.asarray(var.index, dtype=object)})
    for column in _DESCRIPTIVE_COLUMNS:
        if column in var.columns:
            values = var[column]
            # Missing values have turned integers into floats.
            is_float = column in _IDENTIFIERS and pd.api.types.is_float_dtype(values)
            table[column] = (values.astype("Int64") if is_float else values).array
    added: dict[str, Any] = {}
    for method in methods:
        fit = fits[method]
        added[f"score_{method}"] = fit.scores
        added[f"rank_{method}"] = rank_scores(fit.scores)
        added[f"weight_{method}"] = fit.weights
        added[f"stability_{method}"] = (stability or {}).get(method)
        added[f"selection_frequency_{method}"] = fit.selection_frequency
    added |= {} if further is None else {name: further[name].array for name in further}
    if "l0" in fits and "l1" in fits:
        added["verdict"] = judge_features(fits["l0"].weights, fits["l1"].weights)
    found = {name: values for name, values in added.items() if values is not None}
    return table.assign(**found).sort_values(f"rank_{methods[0]}", kind="stable", ignore_index=True)


def primary_method(methods: Iterable[str], *, is_atlas: bool = False) -> str:
    """Return the method that is shown first: sparse, or l0 for an atlas."""
    return _order_methods(methods, is_atlas)[0]


def _order_methods(methods: Iterable[str], is_atlas: bool) -> list[str]:
    methods = list(methods)
    if not methods:
        raise ValueError(f"methods={methods} should hold at least one method.")
    order = _ATLAS_ORDER if is_atlas else _PREFERRED_ORDER
    known = [method for method in order if method in methods]
    return known + [method for method in methods if method not in order]


KEPT, DROPPED = "kept", "dropped"
KEEPING = (VERDICTS[0], VERDICTS[1], KEPT)
"""The verdicts on a gene that is kept."""

_RULE = "compare_ages"
KEPT_BY_AGE = TABLES["kept_by_age.csv"]
CHANGES = TABLES["changes.csv"]


def tabulate_ages(genes: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Tabulate whether each gene is kept at each age, from the tables of genes by age.

    "Kept" refers to l0, or to l1 if l0 did not run, or to sparse if neither did. Genes are sorted
    by the number of ages at which they are kept, then by the first of these ages.
    """
    ages = list(genes)
    verdicts = pd.DataFrame({age: _judge(table) for age, table in genes.items()}, columns=ages)
    table = verdicts.fillna("").sort_index().rename_axis("symbol").reset_index()
    kept = table[ages].isin(KEEPING).to_numpy()
    table["n_analysed"] = (table[ages] != "").sum(axis=1)
    table["n_kept"] = kept.sum(axis=1)
    names = np.array([*ages, ""], dtype=object)
    table["first"] = names[np.where(kept.any(axis=1), kept.argmax(axis=1), -1)]
    last = len(ages) - 1 - kept[:, ::-1].argmax(axis=1)
    table["last"] = names[np.where(kept.any(axis=1), last, -1)]
    # Sort by the pattern of ages, read as a number: kept at E11.5 before kept at E13.5, and so on.
    pattern = kept @ (2 ** np.arange(len(ages))[::-1])
    order = np.lexsort((table["symbol"], -pattern, -table["n_kept"]))
    return table.iloc[order].reset_index(drop=True)


def _judge(genes: pd.DataFrame) -> pd.Series:
    if "verdict" in genes:
        words = genes["verdict"].to_numpy(dtype=object)
    else:
        selecting = ("l0", "l1", "sparse")
        weights = next((f"weight_{m}" for m in selecting if f"weight_{m}" in genes), None)
        if weights is None:
            raise ValueError(f"genes: there should be a column weight_m, with m in {selecting}.")
        words = np.where(genes[weights] != 0, KEPT, DROPPED).astype(object)
    found = pd.Series(words, index=genes["symbol"].astype(str))
    # Tables are sorted by rank: if a gene has several features, the best one represents it.
    return found[~found.index.duplicated()]


def tabulate_changes(table: pd.DataFrame, ages: Sequence[str]) -> pd.DataFrame:
    """List the genes that enter, leave and stay between consecutive ages of `tabulate_ages`."""
    rows = []
    for earlier, later in pairwise(ages):
        both = table[(table[[earlier, later]] != "").all(axis=1)]
        before, after = both[earlier].isin(KEEPING), both[later].isin(KEEPING)
        members = (~before & after, before & ~after, before & after)
        found = [sorted(both["symbol"][chosen]) for chosen in members]
        rows.append([earlier, later, *map(len, found), *map(";".join, found)])
    return pd.DataFrame(rows, columns=list(CHANGES.columns))


def read_ages(file: str | Path) -> tuple[pd.DataFrame, list[str]]:
    """Read ``kept_by_age.csv``: the table, and its ages in their order."""
    table = KEPT_BY_AGE.read(file)
    ages = [column for column in table.columns if column not in KEPT_BY_AGE.columns]
    verdicts = {"", KEPT, DROPPED, *VERDICTS}
    if not table[ages].isin(verdicts).all(axis=None):
        raise DamagedFileError(file, f"each verdict should be one of {sorted(verdicts)}", _RULE)
    return table, ages
