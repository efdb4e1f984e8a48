"""`sparsekm.tl` writes into an AnnData what `SparseKMeans` finds; `sparsekm.pl` draws it."""

import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from anndata import AnnData, read_h5ad
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
    np.testing.assert_allclose(adata.var[f"{KEY}_score"], expected.feature_scores_)
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


def test_groups_are_a_column_of_obs():
    adata, _ = draw()
    donors = np.arange(90) // 10
    adata.obs["donor"] = [f"d{donor}" for donor in donors]
    cluster(adata, groups="donor")
    expected = SparseKMeans(3, sparsity=9, random_state=0).fit(adata.X, groups=donors)
    found = adata.uns[KEY]["search_results"].reset_index(drop=True)
    pd.testing.assert_frame_equal(found, expected.search_results_)
    assert adata.uns[KEY]["params"]["groups"] == "donor"
    with pytest.raises(ValueError, match=r"groups='slide' should be a column of obs: \['donor'"):
        cluster(adata, groups="slide")


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
    assert again.uns[KEY]["search_results"]["chosen"].sum() == 1
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


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_matrix])
@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("indices", 10**6, "X.indices holds 1000000; should be >= 0 and < n_"),
        ("data", np.nan, "contains NaN"),
    ],
)
def test_damaged_sparse_values_are_one_clear_error(kind, part, value, message):
    adata, _ = draw(kind)
    getattr(adata.X, part)[17] = value
    with pytest.raises(ValueError, match=message):
        cluster(adata)
    assert KEY not in adata.obs


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_matrix])
def test_indices_out_of_range_are_named_before_the_heat_map_follows_them(kind):
    adata, _ = draw(kind)
    cluster(adata)
    adata.X.indices[17] = 999
    with pytest.raises(ValueError, match="X.indices holds 999; should be >= 0 and < n_"):
        sparsekm.pl.heatmap(adata)


@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, sparse.csr_matrix])
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


def test_the_heat_map_shows_the_mean_of_every_kept_gene_in_every_cluster(clustered):
    ax = sparsekm.pl.heatmap(clustered)
    names = [label.get_text() for label in ax.get_xticklabels()]
    X = clustered[:, names].X.toarray()
    drawn = ax.images[0].get_array()
    own = clustered.obs[KEY] == "1"
    np.testing.assert_allclose(drawn[1], (X[own].mean(0) - X.mean(0)) / X.std(0), rtol=1e-4)
    assert (np.diff(drawn.argmax(axis=0)) >= 0).all()


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
