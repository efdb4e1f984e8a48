"""Missing values, quality control, transforms, the z-scored matrix of an age, and common genes."""

import anndata
import numpy as np
import pandas as pd
import pytest

from sparsekm.atlas.expression import (
    COMMON_GENES,
    assemble_age,
    average_energies,
    fill_missing,
    find_common_genes,
    normalise_age,
    read_common_genes,
    read_expression,
    screen_expression,
    transform_energies,
)
from sparsekm.atlas.listing import add_genes, parse_genes
from sparsekm.io.hdf5_format import write_anndata

NAN = np.nan


REGIONS = np.array(["a", "a", "b", "b"])


@pytest.mark.parametrize(
    ("method", "first", "second"),
    [("zero", 0, 0), ("gene_mean", 5, 2), ("region_mean", 2, 4), ("none", NAN, NAN)],
)
def test_gaps_are_filled_without_entering_a_mean(method, first, second):
    gappy = np.array([[1, NAN, 4], [3, 2, NAN], [5, 4, 0], [7, 9, 2]], dtype=np.float32)
    measured = ~np.isnan(gappy)
    before = gappy.copy()
    assert fill_missing(gappy, method, REGIONS) == 2
    np.testing.assert_array_equal([gappy[0, 1], gappy[1, 2]], [first, second])
    np.testing.assert_array_equal(gappy[measured], before[measured])
    # A region without values takes the mean of the gene.
    X = np.array([[NAN], [NAN], [2], [4]], dtype=np.float32)
    fill_missing(X, "region_mean", REGIONS)
    np.testing.assert_array_equal(X.ravel(), [3, 3, 2, 4])


def test_replicates_are_averaged_over_those_with_data():
    mean = average_energies([np.array([1, -1, -1, 0], "f4"), np.array([3, 4, -1, 1], "f4")])
    np.testing.assert_array_equal(mean, [2, 4, NAN, 0.5])
    assert mean.dtype == np.float32


def test_a_share_of_missing_equal_to_the_threshold_is_too_much():
    X = np.arange(100, dtype=np.float32).reshape(10, 10)
    X[:3, 0] = NAN
    X[:2, 1] = NAN
    voxels, reasons = screen_expression(X, max_missing_per_gene=0.3, max_missing_per_voxel=0.2)
    assert reasons.tolist() == ["missing"] + [""] * 9
    assert voxels.tolist() == [False] * 2 + [True] * 8
    # Both thresholds are judged on the unpruned matrix.
    X = np.arange(16, dtype=np.float32).reshape(4, 4)
    X[0] = NAN
    X[1, :2] = NAN
    voxels, reasons = screen_expression(X, max_missing_per_gene=0.5, max_missing_per_voxel=0.5)
    # Without the empty first voxel, genes 0 and 1 would lack a third only.
    assert reasons.tolist() == ["missing", "missing", "", ""]
    assert voxels.tolist() == [False, False, True, True]


def test_genes_constant_where_measured_are_marked_before_filling():
    X = np.array([[2, 1, 5], [2, 2, NAN], [NAN, 3, 5], [2, 4, 5]], dtype=np.float32)
    _, reasons = screen_expression(X, max_missing_per_gene=0.5, max_missing_per_voxel=0.9)
    assert reasons.tolist() == ["constant", "", "constant"]

    with pytest.raises(ValueError, match="n_voxels=2 and n_genes=0 after quality control"):
        screen_expression(np.ones((2, 2), np.float32))


@pytest.fixture
def expression():
    rng = np.random.default_rng(5)
    n_voxels, n_genes = 40, 6
    X = rng.gamma(2.0, size=(n_voxels, n_genes)).astype(np.float32)
    X[:, 4] = 1.25
    X[:25, 5] = NAN
    X[30, 0] = X[33, 1] = X[34, 4] = NAN
    region = pd.Categorical(["a"] * 20 + ["b"] * 19 + ["c"], categories=["a", "b", "c"])
    names = [f"Phm{i}" for i in range(n_genes)]
    return anndata.AnnData(
        X=X,
        obs=pd.DataFrame({"region": region}, index=[str(i) for i in range(n_voxels)]),
        var=pd.DataFrame({"gene_id": np.arange(n_genes) + 2**24}, index=names),
        obsm={"spatial": np.zeros((n_voxels, 3))},
        uns={
            "provenance": {"dataset": "E11.5", "simulated": True},
            "regions": pd.DataFrame({"acronym": ["a", "b", "c"], "n_voxels": [20, 19, 1]}),
        },
    )


