"""`sparsekm.tl` writes into an AnnData what `SparseKMeans` finds; `sparsekm.pl` draws it."""

import re
import subprocess
import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from anndata import AnnData, concat, read_h5ad
from scipy import sparse

import sparsekm
from sparsekm import GapSearch, L0KMeans, SparseKMeans

mpl.use("Agg")

KEY = "sparse_kmeans"


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


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
    return sparsekm.tl.sparse_kmeans(adata, 3, sparsity=9, **parameters)


@pytest.fixture(scope="module")
def clustered():
    adata, _ = draw(sparse.csr_matrix)
    cluster(adata)
    return adata


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_what_is_written_is_what_sparse_kmeans_finds(kind):
    adata, labels = draw(kind)
    given = adata.X
    assert cluster(adata) is None
    expected = SparseKMeans(3, sparsity=9, random_state=0).fit(given)
    np.testing.assert_array_equal(adata.obs[KEY].cat.codes, expected.labels_)
    np.testing.assert_array_equal(expected.labels_, labels)
    assert adata.obs[KEY].cat.categories.tolist() == ["0", "1", "2"]
    np.testing.assert_array_equal(adata.var[f"{KEY}_weight"], expected.feature_weights_)
    np.testing.assert_allclose(adata.var[f"{KEY}_score"], expected.feature_scores_)
    assert np.flatnonzero(adata.var[f"{KEY}_selected"]).tolist() == list(range(9))
    for table, name, attribute in (
        (adata.obs, "reproducibility", "sample_reproducibility_"),
        (adata.var, "selection_frequency", "selection_frequency_"),
    ):
        np.testing.assert_allclose(table[f"{KEY}_{name}"], getattr(expected, attribute))
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


def test_a_mask_clusters_its_genes_and_no_others():
    adata, _ = draw(sparse.csc_matrix)
    mask = np.arange(30) % 3 != 1
    expected = SparseKMeans(3, sparsity=5, random_state=0).fit(adata.X[:, mask])
    adata.var["clustered"] = mask
    for given, known in (("clustered", "clustered"), (mask, None), (adata.var["clustered"], None)):
        sparsekm.tl.sparse_kmeans(adata, 3, sparsity=5, mask_var=given)
        np.testing.assert_array_equal(adata.obs[KEY].cat.codes, expected.labels_)
        for name, values in (
            ("weight", expected.feature_weights_),
            ("score", expected.feature_scores_),
            ("selection_frequency", expected.selection_frequency_),
            ("selected", expected.get_support()),
        ):
            column = adata.var[f"{KEY}_{name}"].to_numpy()
            np.testing.assert_allclose(column[mask], values)
            assert not column[~mask].any()
        assert adata.uns[KEY]["params"].get("mask_var") == known


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        ("other", r"mask_var='other' should be a column of var: \['name'\]"),
        ("name", "mask_var should be 30 booleans, .* got object of shape"),
        (np.ones(29, bool), r"mask_var should be 30 booleans, .* got bool of shape \(29,\)"),
        (np.zeros(30, bool), "mask_var should mark at least one gene, marks none"),
        (pd.Series(np.ones(30, bool)), "mask_var: the index should be adata.var_names"),
    ],
)
def test_a_mask_that_is_none_of_the_genes_is_refused(mask, message):
    adata, _ = draw()
    adata.var["name"] = adata.var_names.astype(object)
    with pytest.raises(ValueError, match=message):
        cluster(adata, mask_var=mask)
    assert KEY not in adata.obs


def test_a_representation_is_refused_by_name():
    with pytest.raises(TypeError, match="use_rep='X_pca' should be left out: .* layer, genes with"):
        cluster(draw()[0], use_rep="X_pca")


