"""`sparsekm.tl` writes into an AnnData what `SparseKMeans` finds; `sparsekm.pl` draws it."""

import re
import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from anndata import AnnData, concat, read_h5ad
from scipy import sparse

import sparsekm
from sparsekm import GapSearch, L0KMeans, SparseKMeans

mpl.use("Agg")

KEY = "sparse_kmeans"


def draw(kind=np.asarray):
    rng = np.random.default_rng(0)
    labels = np.arange(90) % 3
    X = np.where(rng.random((90, 30)) < 0.2, rng.exponential(1.0, (90, 30)), 0.0)
    for j in range(9):
        X[labels == j % 3, j] += 4
    adata = AnnData(kind(X.astype(np.float32)))
    adata.var_names = [f"gene{j}" for j in range(30)]
    return adata, labels


def cluster(adata, **parameters):
    return sparsekm.tl.sparse_kmeans(adata, 3, sparsity=9, random_state=0, **parameters)


@pytest.fixture(scope="module")
def clustered():
    adata, _ = draw(sparse.csr_matrix)
    cluster(adata)
    return adata


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
def test_what_is_written_is_what_sparse_kmeans_finds(kind):
    adata, labels = draw(kind)
    given = adata.X
    assert cluster(adata) is None
    expected = SparseKMeans(3, sparsity=9, random_state=0).fit(draw()[0].X)
    np.testing.assert_array_equal(adata.obs[KEY].cat.codes, expected.labels_)
    np.testing.assert_array_equal(expected.labels_, labels)
    assert adata.obs[KEY].cat.categories.tolist() == ["0", "1", "2"]
    np.testing.assert_array_equal(adata.var[f"{KEY}_weight"], expected.feature_weights_)
    # z-scores have the precision of X, and sparse ones are not centred.
    np.testing.assert_allclose(adata.var[f"{KEY}_score"], expected.feature_scores_, rtol=1e-5)
    assert np.flatnonzero(adata.var[f"{KEY}_selected"]).tolist() == list(range(9))
    assert adata.uns[KEY]["conclusion"] == expected.conclusion_
    assert adata.uns[KEY]["params"]["n_clusters"] == 3
    assert adata.X is given


def test_a_layer_a_key_and_a_copy_are_those_asked_for():
    adata, labels = draw(sparse.csr_matrix)
    adata.layers["scaled"] = adata.X.copy()
    adata.X = None
    found = cluster(adata, layer="scaled", key_added="mine", copy=True)
    assert (found.obs["mine"].cat.codes == labels).all()
    assert found.uns["mine"]["params"]["layer"] == "scaled"
    assert list(adata.obs) + list(adata.var) + list(adata.uns) == []
    with pytest.raises(ValueError, match=r"layer='other' should be one of \['scaled'\], or None"):
        cluster(adata, layer="other")
    with pytest.raises(ValueError, match="X is None: name the layer"):
        cluster(adata)


def test_as_many_clusters_as_stand_apart_are_categories():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(45, 130))
    X[:, :9] += 6 * np.eye(3)[np.arange(45) % 3][:, np.arange(9) % 3]
    adata = AnnData(X)
    sparsekm.tl.sparse_kmeans(adata, "auto", random_state=0)
    assert adata.obs[KEY].cat.categories.tolist() == ["0", "1", "2"]
    assert adata.uns[KEY]["params"]["n_clusters"] == "auto"


def test_groups_are_a_column_of_obs_or_its_name():
    adata, _ = draw()
    adata.obs_names = [f"cell{i}" for i in range(90)]
    donors = np.arange(90) // 10
    adata.obs["donor"] = pd.Categorical([f"d{donor}" for donor in donors])
    expected = SparseKMeans(3, sparsity=9, random_state=0).fit(adata.X, groups=donors)
    for groups, known in (("donor", "donor"), (adata.obs["donor"], None)):
        cluster(adata, groups=groups)
        found = adata.uns[KEY]["search_results"].reset_index(drop=True)
        pd.testing.assert_frame_equal(found, expected.search_results_)
        assert adata.uns[KEY]["params"].get("groups") == known


def test_groups_that_are_not_those_of_the_cells_are_refused():
    adata, _ = draw()
    adata.obs_names = [f"cell{i}" for i in range(90)]
    adata.obs["donor"] = pd.Series(["a", "b"] * 45, adata.obs_names).where(np.arange(90) != 7)
    for groups, message in (
        ("slide", r"groups='slide' should be a column of obs: \['donor'\]"),
        (adata.obs["donor"][::-1], "groups: the index should be adata.obs_names; give"),
        ("donor", r"groups should have no missing value, got 1 \(the first at position 7\)"),
    ):
        with pytest.raises(ValueError, match=message):
            cluster(adata, groups=groups)
    assert KEY not in adata.obs


