"""`sparsekm.tl` writes into an AnnData what `SparseKMeans` finds."""

import re
import subprocess
import sys
import warnings

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from anndata import AnnData, read_h5ad
from clustered_cells import KEY, cluster, draw
from scipy import sparse

import sparsekm
from sparsekm import SparseKMeans

pytestmark = pytest.mark.usefixtures("one_repeat")
mpl.use("Agg")


def test_what_is_written_is_what_sparse_kmeans_finds():
    adata, labels = draw(sparse.csr_matrix)
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
    with pytest.raises(ValueError, match="X is None. Name the layer"):
        cluster(adata)


def test_a_mask_clusters_its_genes_and_no_others():
    adata, _ = draw(sparse.csc_matrix)
    mask = np.arange(30) % 3 != 1
    expected = SparseKMeans(3, sparsity=5, random_state=0).fit(adata.X[:, mask])
    adata.var["clustered"] = mask
    of_genes = {
        "weight": expected.feature_weights_,
        "score": expected.feature_scores_,
        "selection_frequency": expected.selection_frequency_,
        "selected": expected.get_support(),
    }
    for given, known in (("clustered", "clustered"), (mask, None)):
        sparsekm.tl.sparse_kmeans(adata, 3, sparsity=5, mask_var=given)
        np.testing.assert_array_equal(adata.obs[KEY].cat.codes, expected.labels_)
        for name, values in of_genes.items():
            column = adata.var[f"{KEY}_{name}"].to_numpy()
            np.testing.assert_allclose(column[mask], values)
            assert not column[~mask].any()
        assert adata.uns[KEY]["params"].get("mask_var") == known


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        ("other", r"mask_var='other' should be a column of var: \['name'\]"),
        (np.ones(29, bool), r"mask_var should be 30 booleans, .* got bool of shape \(29,\)"),
        (np.zeros(30, bool), "mask_var should mark at least one gene; it marks none"),
        (pd.Series(np.ones(30, bool)), "mask_var: the index should be adata.var_names"),
    ],
)
def test_a_mask_that_is_none_of_the_genes_is_refused(mask, message):
    adata, _ = draw()
    adata.var["name"] = adata.var_names.astype(object)
    with pytest.raises(ValueError, match=message):
        cluster(adata, mask_var=mask)
    assert KEY not in adata.obs


def test_without_a_number_clusters_are_counted_and_the_verdict_survives_a_file(tmp_path):
    adata = draw()[0][:30].copy()
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
        expected = pd.Series(np.where(mask, differences, np.nan), adata.var_names)[rows["names"]]
        np.testing.assert_allclose(rows["scores"], expected, rtol=1e-4)
        # Kept genes that are high come first, those that are low last.
        assert kept[rows["names"]][:3].all()
        assert kept[rows["names"]][-6:].all()
    assert found[["pvals", "pvals_adj"]].isna().all(axis=None)
    scanpy.tl.rank_genes_groups(adata, KEY, method="t-test")
    both = found.merge(scanpy.get.rank_genes_groups_df(adata, None), on=["group", "names"])
    known = both["logfoldchanges_x"].notna()
    assert known.sum() == 3 * 29
    np.testing.assert_allclose(
        both["logfoldchanges_x"][known], both["logfoldchanges_y"][known], rtol=1e-3, atol=1e-4
    )
    asked = {"n_genes": 3, "values_to_plot": "logfoldchanges", "dendrogram": False, "show": False}
    shown = scanpy.pl.rank_genes_groups_dotplot(adata, key=f"{KEY}_markers", **asked)
    names = [label.get_text() for label in shown["mainplot_ax"].get_xticklabels()]
    assert set(names) == {f"gene{j}" for j in range(9)}
    scanpy.pl.dotplot(adata, names, groupby=KEY, show=False)


@pytest.mark.parametrize(
    ("argument", "given"), [("groups", "groups"), ("weights_key", "sample_weight")]
)
def test_what_is_known_of_cells_is_a_column_of_obs(argument, given):
    adata, _ = draw()
    adata.obs["donor"] = 1 + np.arange(90) // 10 % 5
    values = adata.obs["donor"].to_numpy()
    expected = SparseKMeans(3, sparsity=9, random_state=0).fit(adata.X, **{given: values})
    cluster(adata, **{argument: "donor"})
    found = adata.uns[KEY]["search_results"].reset_index(drop=True)
    pd.testing.assert_frame_equal(found, expected.search_results_)
    np.testing.assert_allclose(adata.var[f"{KEY}_score"], expected.feature_scores_)
    assert adata.uns[KEY]["params"][argument] == "donor"
    with pytest.raises(ValueError, match=f"{argument}='slide' should be a column of obs"):
        cluster(adata, **{argument: "slide"})