def test_without_a_number_clusters_are_counted_and_the_verdict_survives_a_file(tmp_path):
    adata = draw()[0][:42].copy()
    sparsekm.tl.sparse_kmeans(adata)
    expected = SparseKMeans("auto", random_state=0).fit(adata.X)
    assert expected.n_clusters_ == 3
    np.testing.assert_array_equal(adata.obs[KEY].cat.codes, expected.labels_)
    names = [str(label) for label in range(expected.n_clusters_)]
    assert adata.obs[KEY].cat.categories.tolist() == names
    adata.write_h5ad(tmp_path / "cells.h5ad")
    found = read_h5ad(tmp_path / "cells.h5ad").uns[KEY]
    for name in ("conclusion", "has_clusters", "n_clusters", "sparsity", "screening", "objective"):
        assert found[name] == getattr(expected, f"{name}_"), name
    assert found["signature"].tolist() == [f"gene{j}" for j in expected.signature_]
    assert found["signature_agreement"] == expected.signature_agreement_
    assert found["version"] == sparsekm.__version__
    assert found["params"]["n_clusters"] == "auto"
    for name in ("search_results", "separation", "cluster_counts"):
        written = found[name].reset_index(drop=True)
        own = getattr(expected, f"{name}_")
        pd.testing.assert_frame_equal(written, own, check_dtype=False, check_categorical=False)


def test_data_without_a_signature_can_be_written(tmp_path):
    adata = AnnData(np.random.default_rng(0).normal(size=(60, 200)).astype(np.float32))
    sparsekm.tl.sparse_kmeans(adata, 3)
    adata.write_h5ad(tmp_path / "cells.h5ad")
    assert len(read_h5ad(tmp_path / "cells.h5ad").uns[KEY]["signature"]) == 0
    # z-scores are no logarithms of 1 + x.
    assert np.isnan(adata.uns[f"{KEY}_markers"]["logfoldchanges"]["0"]).any()


@pytest.mark.filterwarnings("ignore")
def test_scanpy_reads_the_markers(tmp_path):
    scanpy = pytest.importorskip("scanpy")
    adata, _ = draw(sparse.csr_matrix)
    mask = np.arange(30) != 20
    cluster(adata, mask_var=mask)
    adata.write_h5ad(tmp_path / "cells.h5ad")
    adata = read_h5ad(tmp_path / "cells.h5ad")
    found = scanpy.get.rank_genes_groups_df(adata, None, key=f"{KEY}_markers")
    kept = adata.var[f"{KEY}_selected"]
    for group, rows in found.groupby("group", observed=True):
        own = (adata.obs[KEY] == group).to_numpy()
        X = adata.X.toarray()
        differences = (X[own].mean(0) - X[~own].mean(0)) / X.std(0)
        expected = pd.Series(differences, adata.var_names)[rows["names"]]
        np.testing.assert_allclose(
            rows["scores"],
            expected.where(mask[expected.index.map(adata.var_names.get_loc)]),
            rtol=1e-4,
        )
        # Kept genes that are high come first, those that are low last.
        assert kept[rows["names"]][:3].all()
        assert kept[rows["names"]][-6:].all()
    assert found[["pvals", "pvals_adj"]].isna().all(axis=None)
    scanpy.tl.rank_genes_groups(adata, KEY, method="t-test")
    theirs = scanpy.get.rank_genes_groups_df(adata, None)
    both = found.merge(theirs, on=["group", "names"])
    known = both["logfoldchanges_x"].notna()
    assert known.sum() == 3 * 29
    np.testing.assert_allclose(
        both["logfoldchanges_x"][known], both["logfoldchanges_y"][known], rtol=1e-3, atol=1e-4
    )
    shown = scanpy.pl.rank_genes_groups_dotplot(
        adata,
        key=f"{KEY}_markers",
        n_genes=3,
        values_to_plot="logfoldchanges",
        show=False,
        dendrogram=False,
    )
    names = [label.get_text() for label in shown["mainplot_ax"].get_xticklabels()]
    assert set(names) == {f"gene{j}" for j in range(9)}
    scanpy.pl.dotplot(adata, names, groupby=KEY, show=False)


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
    ax = sparsekm.pl.heatmap(adata, show=False)
    names = [label.get_text() for label in ax.get_yticklabels()]
    X = adata[:, names].X
    X = (X.toarray() if sparse.issparse(X) else X).astype(float)
    labels = adata.obs[KEY]
    known = labels.notna().to_numpy()
    drawn = ax.images[0].get_array()
    shown = [label.get_text() for label in ax.child_axes[-1].get_xticklabels()]
    assert shown == (["0", "2"] if kind == "view" else ["0", "1", "2"])
    assert drawn.shape == (9, known.sum())
    expected = (X[known] - X[known].mean(0)) / X[known].std(0)
    start = 0
    for cluster_name in shown:
        own = expected[labels[known].astype(str).to_numpy() == cluster_name]
        found = drawn[:, start : start + len(own)].T
        start += len(own)
        for gene in range(9):
            np.testing.assert_allclose(np.sort(found[:, gene]), np.sort(own[:, gene]), atol=1e-5)


