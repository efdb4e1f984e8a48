"""Sparse k-means of an AnnData, and clusters of new samples from a finished run.

`sparse_kmeans` reads the values and the columns that describe the cells. `SparseKMeans` makes
z-scores of the values and clusters them by `sparsekm.tuning.chosen_fit.find_clusters`, as the
workflow does. The attributes of the estimator are written to obs, var and uns. `predict_clusters`
reads the folder of a run and a table instead.
"""

from __future__ import annotations

import warnings
from collections.abc import Container
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from sklearn.base import clone

from sparsekm import __version__
from sparsekm.cluster.estimator_input import read_data
from sparsekm.cluster.matrices.dense_parts import feature_means, feature_variances
from sparsekm.cluster.matrices.inputs import Seed, as_readable, type_name, type_names, wrong_type
from sparsekm.tuning.sparse_kmeans import SparseKMeans

if TYPE_CHECKING:
    from anndata import AnnData

__all__ = ["predict_clusters", "sparse_kmeans"]

# A subset of the cells of scaled data has nearly equal variances, and means near 0.
SAME_VARIANCE, SAME_MEAN = 2.0, 0.1
# The attributes of a fit that are written unchanged, and the tables, whose rows get names.
VERDICT = (
    "conclusion",
    "has_clusters",
    "n_clusters",
    "sparsity",
    "screening",
    "objective",
    "signature_agreement",
    "cluster_signature_agreements",
)
TABLES = ("search_results", "separation", "cluster_counts")
# The endings of the names of columns in obs and var.
OBS_SUFFIXES = ("", "_reproducibility", "_batch_centred")
VAR_SUFFIXES = ("_weight", "_score", "_selected", "_selection_frequency")
# The object to give instead of an `adata` of another type, {}.
INSTEAD = {
    "anndata.Raw": "{}.to_adata()",
    "builtins.str": "anndata.read_h5ad({})",
    "mudata.MuData": "{}.mod[name]",
    "pathlib.PurePath": "anndata.read_h5ad({})",
}