def change(adata, kind):
    """Do to a clustered AnnData what programs do between two calls."""
    labels = adata.obs[KEY]
    if isinstance(kind, type):
        adata.X = adata.X.astype(kind)
    elif kind == "partly":
        adata.obs[KEY] = labels.astype(object).where(np.arange(90) >= 10)
    elif kind == "view":
        return adata[labels != "1"]
    else:
        adata.obs[KEY] = labels.astype(kind)
    return adata


@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        (np.float16, np.asarray),
        ("str", sparse.csc_matrix),
        ("int", np.asarray),
        ("partly", sparse.csc_matrix),
        ("view", np.asarray),
    ],
)
def test_a_heat_map_reads_whatever_values_and_labels_have_become(clustered, kind, stored):
    adata = clustered.copy()
    adata.X = stored(np.rint(8 * adata.X.toarray()) / 8)
    adata = change(adata, kind)
    ax = sparsekm.pl.heatmap(adata)
    names = [label.get_text() for label in ax.get_xticklabels()]
    X = adata[:, names].X
    X = (X.toarray() if sparse.issparse(X) else X).astype(float)
    known = adata.obs[KEY].notna().to_numpy()
    drawn = ax.images[0].get_array()
    clusters = [label.get_text() for label in ax.get_yticklabels()]
    assert clusters == (["0", "2"] if kind == "view" else ["0", "1", "2"])
    assert (np.diff(drawn.argmax(axis=0)) >= 0).all()
    for row, cluster_name in zip(drawn, clusters, strict=True):
        own = adata.obs[KEY].astype(str).to_numpy() == cluster_name
        expected = (X[own].mean(0) - X[known].mean(0)) / X[known].std(0)
        np.testing.assert_allclose(row, expected, rtol=1e-4, atol=1e-6)


def test_genes_that_were_not_clustered_are_drawn_last_and_not_as_kept(clustered):
    more = AnnData(np.zeros((5, 1), np.float32))
    more.var_names = ["unknown"]
    more.obs_names = [f"other{i}" for i in range(5)]
    joined = concat([clustered, more], join="outer", merge="first", uns_merge="first", fill_value=0)
    kept, dropped = sparsekm.pl.scores(joined).lines
    assert (kept.get_label(), dropped.get_label()) == ("kept (9)", "dropped (22)")
    assert len(sparsekm.pl.heatmap(joined).get_xticklabels()) == 9


def test_a_layer_of_dask_is_computed():
    array = pytest.importorskip("dask.array")
    adata, labels = draw()
    adata.layers["lazy"] = array.from_array(adata.X, chunks=(40, 30)).map_blocks(sparse.csr_matrix)
    cluster(adata, layer="lazy")
    assert (adata.obs[KEY].cat.codes == labels).all()
    sparsekm.pl.heatmap(adata)