def test_an_age_is_screened_filled_and_z_scored(expression):
    before = expression.X.copy()
    data = normalise_age(expression)
    np.testing.assert_array_equal(expression.X, before)
    assert data.X.dtype == np.float32
    assert data.var_names.tolist() == ["Phm0", "Phm1", "Phm2", "Phm3"]
    np.testing.assert_allclose(data.X.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(data.X.std(axis=0, ddof=1), 1, rtol=1e-5)
    assert data.X[30, 0] == pytest.approx(0, abs=1e-6)
    dropped = [["Phm4", 2**24 + 4, "constant"], ["Phm5", 2**24 + 5, "missing"]]
    assert data.uns["dropped_genes"].values.tolist() == dropped
    provenance = data.uns["provenance"]
    assert provenance["n_genes_dropped_constant"] == provenance["n_genes_dropped_missing"] == 1
    assert provenance["n_values_filled"] == 2
    assert data.obs["label"].tolist() == expression.obs["region"].tolist()
    # Regions that lose all voxels leave the table.
    expression.X[39, :3] = NAN
    data = normalise_age(expression)
    assert data.uns["regions"].values.tolist() == [["a", 20], ["b", 19]]
    assert data.obs["label"].cat.categories.tolist() == ["a", "b"]
    assert data.uns["provenance"]["n_voxels_dropped"] == 1


def test_fill_none_accepts_only_complete_data(expression):
    message = "leaves 2 missing values; there should be none. The first is for gene Phm0"
    with pytest.raises(ValueError, match=message):
        normalise_age(expression, fill="none")
    data = normalise_age(expression, fill="none", max_missing_per_gene=0.01)
    assert data.var_names.tolist() == ["Phm2", "Phm3"]


def transformed(*genes, how="robust_sigmoid"):
    X = np.array(genes, dtype=np.float32).T.copy()
    transform_energies(X, how)
    return X.T


def test_a_gene_worked_by_hand():
    np.testing.assert_allclose(transformed([0, 1, 3], how="log2")[0], [0, 1, 2], rtol=1e-6)
    # Median 2, quartiles 1 and 3: x is scaled by 2 / 1.35, so z is 1 / (1 + exp(1.35 (2 - x) / 2)),
    # that is 1 / (1 + 3.857426), 1 / (1 + 1.964033), 1/2 and their mirror images.
    z = np.array([0.205870, 0.337378, 0.5, 0.662622, 0.794130])
    expected = (z - z[0]) / (z[4] - z[0])
    np.testing.assert_allclose(transformed([0, 1, 2, 3, 4])[0], expected, atol=2e-6)
    # An outlier weighs no more than saturation.
    near, far = transformed([0, 1, 2, 3, 30], [0, 1, 2, 3, 3e6])
    np.testing.assert_allclose(near, far, atol=1e-6)
    assert near[3] > 0.5


def test_without_an_interquartile_range_mean_and_deviation_stand_in():
    # Seven zeros, 3 and 6: the mean is 1, the squares are 7 + 4 + 25 over n - 1 = 8, that is 4.5.
    z = 1 / (1 + np.exp(-np.array([-1, 2, 5]) / np.sqrt(4.5)))
    values = transformed([0, 0, 0, 0, 0, 0, 0, 3, 6])[0]
    assert values[[0, 6, 8]].tolist() == [0, 0, 1]
    np.testing.assert_allclose(values[7], (z[1] - z[0]) / (z[2] - z[0]), atol=1e-6)


def test_an_age_is_normalised_with_it_and_every_gene_spans_the_unit_interval(expression):
    data = normalise_age(expression, transform="robust_sigmoid")
    assert data.uns["provenance"]["normalisation"]["transform"] == "robust_sigmoid"
    X = np.where(np.isnan(expression.X[:, :4]), np.nan, expression.X[:, :4]).copy()
    transform_energies(X, "robust_sigmoid")
    assert np.nanmin(X, axis=0).tolist() == [0] * 4
    assert np.nanmax(X, axis=0).tolist() == [1] * 4
    X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    np.testing.assert_allclose(data.X, scaled, atol=1e-5)


AGES = ("E11.5", "P14")


@pytest.fixture(scope="module")
def expressions(phantom_files, ontology, tmp_path_factory):
    """Expression files of two ages; at P14 one gene more is constant, and one mostly missing."""
    folder = tmp_path_factory.mktemp("expression")
    files = {}
    for age in AGES:
        data = assemble_age(phantom_files / age, ontology, age)
        if age == "P14":
            data.X[:, 0] = 2.5
            data.X[::2, 1] = np.nan
        files[age] = folder / f"{age}.h5ad"
        write_anndata(files[age], data)
    return files


@pytest.fixture(scope="module")
def table(expressions):
    return find_common_genes(expressions).set_index("gene")


def test_a_gene_is_common_when_it_passes_everywhere_or_has_a_reason(table, expressions):
    alone = [set(normalise_age(read_expression(f)).var["symbol"]) for f in expressions.values()]
    expected = set.intersection(*alone)
    assert set(table.index[table["common"]]) == expected
    assert 20 < len(expected) < len(table)
    names = read_expression(expressions["P14"]).var["symbol"]
    assert table.loc[names.iloc[0], list(AGES)].tolist() == ["", "constant"]
    assert table.loc[names.iloc[1], list(AGES)].tolist() == ["", "missing"]
    at_one_age = table[(table[list(AGES)] == "absent").any(axis=1)]
    assert len(at_one_age) >= 1


def test_all_ages_end_up_with_the_same_genes_and_reasons_for_others(table, expressions, tmp_path):
    COMMON_GENES.write(tmp_path / "common.csv", table.reset_index())
    common = read_common_genes(tmp_path / "common.csv")
    assert common == set(table["gene_id"][table["common"]])
    for age, file in expressions.items():
        raw = read_expression(file)
        data = normalise_age(raw, genes=common)
        assert data.var["gene_id"].tolist() == [g for g in raw.var["gene_id"] if g in common]
        alone = normalise_age(raw)
        kept = alone.var["gene_id"].isin(common).to_numpy()
        assert data.X.tobytes() == np.ascontiguousarray(alone.X[:, kept]).tobytes()
        reasons = data.uns["dropped_genes"].set_index("gene")["reason"]
        n_lost = data.uns["provenance"]["n_genes_dropped_not_common"]
        assert n_lost == (reasons == "not_common").sum() == alone.n_vars - data.n_vars
        assert (n_lost >= 2) == (age == "E11.5")
        assert len(reasons) + data.n_vars == raw.n_vars


def test_nothing_in_common_is_an_error(expressions, tmp_path):
    data = read_expression(expressions["P14"])
    raw = data.copy()
    raw.var["gene_id"] += 10**6
    write_anndata(tmp_path / "other.h5ad", raw)
    both = find_common_genes({"E11.5": expressions["E11.5"], "P14": tmp_path / "other.h5ad"})
    with pytest.raises(ValueError, match="n_genes=0 common genes pass"):
        normalise_age(data, genes=both["gene_id"][both["common"]])


def test_genes_get_ensembl_ids_aliases_and_missing_entrez_ids():
    rows = [
        {"id": 2**24 + 1, "entrez_id": 7, "ensembl_id": "ENS1", "alias_tags": "a  b c"},
        {"id": 2**24 + 1, "entrez_id": 8},
        {"id": 5, "entrez_id": None, "alias_tags": None},
    ]
    genes = parse_genes(rows)
    assert genes.index.tolist() == [2**24 + 1, 5]
    var = pd.DataFrame(
        {"gene_id": [5, 2**24 + 1, 2**24], "entrez_id": pd.array([None, None, 9], dtype="Int64")},
        index=["x", "y", "z"],
    )
    added = add_genes(var, genes)
    assert added["entrez_id"].tolist() == [pd.NA, 7, 9]
    assert added["ensembl_id"].tolist() == ["", "ENS1", ""]
    assert added["aliases"].tolist() == ["", "a;b;c", ""]
    assert list(var) == ["gene_id", "entrez_id"]