def test_a_heat_map_has_bars_of_columns_clusters_and_reproducibility(clustered):
    adata = clustered.copy()
    adata.obs["donor"] = [f"d{cell // 30}" for cell in range(90)]
    adata.obs["age"] = np.linspace(20.0, 60.0, 90)
    adata.obs.loc[adata.obs_names[:5], "donor"] = None
    ax = sparsekm.pl.heatmap(adata, groupby=["donor", "age"], show=False)
    bars = [bar.get_yticklabels()[0].get_text() for bar in ax.child_axes]
    assert bars == ["reproducibility", KEY, "age", "donor"]
    assert ax.images[0].get_array().shape == (9, 85)
    assert [label.get_text() for label in ax.child_axes[-1].get_xticklabels()] == ["d0", "d1", "d2"]
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert {"age: 22.2", "age: 60", f"{KEY}: 0", "reproducibility: 1"} <= set(legend)
    with pytest.raises(ValueError, match="groupby='other' should be a column of adata.obs"):
        sparsekm.pl.heatmap(adata, groupby="other")


def test_a_heat_map_names_few_samples_and_averages_many():
    rng = np.random.default_rng(0)
    labels = np.arange(100_000) % 3
    X = sparse.csr_matrix((rng.random((100_000, 3)) < 0.1 + 0.8 * np.eye(3)[labels]) * 1.0)
    adata = AnnData(X.astype(np.float32))
    adata.obs[KEY] = pd.Categorical(labels.astype(str))
    adata.obs[f"{KEY}_reproducibility"] = np.where(np.arange(100_000) < 2000, 1.0, np.nan)
    for name in ("score", "weight"):
        adata.var[f"{KEY}_{name}"] = 1.0
    adata.uns[KEY] = {"params": {}}
    ax = sparsekm.pl.heatmap(adata, show=False)
    assert ax.images[0].get_array().shape == (3, 600)
    assert ax.get_xlabel() == "100,000 samples, means in 600 columns"
    ax = sparsekm.pl.heatmap(adata[:60], show=False)
    shown = {label.get_text() for label in ax.get_xticklabels()}
    assert shown == {f"{cell}" for cell in range(60)}
    adata.obs["cell"] = adata.obs_names
    with pytest.raises(ValueError, match="groupby='cell' should have at most 100 values, has 1000"):
        sparsekm.pl.heatmap(adata[:1000], groupby="cell")


def test_genes_that_were_not_clustered_are_drawn_last_and_not_as_kept(clustered):
    more = AnnData(np.zeros((5, 1), np.float32))
    more.var_names = ["unknown"]
    more.obs_names = [f"other{i}" for i in range(5)]
    joined = concat([clustered, more], join="outer", merge="first", uns_merge="first", fill_value=0)
    kept, dropped = sparsekm.pl.scores(joined, show=False).lines
    assert (kept.get_label(), dropped.get_label()) == ("kept (9)", "dropped (22)")
    assert len(sparsekm.pl.heatmap(joined, show=False).get_yticklabels()) == 9


