"""Genes that can be analysed at every age, and what the atlas knows about genes."""

import json

import numpy as np
import pandas as pd
import pytest

from sparsekm.atlas.assembly import assemble_age, read_expression
from sparsekm.atlas.listing import add_genes, parse_genes, read_rows
from sparsekm.atlas.normalisation import (
    COMMON_GENES,
    find_common_genes,
    normalise_age,
    read_common_genes,
)
from sparsekm.atlas.ontology import parse_ontology
from sparsekm.io.hdf5_format import write_anndata

AGES = ("E11.5", "P14")


@pytest.fixture(scope="module")
def expressions(phantom_files, tmp_path_factory):
    """Expression files of two ages; at P14 one gene more is constant, and one mostly missing."""
    folder = tmp_path_factory.mktemp("expression")
    ontology = parse_ontology(*read_rows(phantom_files / "ontology.json"))
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


def test_a_gene_is_common_when_it_passes_everywhere(table, expressions):
    expected = set.intersection(
        *(set(normalise_age(read_expression(file)).var["symbol"]) for file in expressions.values())
    )
    assert set(table.index[table["common"]]) == expected
    assert 20 < len(expected) < len(table)


def test_the_table_tells_what_is_wrong_at_which_age(table, expressions):
    names = read_expression(expressions["P14"]).var["symbol"]
    assert table.loc[names.iloc[0], list(AGES)].tolist() == ["", "constant"]
    assert table.loc[names.iloc[1], list(AGES)].tolist() == ["", "missing"]
    at_one_age = table[(table[list(AGES)] == "absent").any(axis=1)]
    assert len(at_one_age) >= 1
    assert not at_one_age["common"].any()


def test_all_ages_end_up_with_the_same_genes_and_a_reason_for_each_other(
    table, expressions, tmp_path
):
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
    data.var["gene_id"] += 10**6
    write_anndata(tmp_path / "other.h5ad", data)
    with pytest.raises(ValueError, match=r"n_common=0 of \d+ genes at E11.5, P14 should be >= 1"):
        find_common_genes({"E11.5": expressions["E11.5"], "P14": tmp_path / "other.h5ad"})
    with pytest.raises(ValueError, match="n_ages=0 should be >= 1"):
        find_common_genes({})
    with pytest.raises(ValueError, match="n_genes=0 of the common genes"):
        normalise_age(data, genes={1})


def test_genes_get_ensembl_ids_aliases_and_missing_entrez_ids(wrap):
    rows = [
        {"id": 2**24 + 1, "entrez_id": 7, "ensembl_id": "ENS1", "alias_tags": "a  b c"},
        {"id": 2**24 + 1, "entrez_id": 8},
        {"id": 5, "entrez_id": None, "alias_tags": None},
    ]
    genes = parse_genes(json.loads(wrap(rows))["msg"])
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
