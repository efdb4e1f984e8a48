"""Sparse k-means of an AnnData, with what was found written into it."""

from __future__ import annotations

import warnings
from collections.abc import Container
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse

from sparsekm.cluster.matrices.containers import as_readable, type_name, type_names, wrong_type
from sparsekm.cluster.path_estimator import read_data
from sparsekm.io.row_stream import CELLS_AT_ONCE
from sparsekm.pipeline.raw_counts import describe_counts
from sparsekm.tuning.sparse_kmeans import SparseKMeans

if TYPE_CHECKING:
    from anndata import AnnData

# What to give in place of such an adata, {}.
INSTEAD = {
    "anndata.Raw": "{}.to_adata()",
    "builtins.str": "anndata.read_h5ad({})",
    "mudata.MuData": "{}.mod[name]",
    "pathlib.PurePath": "anndata.read_h5ad({})",
}


def sparse_kmeans(
    adata: AnnData,
    n_clusters: int,
    *,
    layer: str | None = None,
    groups: str | ArrayLike | None = None,
    key_added: str = "sparse_kmeans",
    copy: bool = False,
    **parameters: Any,
) -> AnnData | None:
    """Cluster the cells of an AnnData, and keep the few genes that make the clusters.

    `SparseKMeans` is fitted to the values as they are: normalise and scale first where genes
    differ in depth or unit. What looks like raw counts is clustered with a warning. Sparse values
    stay sparse, and a backed AnnData stays backed; of its file only the values that are clustered
    are read into memory.

    Parameters
    ----------
    adata : AnnData
        Cells (observations) × genes (variables).
    n_clusters : int
        Number of clusters K.
    layer : str, optional
        The layer to cluster; None is X.
    groups : str or array-like of shape (n_obs,), optional
        A column of ``obs``, such as the donor, or what it would hold: resamplings take or leave
        its groups as a whole.
    key_added : str, default="sparse_kmeans"
        What the names of everything that is written begin with.
    copy : bool, default=False
        Whether to return a copy with the results, and leave `adata` as it is.
    **parameters
        Of `SparseKMeans`: penalty, sparsity, min_cluster_size, random_state, n_jobs, verbose.

    Returns
    -------
    AnnData or None
        None, unless `copy`. These are written:

        ``obs[key_added]``
            The cluster of every cell, categorical: "0", "1", ...
        ``var[key_added + "_weight"]``, ``var[key_added + "_score"]``
            The weight of every gene, 0 where it is dropped, and its between-cluster sum of squares.
        ``var[key_added + "_selected"]``
            Whether a gene is kept.
        ``uns[key_added]``
            ``params``; ``conclusion``, a sentence on what decided; ``search_results``, a row per
            number of genes that was tried.

    Raises
    ------
    TypeError
        If `adata` is no AnnData.
    ValueError
        If there is no such layer or column, if groups have another index than `adata`, if `adata`
        is backed by a file that is closed, or is a view of a backed AnnData; as `SparseKMeans.fit`.

    See Also
    --------
    sparsekm.pl : Figures of what was found.

    Examples
    --------
    >>> import numpy as np
    >>> from anndata import AnnData
    >>> import sparsekm
    >>> X = np.random.default_rng(13).normal(size=(60, 100))
    >>> X[:20, :10] += 3
    >>> X[20:40, :10] -= 3
    >>> adata = AnnData(X)
    >>> sparsekm.tl.sparse_kmeans(adata, 3, random_state=0)
    >>> int(adata.var["sparse_kmeans_selected"].sum())
    10
    """
    check_anndata(adata)
    _check_backing(adata, copy)
    if not isinstance(key_added, str):
        raise TypeError(f"key_added={key_added!r} should be a string.")
    estimator = SparseKMeans(n_clusters, **parameters)
    # Before values are read, which of a backed AnnData can take long.
    estimator.check_parameters()
    of_cells = _read_groups(adata, groups)
    values = read_values(adata, layer)
    _warn_of_counts(values, "X" if layer is None else f"layer {layer!r}")
    estimator.fit(values, groups=of_cells)
    adata = adata.copy() if copy else adata
    labels = [str(label) for label in range(estimator.n_clusters_)]
    adata.obs[key_added] = pd.Categorical.from_codes(estimator.labels_, labels)
    adata.var[f"{key_added}_weight"] = estimator.feature_weights_
    adata.var[f"{key_added}_score"] = estimator.feature_scores_
    adata.var[f"{key_added}_selected"] = estimator.get_support()
    adata.uns[key_added] = {
        "params": _storable(estimator.get_params() | {"layer": layer, "groups": groups}),
        "conclusion": estimator.conclusion_,
        "search_results": estimator.search_results_.set_axis(
            [str(row) for row in range(len(estimator.search_results_))]
        ),
    }
    return adata if copy else None