def sparse_kmeans(
    adata: AnnData,
    n_clusters: int | None = None,
    *,
    layer: str | None = None,
    mask_var: str | ArrayLike | None = None,
    groups: str | ArrayLike | None = None,
    batch_key: str | ArrayLike | None = None,
    weights_key: str | ArrayLike | None = None,
    random_state: Seed = 0,
    key_added: str = "sparse_kmeans",
    copy: bool = False,
    **parameters: Any,
) -> AnnData | None:
    """Cluster the cells of an AnnData, and keep the few genes that make the clusters.

    Give normalised, log-transformed values and do not scale them (no ``scanpy.pp.scale``):
    `SparseKMeans` first considers the genes that are more variable than others with the same mean.
    Raw counts and scaled values are clustered with a warning. Sparse values stay sparse, and a
    backed AnnData stays backed.

    Parameters
    ----------
    adata : AnnData
        Cells (observations) × genes (variables).
    n_clusters : int, optional
        Number of clusters K. If None, it is estimated: the number of clearly separated groups.
    layer : str, optional
        The layer to cluster; None is X.
    mask_var : str or array-like of shape (n_vars,), optional
        A boolean column of ``var``, such as "highly_variable", or its values: the genes by which
        cells are clustered. By default these are all genes. The other genes get weight, score and
        selection frequency 0.
    groups, batch_key, weights_key : str or array-like of shape (n_obs,), optional
        Columns of ``obs``, or their values, for the arguments groups, batch and sample_weight of
        `SparseKMeans.fit`. The cells of a group, such as a donor, are held out together and count
        as one in the tests. Batches need dense values: ``adata.X = adata.X.toarray()``.
    random_state : None, int, RandomState or Generator, default=0
        Controls the randomness.
    key_added : str, default="sparse_kmeans"
        Prefix of the names of all results.
    copy : bool, default=False
        Whether to return a copy with the results, and leave `adata` as it is.
    **parameters
        Parameters of `SparseKMeans`: selection, screening, sparsity, min_cluster_size, n_jobs and
        so on. There is no ``use_rep``, because a representation mixes the genes.

    Returns
    -------
    AnnData or None
        The copy if `copy`, otherwise None. These results are written:

        ``obs[key_added]``
            The cluster of every cell, categorical: "0", "1", ...; missing for cells that `trim`
            sets aside.
        ``obs[key_added + "_reproducibility"]``
            Share of the refits, each to 90 % of the cells, in which the cell keeps its cluster. If
            there are more than `max_samples` cells (2,000 by default), clusters are found in a
            random subset of this size; the share is NaN for all other cells.
        ``obs[key_added + "_batch_centred"]``
            With `batch_key`, the cluster of every cell after centring within batches. Without it,
            the column of an earlier call is removed.
        ``var[key_added + "_weight"]``, ``var[key_added + "_score"]``
            The weight of every gene, 0 if it is dropped, and its between-cluster sum of squares.
        ``var[key_added + "_selected"]``
            Whether a gene is kept.
        ``var[key_added + "_selection_frequency"]``
            Share of the refits that keep the gene.
        ``uns[key_added]``
            ``params``, the ``version`` of sparsekm, and the attributes of `SparseKMeans` by their
            names, such as ``conclusion``. If `batch_key` is given, ``batch_agreement`` and
            ``batch_shares`` are added. ``signature`` and ``cluster_signatures`` are names of genes.
        ``uns[key_added + "_markers"]``
            The genes of every cluster in the format of scanpy's ``rank_genes_groups``. Kept genes
            that are high in the cluster come first, then dropped genes, then kept genes that are
            low. ``scores`` is the mean of the cluster minus the mean of all other cells, in
            standard deviations. All p-values are NaN, because a test on the same cells would use
            the data twice.

    Raises
    ------
    TypeError, ValueError
        If `SparseKMeans.fit` would raise it; if `adata` is not an AnnData, is backed by a closed
        file, or is a view of a backed AnnData; if a layer or column does not exist or does not fit.

    See Also
    --------
    sparsekm.pl : Figures of the results.

    Notes
    -----
    These calls of scanpy show the markers by their key:
    ``scanpy.get.rank_genes_groups_df(adata, None, key="sparse_kmeans_markers")`` and
    ``scanpy.pl.rank_genes_groups_dotplot(adata, key="sparse_kmeans_markers")``.

    Examples
    --------
    >>> import numpy as np
    >>> from anndata import AnnData
    >>> import sparsekm
    >>> X = np.random.default_rng(13).normal(size=(60, 100))
    >>> X[:20, :10] += 3
    >>> X[20:40, :10] -= 3
    >>> adata = AnnData(X)
    >>> sparsekm.tl.sparse_kmeans(adata, 3)
    >>> int(adata.var["sparse_kmeans_selected"].sum())
    10
    """
    check_anndata(adata)
    if adata.isbacked and (copy or adata.is_view):
        kind = "a view of a backed AnnData" if adata.is_view else "backed, and copy=True"
        raise ValueError(f"adata is {kind}: give adata.to_memory() instead.")
    if not isinstance(key_added, str):
        raise TypeError(f"key_added={key_added!r} should be a string.")
    columns = {"groups": groups, "batch_key": batch_key, "weights_key": weights_key}
    for argument, column in {**columns, "mask_var": mask_var}.items():
        ends = OBS_SUFFIXES if argument in columns else VAR_SUFFIXES
        if isinstance(column, str) and column in [key_added + end for end in ends]:
            raise ValueError(
                f"{argument}={column!r} would be overwritten, with key_added={key_added!r}; give "
                "another key_added."
            )
    number: Any = "auto" if n_clusters is None else n_clusters
    estimator = SparseKMeans(number, random_state=random_state, **parameters)
    # This is checked before values are read, because reading a backed AnnData can take long.
    clone(estimator).make_estimator()
    cell_groups, batch, weights = (
        _read_column(column, argument, adata.obs, "obs") for argument, column in columns.items()
    )
    genes = _read_mask(adata, mask_var)
    values = read_values(adata, layer, genes, estimator)
    _warn_of_scaled(values, "X" if layer is None else f"layer {layer!r}")
    estimator.fit(values, groups=cell_groups, batch=batch, sample_weight=weights)
    adata = adata.copy() if copy else adata
    adata.obs[key_added] = _categories(estimator)
    adata.obs[f"{key_added}_reproducibility"] = estimator.sample_reproducibility_
    # An earlier call may have left a column.
    adata.obs = adata.obs.drop(columns=f"{key_added}_batch_centred", errors="ignore")
    if batch is not None:
        adata.obs[f"{key_added}_batch_centred"] = _categories(estimator.batch_centred_)
    clustered_genes: Any = slice(None) if genes is None else genes
    gene_columns = (
        estimator.feature_weights_,
        estimator.feature_scores_,
        estimator.get_support(),
        estimator.selection_frequency_,
    )
    for end, column in zip(VAR_SUFFIXES, gene_columns, strict=True):
        of_all = np.zeros(adata.n_vars, column.dtype)
        of_all[clustered_genes] = column
        adata.var[key_added + end] = of_all
    settings = estimator.get_params() | {"layer": layer, "mask_var": mask_var} | columns
    adata.uns[key_added] = {
        "params": _storable(settings),
        "version": __version__,
        **_describe_fit(estimator, adata.var_names[clustered_genes]),
    }
    shared = {"groupby": key_added, "reference": "rest", "method": "sparsekm", "use_raw": False}
    adata.uns[f"{key_added}_markers"] = {
        "params": shared | _storable({"layer": layer}),
        **_rank_genes(adata, key_added, values, clustered_genes),
    }
    return adata if copy else None