def test_a_layer_of_dask_is_computed():
    array = pytest.importorskip("dask.array")
    adata, labels = draw()
    adata.layers["lazy"] = array.from_array(adata.X, chunks=(40, 30)).map_blocks(sparse.csr_matrix)
    cluster(adata, layer="lazy")
    assert (adata.obs[KEY].cat.codes == labels).all()
    sparsekm.pl.heatmap(adata, show=False)


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
    sparsekm.pl.heatmap(backed, show=False)
    backed.write()
    backed.file.close()
    again = read_h5ad(tmp_path / "cells.h5ad")
    assert again.uns[KEY]["conclusion"] == backed.uns[KEY]["conclusion"]
    for name in ("search_results", "separation"):
        written = again.uns[KEY][name].reset_index(drop=True)
        pd.testing.assert_frame_equal(
            written, backed.uns[KEY][name].reset_index(drop=True), check_dtype=False
        )
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
    for figure in (sparsekm.pl.scores, sparsekm.pl.heatmap):
        ax = figure(adata, show=False)
        labels = [*ax.get_xticklabels(), *ax.get_yticklabels()]
        assert [label.get_text() for label in labels].count("one") == 2


def test_scores_are_drawn_largest_first_kept_genes_apart(clustered):
    ax = sparsekm.pl.scores(clustered, n_features=12, show=False)
    kept, dropped = ax.lines
    assert (kept.get_label(), dropped.get_label()) == ("kept (9)", "dropped (21)")
    assert len(kept.get_xdata()) == 9
    drawn = np.concatenate([kept.get_xdata(), dropped.get_xdata()])
    assert (np.diff(drawn) <= 0).all()
    assert {label.get_text() for label in ax.get_yticklabels()} >= {f"gene{j}" for j in range(9)}


def test_long_names_of_genes_are_cut_and_odd_ones_are_text(clustered):
    named = clustered.copy()
    named.var_names = ["gene" * 2500, "$\\frac$", "a\nb", *named.var_names[3:]]
    for figure, cut in (
        (sparsekm.pl.heatmap, "genegen ... negene"),
        (sparsekm.pl.scores, "genegenegenegenege ... egenegenegenegene"),
    ):
        ax = figure(named, show=False)
        labels = [*ax.get_xticklabels(), *ax.get_yticklabels()]
        shown = {label.get_text() for label in labels}
        assert {cut, "$\\frac$", "a\\nb"} <= shown
        ax.figure.draw_without_rendering()


def test_the_gap_curve_marks_the_choice():
    X = draw()[0].X
    search = GapSearch(L0KMeans(3, n_init=1), sparsities=[3, 9, 30], n_references=2, random_state=0)
    ax = sparsekm.pl.gap_curve(search.fit(X), show=False)
    assert ax.lines[0].get_xdata().tolist() == [3, 9, 30]
    assert ax.lines[1].get_xdata().tolist() == [9]


def test_figures_of_an_anndata_that_was_not_clustered_are_refused():
    for figure in (sparsekm.pl.scores, sparsekm.pl.heatmap):
        with pytest.raises(ValueError, match="key='mine' should be the key_added of a call"):
            figure(draw()[0], "mine")


@pytest.mark.parametrize("figure", [sparsekm.pl.scores, sparsekm.pl.heatmap])
def test_a_figure_is_shown_saved_or_returned_as_asked(clustered, figure, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = []
    monkeypatch.setattr(plt, "show", lambda: shown.append(plt.gcf()))
    assert figure(clustered) is None
    assert len(shown) == 1
    ax = plt.figure().subplots()
    assert figure(clustered, ax=ax, show=False) is ax
    assert figure(clustered, ax=plt.figure().subplots(), return_fig=True) is plt.gcf()
    name = f"sparse_kmeans_{figure.__name__}"
    for save, file in (
        (True, f"figures/{name}.pdf"),
        ("_one.png", f"figures/{name}_one.png"),
        ("_two", f"figures/{name}_two.pdf"),
        (tmp_path / "three.svg", "three.svg"),
        (str(tmp_path / "four.png"), "four.png"),
    ):
        figure(clustered, save=save, show=False)
        assert (tmp_path / file).stat().st_size > 1000
    assert len(shown) == 1


def test_the_modules_show_their_public_names_only():
    assert dir(sparsekm.tl) == ["predict_clusters", "sparse_kmeans"]
    assert dir(sparsekm.pl) == ["gap_curve", "heatmap", "scores"]


def test_importing_the_package_imports_neither_anndata_nor_matplotlib():
    code = (
        "import sys, sparsekm; sys.exit(any(m in sys.modules for m in ('anndata', 'matplotlib')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