def check_anndata(adata: Any) -> None:
    """Refuse, by its type, what is no AnnData."""
    if "anndata.AnnData" not in type_names(adata):
        otherwise = "anndata.AnnData({}), or cluster it with sparsekm.SparseKMeans"
        raise wrong_type("adata", adata, INSTEAD, otherwise)


def read_values(
    adata: AnnData, layer: str | None = None, genes: np.ndarray | None = None
) -> np.ndarray | csr_array:
    """Return X or a layer in memory, as `SparseKMeans` takes it: floats, dense or CSR.

    Parameters
    ----------
    adata : AnnData
    layer : str, optional
        None is X.
    genes : ndarray of int, optional
        The only genes to return, ascending.

    Returns
    -------
    ndarray or csr_array of shape (n_obs, n_genes)

    Raises
    ------
    ValueError
        If there is no such layer; if `adata` is backed by a file that is closed; if indices of
        sparse values lie outside their shape; if a value is NaN or infinite.
    """
    if adata.isbacked and not adata.file.is_open:
        raise ValueError(
            f"adata is backed by {adata.filename}, which is closed: adata.file.open() opens it."
        )
    if layer is not None:
        check_name("layer", layer, adata.layers, f"one of {list(adata.layers)}, or None for X")
    values = adata.X if layer is None else adata.layers[layer]
    if values is None:
        raise ValueError("adata.X is None: name the layer to cluster.")
    if hasattr(values, "to_memory"):
        values = values.to_memory()
    values = as_readable(values, "adata.X" if layer is None else f"adata.layers[{layer!r}]")
    return read_data(SparseKMeans(), values if genes is None else values[:, genes])


def check_name(argument: str, value: object, known: Container[str], rule: str) -> None:
    """Refuse what is no text, or none of the names that are known."""
    if not isinstance(value, str):
        raise TypeError(f"{argument} is of type {type_name(value)}: give its name, {rule}.")
    if value not in known:
        raise ValueError(f"{argument}={value!r} should be {rule}.")


def _read_groups(adata: AnnData, groups: Any) -> Any:
    """Return the groups of the cells: a column of obs, or as they are given."""
    if isinstance(groups, str):
        check_name("groups", groups, adata.obs, f"a column of obs: {list(adata.obs)}")
        return adata.obs[groups]
    if isinstance(groups, pd.Series) and not groups.index.equals(adata.obs_names):
        raise ValueError(
            "groups: the index should be adata.obs_names; give groups.to_numpy() if they are in "
            "the order of adata, or groups.reindex(adata.obs_names)."
        )
    return groups


def _warn_of_counts(values: Any, name: str) -> None:
    """Warn if what is to be clustered looks like raw counts."""
    # In the order of memory, without a copy.
    stored = values.data if issparse(values) else np.ravel(values, order="K")
    height = CELLS_AT_ONCE
    parts = (stored[at : at + height] for at in range(0, len(stored), height))
    remark = describe_counts(parts, is_sparse=issparse(values))
    if remark:
        warnings.warn(
            f"{name}: {remark} Normalise first, for example with scanpy.pp.normalize_total "
            "and scanpy.pp.log1p, or name a normalised layer.",
            UserWarning,
            stacklevel=3,
        )


def _check_backing(adata: AnnData, copy: bool) -> None:
    """Refuse a backed AnnData to which nothing can be written."""
    if adata.isbacked and (copy or adata.is_view):
        kind = "a view of a backed AnnData" if adata.is_view else "backed, and copy=True"
        raise ValueError(f"adata is {kind}: give adata.to_memory() instead.")


def _storable(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that an .h5ad file can hold: None and generators are left out."""
    kept = (bool, int, float, str, np.number)
    return {name: value for name, value in parameters.items() if isinstance(value, kept)}
