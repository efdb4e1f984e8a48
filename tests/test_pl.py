"""`sparsekm.pl` draws what `sparsekm.tl` has written into an AnnData."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from anndata import AnnData, concat
from clustered_cells import KEY, cluster, draw
from matplotlib.colors import to_hex
from scipy import sparse

import sparsekm
from sparsekm import GapSearch, L0KMeans
from sparsekm.pl import heatmap, scores

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def clustered():
    adata, _ = draw(sparse.csr_matrix)
    cluster(adata)
    return adata


def change(adata, kind):
    """Do to a clustered AnnData what programs do between two calls."""
    labels = adata.obs[KEY]
    if kind == "view":
        return adata[labels != "1"]
    if kind == "whole numbers":
        adata.obs[KEY] = labels.astype(int)
        adata.X = adata.X.astype(np.float16)
    else:
        adata.obs[KEY] = labels.astype(object).where(np.arange(90) >= 10)
    return adata


@pytest.mark.parametrize(
    ("kind", "stored"),
    [("whole numbers", np.asarray), ("partly", sparse.csc_matrix), ("view", np.asarray)],
)
def test_a_heat_map_reads_whatever_values_and_labels_have_become(clustered, kind, stored):
    adata = clustered.copy()
    adata.X = stored(np.rint(8 * adata.X.toarray()) / 8)
    adata = change(adata, kind)
    ax = heatmap(adata, show=False)
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
    ax = heatmap(adata, groupby=["donor", "age"], show=False)
    bars = [bar.get_yticklabels()[0].get_text() for bar in ax.child_axes]
    assert bars == ["reproducibility", KEY, "age", "donor"]
    assert ax.images[0].get_array().shape == (9, 85)
    assert [label.get_text() for label in ax.child_axes[-1].get_xticklabels()] == ["d0", "d1", "d2"]
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert {"age: 22.2", "age: 60", f"{KEY}: 0", "reproducibility: 1"} <= set(legend)
    with pytest.raises(ValueError, match="groupby='other' should be a column of adata.obs"):
        heatmap(adata, groupby="other")


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
    ax = heatmap(adata, show=False)
    assert ax.images[0].get_array().shape == (3, 600)
    assert ax.get_xlabel() == "100,000 cells, means in 600 columns"
    ax = heatmap(adata[:60], show=False)
    assert {label.get_text() for label in ax.get_xticklabels()} == {f"{cell}" for cell in range(60)}
    adata.obs["cell"] = adata.obs_names
    with pytest.raises(ValueError, match="groupby='cell' should have at most 100 values, has 1000"):
        heatmap(adata[:1000], groupby="cell")


def test_genes_that_were_not_clustered_are_drawn_last_and_not_as_kept(clustered):
    more = AnnData(np.zeros((5, 1), np.float32))
    more.var_names = ["unknown"]
    more.obs_names = [f"other{i}" for i in range(5)]
    joined = concat([clustered, more], join="outer", merge="first", uns_merge="first", fill_value=0)
    kept, dropped = scores(joined, show=False).lines
    assert (kept.get_label(), dropped.get_label()) == ("kept (9)", "dropped (22)")
    assert len(heatmap(joined, show=False).get_yticklabels()) == 9


def test_scores_are_drawn_largest_first_kept_genes_apart(clustered):
    ax = scores(clustered, n_features=12, show=False)
    kept, dropped = ax.lines
    assert (kept.get_label(), dropped.get_label()) == ("kept (9)", "dropped (21)")
    assert len(kept.get_xdata()) == 9
    assert (np.diff(np.concatenate([kept.get_xdata(), dropped.get_xdata()])) <= 0).all()
    assert {label.get_text() for label in ax.get_yticklabels()} >= {f"gene{j}" for j in range(9)}


def test_long_names_of_genes_are_cut_and_odd_and_repeated_ones_are_text(clustered):
    named = clustered.copy()
    named.var_names = ["gene" * 2500, "$\\frac$", "a\nb", "one", "one", *named.var_names[5:]]
    for figure, cut in (
        (heatmap, "genegenegenege ..."),
        (scores, "genegenegenegenegenegenegenegenegene ..."),
    ):
        ax = figure(named, show=False)
        shown = [label.get_text() for label in [*ax.get_xticklabels(), *ax.get_yticklabels()]]
        assert {cut, "$\\frac$", "a\\nb"} <= set(shown)
        assert shown.count("one") == 2
        ax.figure.draw_without_rendering()


def test_a_heat_map_uses_the_colours_that_scanpy_stored_and_no_palette_twice(clustered):
    adata = clustered.copy()
    donors = pd.Categorical([f"d{cell // 30}" for cell in range(90)])
    adata.obs["donor"], adata.uns["donor_colors"] = donors, ["#111111", "#222222", "#333333"]
    adata.obs["site"] = pd.Categorical(["x", "y", "z"] * 30)
    ax = heatmap(adata, groupby=["donor", "site"], show=False)
    drawn = {
        bar.get_yticklabels()[0].get_text(): {
            to_hex(pixel) for pixel in np.asarray(bar.images[0].get_array())[0]
        }
        for bar in ax.child_axes
    }
    assert drawn["donor"] == {"#111111", "#222222", "#333333"}
    assert len(drawn["site"] | drawn[KEY]) == 6


def test_the_gap_curve_marks_the_choice():
    X = draw()[0].X
    search = GapSearch(L0KMeans(3, n_init=1), sparsities=[3, 9, 30], n_references=2, random_state=0)
    ax = sparsekm.pl.gap_curve(search.fit(X), show=False)
    assert ax.lines[0].get_xdata().tolist() == [3, 9, 30]
    assert ax.lines[1].get_xdata().tolist() == [9]


@pytest.mark.parametrize("figure", [scores, heatmap])
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


def damaged(adata):
    adata.X.indices[17] = 10**6
    return adata


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda adata: cluster(adata, layer=adata.X), TypeError, "layer is of type scipy.csr_mat"),
        (lambda adata: heatmap(adata, layer=np.eye(3)), TypeError, "layer is of type numpy.ndarr"),
        (lambda adata: scores(adata, adata.obs[KEY]), TypeError, "key is of type pandas.Series"),
        (lambda adata: scores(adata, "mine"), ValueError, "key='mine' should be the key_added of"),
        (lambda adata: heatmap(adata, "mine"), ValueError, "key='mine' should be the key_added of"),
        (lambda adata: cluster(damaged(adata)), ValueError, "X.indices holds 1000000; should be"),
        (lambda adata: heatmap(damaged(adata)), ValueError, "X.indices holds 1000000; should be"),
    ],
)
def test_what_cannot_be_drawn_or_read_is_one_clear_error(clustered, call, error, message):
    with pytest.raises(error, match=message):
        call(clustered.copy())