def test_trimmed_cells_have_no_cluster():
    adata, _ = draw()
    adata.X[4] += 100
    cluster(adata, trim=1.5 / adata.n_obs)
    assert np.flatnonzero(adata.obs[KEY].isna()).tolist() == [4]
    assert adata.uns[KEY]["params"]["trim"] == 1.5 / adata.n_obs


def test_both_answers_of_batches_and_filled_values_are_written_to_a_file(tmp_path):
    adata, labels = draw()
    batches = np.random.default_rng(0).permutation(90) % 2
    adata.obs["lane"] = pd.Categorical(batches)
    adata.X = adata.X + 50.0 * batches[:, None]
    adata.X[3, 4] = np.nan
    with pytest.raises(ValueError, match="contains NaN: set missing='impute'"):
        cluster(adata)
    with pytest.warns(UserWarning, match="coincide with batches"):
        cluster(adata, batch_key="lane", missing="impute")
    assert pd.crosstab(adata.obs[f"{KEY}_batch_centred"], labels).astype(bool).to_numpy().sum() == 3
    adata.write_h5ad(tmp_path / "cells.h5ad")
    found = read_h5ad(tmp_path / "cells.h5ad").uns[KEY]
    assert found["params"]["batch_key"] == "lane"
    assert found["batch_agreement"] < 0.8
    assert found["batch_shares"].columns.tolist() == ["0", "1"]
    assert set(found["cluster_signatures"]) == {"0", "1", "2"}
    assert len(found["cluster_signature_agreements"]) == 3
    with pytest.raises(TypeError, match="batch: X is of type csr_array"):
        cluster(draw(sparse.csr_matrix)[0], batch_key=batches)


def test_an_earlier_call_leaves_nothing_behind():
    adata, _ = draw()
    cluster(adata, batch_key=np.arange(90) // 3 % 2)
    cluster(adata)
    fresh, _ = draw()
    cluster(fresh)
    for part in ("obs", "var", "uns"):
        assert set(getattr(adata, part)) == set(getattr(fresh, part))
    assert set(adata.uns[KEY]) == set(fresh.uns[KEY])


@pytest.mark.parametrize(
    ("argument", "part", "ends"),
    [
        ("groups", "obs", ""),
        ("batch_key", "obs", "_reproducibility"),
        ("mask_var", "var", "_selected"),
    ],
)
def test_no_column_that_is_read_is_overwritten(argument, part, ends):
    adata, _ = draw()
    given = np.arange(90) // 3 % (10 if argument == "groups" else 2)
    getattr(adata, part)[KEY + ends] = given if part == "obs" else np.arange(30) < 20
    with pytest.raises(
        ValueError, match=f"{argument}='{KEY}{ends}' would be overwritten, .*give a"
    ):
        cluster(adata, **{argument: KEY + ends})
    cluster(adata, **{argument: KEY + ends}, key_added="second")
    assert "second" in adata.obs


def test_groups_that_are_not_those_of_the_cells_are_refused():
    adata, _ = draw()
    adata.obs_names = [f"cell{i}" for i in range(90)]
    adata.obs["donor"] = pd.Series(["a", "b"] * 45, adata.obs_names).where(np.arange(90) != 7)
    for groups, message in (
        (adata.obs["donor"][::-1], "groups: the index should be adata.obs_names. If .* give"),
        ("donor", r"groups should have no missing value, got 1 \(the first at position 7\)"),
    ):
        with pytest.raises(ValueError, match=message):
            cluster(adata, groups=groups)
    assert KEY not in adata.obs


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


def test_raw_counts_and_scaled_values_are_clustered_with_one_warning_each():
    rng = np.random.default_rng(0)
    depths, means = np.exp(rng.normal(0, 0.3, (90, 1))), np.exp(rng.normal(0, 1.5, 240))
    counts = rng.poisson(depths * means).astype(np.float32)
    logs = np.log1p(counts / counts.sum(axis=1, keepdims=True) * 1e3)
    scaled = (logs - logs.mean(axis=0)) / np.maximum(logs.std(axis=0), 1e-9)
    adata = AnnData(logs, layers={"counts": sparse.csr_matrix(counts), "scaled": scaled})
    for layer, cure in (("counts", r"raw counts.*normalize_total.*layer="), ("scaled", "layer=")):
        with pytest.warns(UserWarning, match=cure) as caught:
            cluster(adata, layer=layer)
        assert len(caught) == 1
    with warnings.catch_warnings(action="error"):
        cluster(adata)


def test_the_modules_show_their_public_names_only_and_import_neither_anndata_nor_matplotlib():
    assert dir(sparsekm.tl) == ["predict_clusters", "sparse_kmeans"]
    assert dir(sparsekm.pl) == ["gap_curve", "heatmap", "scores"]
    code = "import sys, sparsekm; sys.exit({'anndata', 'matplotlib'} & sys.modules.keys() != set())"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