def predict_clusters(
    run: str | Path,
    samples: str | Path | pd.DataFrame,
    *,
    dataset: str | None = None,
    method: str | None = None,
    scaling: str = "run",
    **reading: Any,
) -> pd.DataFrame:
    """Assign new samples to the clusters that a run found, and mark samples far from all of them.

    ``sparsekm predict`` does the same. Features are matched by name. If the features of the table
    together have at least 95 % of the total feature weight of the run, each sample gets the cluster
    of the nearest centre in these features. Otherwise, if the table has every feature of the run's
    signature, the smallest set that reproduces its clusters, the nearest centre in the signature
    counts. The values are transformed in the same way as the values of the run. This function needs
    the extra ``workflow``.

    Parameters
    ----------
    run : str or Path
        The folder of a run of ``sparsekm run`` or of the workflow.
    samples : str, Path or DataFrame
        A table in any format that the workflow reads, or a data frame (samples × features). Its
        values should be in the units of the run's table. Distances leave out missing values and all
        features that the table lacks.
    dataset, method : str, optional
        The name of the data set (required if the run has several), and the method (by default the
        one that the report shows first).
    scaling : {"run", "own"}, default="run"
        "run" standardises with the means and standard deviations of the run, and "own" with those
        of `samples`. "own" helps if the platform differs, but requires a similar mix of clusters.
    **reading
        Settings for reading a file, by their names in the configuration: transpose, layer, ignore
        and so on.

    Returns
    -------
    DataFrame
        A row per sample; ``attrs["said"]`` describes how features were matched.

        ``sample``
            Name of the sample.
        ``cluster``
            The nearest cluster, by its number in ``clusters.csv``; missing if a sample lacks
            features with more than half of the weight.
        ``distance``
            Root of the weighted mean of squared differences from the centre of the cluster.
        ``margin``
            1 minus the ratio of this distance to the distance from the second-nearest centre; 0 if
            both are equally near.
        ``none_of_them``
            Whether the sample is farther from the centre than 99 % of the run's samples in the
            cluster. For a small cluster, this limit comes from a gamma distribution of squared
            distances.

    Raises
    ------
    ValueError
        If the run has no fit of this data set and method; if the table cannot be read, or has
        neither features with 95 % of the weight nor the whole signature; if `scaling` is "own" and
        the run did not standardise.
    """
    # Imported here, because they need the extra `workflow`.
    from sparsekm.annotation.new_samples import KnownClusters, predict_samples, read_samples

    known = KnownClusters.read(run, dataset, method)
    table, remarks = predict_samples(read_samples(samples, known, reading), known, scaling)
    table.attrs["said"] = remarks
    return table


def _categories(estimator: SparseKMeans) -> pd.Categorical:
    labels = [str(label) for label in range(estimator.n_clusters_)]
    return pd.Categorical.from_codes(estimator.labels_, labels)


def check_anndata(adata: Any) -> None:
    """Refuse an object whose type is not AnnData."""
    if "anndata.AnnData" not in type_names(adata):
        otherwise = "anndata.AnnData({}), or cluster it with sparsekm.SparseKMeans"
        raise wrong_type("adata", adata, INSTEAD, otherwise)


def read_values(
    adata: AnnData,
    layer: str | None = None,
    genes: np.ndarray | None = None,
    estimator: SparseKMeans | None = None,
) -> np.ndarray | csr_array:
    """Load the values of some genes, from X or a layer, in the form that `SparseKMeans` takes.

    Missing values are filled as in the estimator.
    """
    if adata.isbacked and not adata.file.is_open:
        raise ValueError(
            f"adata is backed by {adata.filename}, which is closed: adata.file.open() opens it."
        )
    if layer is not None:
        check_name("layer", layer, adata.layers, f"one of {list(adata.layers)}, or None for X")
    values = adata.X if layer is None else adata.layers[layer]
    if values is None:
        raise ValueError("adata.X is None. Name the layer to cluster.")
    if hasattr(values, "to_memory"):
        values = values.to_memory()
    values = as_readable(values, "adata.X" if layer is None else f"adata.layers[{layer!r}]")
    return read_data(estimator or SparseKMeans(), values if genes is None else values[:, genes])


def check_name(argument: str, value: object, known: Container[str], rule: str) -> None:
    """Refuse a value that is not text, or not a known name."""
    if not isinstance(value, str):
        raise TypeError(f"{argument} is of type {type_name(value)}: give its name, {rule}.")
    if value not in known:
        raise ValueError(f"{argument}={value!r} should be {rule}.")