@pytest.mark.parametrize(
    ("data", "advice"),
    [
        (np.eye(3), "numpy.ndarray: give anndata.AnnData(adata), or cluster it with sparsekm."),
        ("cells.h5ad", "str: give anndata.read_h5ad(adata)"),
        (pd.DataFrame(np.eye(3)), "pandas.DataFrame: give anndata.AnnData(adata)"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_anndata_is_named_with_what_to_give_instead(data, advice):
    for function in (cluster, sparsekm.pl.scores, sparsekm.pl.heatmap):
        with pytest.raises(TypeError, match=re.escape(f"adata is of type {advice}")):
            function(data)
    with pytest.raises(TypeError, match="search is of type .*: give a fitted GapSearch"):
        sparsekm.pl.gap_curve(data)


def test_values_in_place_of_a_name_are_refused_by_their_type(clustered):
    for refused, name in (
        (lambda: cluster(clustered, layer=clustered.X), "layer is of type scipy.csr_matrix"),
        (lambda: sparsekm.pl.heatmap(clustered, layer=np.eye(3)), "layer is of type numpy.ndarray"),
        (lambda: sparsekm.pl.scores(clustered, clustered.obs[KEY]), "key is of type pandas.Series"),
    ):
        with pytest.raises(TypeError, match=f"{name}: give its name"):
            refused()


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_a_backed_anndata_stays_backed_and_its_results_can_be_written(tmp_path, kind):
    adata, labels = draw(kind)
    adata.write_h5ad(tmp_path / "cells.h5ad")
    backed = read_h5ad(tmp_path / "cells.h5ad", backed="r+")
    cluster(backed)
    assert backed.isbacked
    assert (backed.obs[KEY].cat.codes == labels).all()
    sparsekm.pl.heatmap(backed)
    backed.write()
    backed.file.close()
    again = read_h5ad(tmp_path / "cells.h5ad")
    assert again.uns[KEY]["conclusion"] == backed.uns[KEY]["conclusion"]
    found = again.uns[KEY]["search_results"]
    pd.testing.assert_frame_equal(found, backed.uns[KEY]["search_results"], check_names=False)
    assert sparse.issparse(again.X) == (kind is sparse.csr_matrix)


def test_a_backed_file_that_is_closed_is_one_clear_error(tmp_path):
    draw()[0].write_h5ad(tmp_path / "cells.h5ad")
    backed = read_h5ad(tmp_path / "cells.h5ad", backed="r")
    for refused, parameters in ((backed[:50], {}), (backed, {"copy": True})):
        with pytest.raises(ValueError, match=r"give adata.to_memory\(\) instead"):
            cluster(refused, **parameters)
    cluster(backed)
    backed.file.close()
    for function in (cluster, sparsekm.pl.heatmap):
        with pytest.raises(ValueError, match=r"cells.h5ad, which is closed: adata.file.open\(\)"):
            function(backed)
    assert not backed.file.is_open


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("indices", 10**6, "X.indices holds 1000000; should be >= 0 and < n_"),
        ("data", np.nan, "contains NaN"),
    ],
)
def test_damaged_sparse_values_are_one_clear_error(clustered, part, value, message):
    adata, _ = draw(sparse.csc_matrix)
    getattr(adata.X, part)[17] = value
    with pytest.raises(ValueError, match=message):
        cluster(adata)
    assert KEY not in adata.obs
    if part == "indices":
        later = clustered.copy()
        later.X.indices[17] = value
        with pytest.raises(ValueError, match=message):
            sparsekm.pl.heatmap(later)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_raw_counts_are_clustered_with_a_warning(kind):
    adata, _ = draw()
    adata.layers["counts"] = kind(np.rint(10 * adata.X))
    with pytest.warns(UserWarning, match=r"layer 'counts': all values are whole .*normalize_total"):
        cluster(adata, layer="counts")
    assert KEY in adata.obs


def test_repeated_gene_names_are_drawn_as_they_are(clustered):
    adata = clustered.copy()
    adata.var_names = ["one", "one", *adata.var_names[2:]]
    for ax in (sparsekm.pl.scores(adata), sparsekm.pl.heatmap(adata)):
        labels = [*ax.get_xticklabels(), *ax.get_yticklabels()]
        assert [label.get_text() for label in labels].count("one") == 2


def test_scores_are_drawn_largest_first_kept_genes_apart(clustered):
    ax = sparsekm.pl.scores(clustered, n_features=12)
    kept, dropped = ax.lines
    assert (kept.get_label(), dropped.get_label()) == ("kept (9)", "dropped (21)")
    assert len(kept.get_xdata()) == 9
    drawn = np.concatenate([kept.get_xdata(), dropped.get_xdata()])
    assert (np.diff(drawn) <= 0).all()
    assert {label.get_text() for label in ax.get_yticklabels()} >= {f"gene{j}" for j in range(9)}


def test_long_names_of_genes_are_cut_and_odd_ones_are_text(clustered):
    named = clustered.copy()
    named.var_names = ["gene" * 2500, "$\\frac$", "a\nb", *named.var_names[3:]]
    for ax in (sparsekm.pl.heatmap(named), sparsekm.pl.scores(named)):
        labels = [*ax.get_xticklabels(), *ax.get_yticklabels()]
        shown = {label.get_text() for label in labels}
        assert {"genegenegenegenege ... egenegenegenegene", "$\\frac$", "a\\nb"} <= shown
        ax.figure.draw_without_rendering()


def test_the_gap_curve_marks_the_choice():
    X = draw()[0].X
    search = GapSearch(L0KMeans(3, n_init=1), sparsities=[3, 9, 30], n_references=2, random_state=0)
    ax = sparsekm.pl.gap_curve(search.fit(X))
    assert ax.lines[0].get_xdata().tolist() == [3, 9, 30]
    assert ax.lines[1].get_xdata().tolist() == [9]


def test_figures_of_an_anndata_that_was_not_clustered_are_refused():
    for figure in (sparsekm.pl.scores, sparsekm.pl.heatmap):
        with pytest.raises(ValueError, match="key='mine' should be the key_added of a call"):
            figure(draw()[0], "mine")


def test_importing_the_package_imports_neither_anndata_nor_matplotlib():
    code = (
        "import sys, sparsekm; sys.exit(any(m in sys.modules for m in ('anndata', 'matplotlib')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