def _read_column(column: Any, argument: str, table: pd.DataFrame, where: str) -> Any:
    """Return a column of obs or var by its name, or the values that are given instead."""
    if isinstance(column, str):
        check_name(argument, column, table, f"a column of {where}: {list(table)}")
        return table[column]
    if isinstance(column, pd.Series) and not column.index.equals(table.index):
        names = f"adata.{where}_names"
        raise ValueError(
            f"{argument}: the index should be {names}. If the values are in the order of adata, "
            f"give {argument}.to_numpy(); otherwise give {argument}.reindex({names})."
        )
    return column


def _read_mask(adata: AnnData, mask_var: Any) -> np.ndarray | None:
    """Return which genes are clustered, ascending; None is all."""
    if mask_var is None:
        return None
    mask = np.asarray(_read_column(mask_var, "mask_var", adata.var, "var"))
    if mask.dtype != bool or mask.shape != (adata.n_vars,):
        raise ValueError(
            f"mask_var should be {adata.n_vars} booleans, one for each gene, or the name of such a "
            f"column of var; got {mask.dtype} of shape {mask.shape}."
        )
    if not mask.any():
        raise ValueError("mask_var should mark at least one gene; it marks none.")
    return np.flatnonzero(mask)


def _describe_fit(estimator: SparseKMeans, names: pd.Index) -> dict[str, Any]:
    """Return the attributes in a form for .h5ad files; `names` are the clustered genes."""

    def named(features):
        return names[[] if features is None else features].to_numpy(object)

    facts = {name: getattr(estimator, f"{name}_") for name in VERDICT}
    for name in TABLES:
        table = getattr(estimator, f"{name}_")
        if table is not None:
            # These files need row names.
            facts[name] = table.rename(index=str)
    if hasattr(estimator, "batch_shares_"):
        facts["batch_agreement"] = estimator.batch_agreement_
        facts["batch_shares"] = estimator.batch_shares_.rename(index=str, columns=str)
    signatures = enumerate(estimator.cluster_signatures_)
    of_clusters = {str(k): named(features) for k, features in signatures}
    return facts | {"signature": named(estimator.signature_), "cluster_signatures": of_clusters}


def _rank_genes(adata: AnnData, key: str, values, genes) -> dict[str, np.recarray]:
    """Rank genes in every cluster: high kept genes, then dropped genes, then low kept genes.

    Fold changes are defined as in scanpy, by back-transformed means of log(1 + x).
    """
    scale = np.log(adata.uns.get("log1p", {}).get("base") or np.e)
    kept, names = adata.var[f"{key}_selected"].to_numpy(), adata.var_names.to_numpy(object)
    spreads, clusters = np.sqrt(feature_variances(values)), adata.obs[key].cat
    columns: dict[str, dict[str, np.ndarray]] = {
        name: {} for name in ("names", "scores", "logfoldchanges", "pvals", "pvals_adj")
    }
    for code, cluster in enumerate(clusters.categories):
        own = (clusters.codes == code).to_numpy()
        inside, outside = feature_means(values[own]), feature_means(values[~own])
        measured = np.full((2, adata.n_vars), np.nan, np.float32)
        # Constant genes have no score. Fold changes need logarithms of 1 + x.
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            measured[0, genes] = (inside - outside) / spreads
            ratio = (np.expm1(inside * scale) + 1e-9) / (np.expm1(outside * scale) + 1e-9)
            measured[1, genes] = np.log2(ratio)
        order = np.lexsort([-measured[0], np.where(kept, -np.sign(measured[0]), 0)])
        columns["names"][cluster] = names[order]
        columns["scores"][cluster], columns["logfoldchanges"][cluster] = measured[:, order]
        for name in ("pvals", "pvals_adj"):
            columns[name][cluster] = np.full(adata.n_vars, np.nan)
    return {name: pd.DataFrame(of).to_records(index=False) for name, of in columns.items()}


def _warn_of_scaled(values: np.ndarray | csr_array, name: str) -> None:
    """Warn if genes were scaled to one variance, in these cells or in more of them."""
    means, variances = feature_means(values), feature_variances(values)
    low, high = np.quantile(variances, [0.05, 0.95])
    far = np.quantile(np.abs(means), 0.95)
    if values.min() < 0 and high <= SAME_VARIANCE * low and far <= SAME_MEAN * np.sqrt(low):
        warnings.warn(
            f"{name}: the genes are scaled to mean 0 and equal variance, so genes that vary "
            "more than others with the same mean cannot be found. Give values that are normalised "
            "and log-transformed, but not scaled. If a layer holds them, name it with layer=...; "
            "if adata.raw holds them, give adata.raw.to_adata().",
            UserWarning,
            stacklevel=3,
        )


def _storable(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that an .h5ad file can hold: None and generators are left out."""
    kept = (bool, int, float, str, np.number)
    return {name: value for name, value in parameters.items() if isinstance(value, kept)}


def __dir__() -> list[str]:
    return __all__
