"""The tables of genes: of a data set, and of all ages."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from sparsekm.annotation.gene_table import (
    CHANGES,
    GENE_TABLE,
    gene_table,
    primary_method,
    rank_scores,
    read_ages,
    tabulate_ages,
    tabulate_changes,
)
from sparsekm.io.atomic import write_table


def fit(scores, weights):
    values = {"scores": np.array(scores, float), "weights": np.array(weights, float)}
    return SimpleNamespace(**values, selection_frequency=None)


@pytest.fixture
def fits():
    return {
        "kmeans": fit([4, 3, 2, 1], [1, 1, 1, 1]),
        "l1": fit([4, 3, 1, 2], [0.8, 0.6, 0, 0]),
        "l0": fit([3, 1, 5, 2], [1, 0, 1, 0]),
    }


@pytest.fixture
def var():
    about = {"name": ["first", "second", "third", "fourth"], "relevant": [True, True, False, False]}
    about |= {"entrez_id": [11.0, np.nan, 33.0, 44.0], "section_data_set_ids": [*"1234"]}
    return pd.DataFrame(about, index=[*"ABCD"])


def test_tied_scores_rank_by_lowest_index():
    assert list(rank_scores([1.0, 3.0, 3.0, 0.0, 1.0])) == [3, 1, 2, 5, 4]


def test_table_has_one_row_per_feature_in_order_of_l0_rank(var, fits):
    table = gene_table(var, fits)
    assert list(table["symbol"]) == ["C", "A", "D", "B"]
    assert list(table["rank_l0"]) == [1, 2, 3, 4]
    assert list(table["verdict"]) == ["only l0", "kept by both", "neither", "only l1"]
    assert list(table["rank_kmeans"]) == [3, 1, 4, 2]
    assert list(table["weight_l1"]) == [0, 0.8, 0, 0.6]
    assert list(table["relevant"]) == [False, True, False, True]
    # One sparse method alone gives no verdict.
    table = gene_table(var, {"kmeans": fits["kmeans"], "l1": fits["l1"]})
    assert "verdict" not in table
    assert list(table["symbol"]) == ["A", "B", "D", "C"]


def test_entrez_ids_stay_whole_numbers_beside_missing_ones(tmp_path, var, fits):
    GENE_TABLE.write(tmp_path / "genes.csv", gene_table(var, fits))
    assert "33.0" not in (tmp_path / "genes.csv").read_text()
    ids = GENE_TABLE.read(tmp_path / "genes.csv")["entrez_id"]
    assert ids.iloc[0] == 33
    assert pd.isna(ids.iloc[3])


def test_symbols_stay_the_strings_they_are(tmp_path):
    symbols = ["NA", "007", "", 'say "x", "y"']
    table = gene_table(pd.DataFrame(index=symbols), {"l0": fit([4, 3, 2, 1], [1, 0, 0, 0])})
    GENE_TABLE.write(tmp_path / "genes.csv", table)
    assert list(GENE_TABLE.read(tmp_path / "genes.csv")["symbol"]) == symbols


def test_stability_and_further_columns_stand_beside_their_features(tmp_path, var, fits):
    further = pd.DataFrame(
        {
            "highest_cluster": [0, 1, 2, 3],
            "effect_label": [0.5, np.nan, 1.5, 2.5],
            "lead_cluster": [np.nan, 1.0, 2.0, 3.0],
            "highest_label": ["NA", "r1", "r2", "r3"],
            "terms": ["", "nan", "a; b", "c"],
        }
    )
    stability = {"l0": np.array([0.1, 0.2, 0.3, 0.4])}
    table = gene_table(var, fits, stability=stability, further=further)
    GENE_TABLE.write(tmp_path / "genes.csv", table)
    read = GENE_TABLE.read(tmp_path / "genes.csv").set_index("symbol")
    assert "stability_l1" not in read
    expected = further.assign(stability_l0=stability["l0"]).set_axis([*"ABCD"])
    pd.testing.assert_frame_equal(
        read.loc[[*"ABCD"], [*expected]], expected, check_dtype=False, check_names=False
    )


def test_sparse_is_the_answer_where_it_ran_but_l0_on_the_atlas():
    every = ["kmeans", "l1", "l0", "sparse"]
    assert primary_method(every) == primary_method(["kmeans", "sparse"]) == "sparse"
    assert primary_method(every, is_atlas=True) == primary_method(every[:3]) == "l0"
    assert primary_method(["kmeans", "l1"]) == "l1"
    assert primary_method(["kmeans", "sparse", "l1"], is_atlas=True) == "l1"
    assert primary_method(["pgmm"]) == "pgmm"
    with pytest.raises(ValueError, match="at least one method"):
        primary_method([])


def genes(**verdicts):
    return pd.DataFrame({"symbol": list(verdicts), "verdict": list(verdicts.values())})


@pytest.fixture
def ages_table():
    return tabulate_ages(
        {
            "E11.5": genes(a="kept by both", b="only l0", c="only l1", d="neither", nan="only l1"),
            "E13.5": genes(a="kept by both", b="only l1", c="only l0", d="neither"),
            "P4": genes(a="only l0", c="kept by both", e="kept by both"),
        }
    )


def test_a_gene_is_kept_where_l0_keeps_it_and_counted_where_it_was_analysed(ages_table):
    rows = ages_table.set_index("symbol")
    assert rows["n_kept"].to_dict() == {"a": 3, "c": 2, "b": 1, "e": 1, "d": 0, "nan": 0}
    assert rows["n_analysed"].to_dict() == {"a": 3, "c": 3, "b": 2, "e": 1, "d": 2, "nan": 1}
    assert rows.loc["c", ["first", "last"]].tolist() == ["E13.5", "P4"]
    assert rows.loc["d", ["first", "last"]].tolist() == ["", ""]
    assert rows.loc["e", "E11.5"] == ""
    # Those kept at most ages and earliest come first.
    assert ages_table["symbol"].tolist() == ["a", "c", "b", "e", "d", "nan"]


def test_only_genes_analysed_at_both_ages_enter_leave_or_stay(ages_table):
    changes = tabulate_changes(ages_table, ["E11.5", "E13.5", "P4"])
    first, second = changes.to_dict("records")
    assert (first["enter"], first["leave"], first["stay"]) == ("c", "b", "a")
    # b and d were not analysed at P4, e not before.
    assert (second["enter"], second["leave"], second["stay"]) == ("", "", "a;c")
    assert [second[f"n_{kind}"] for kind in ("enter", "leave", "stay")] == [0, 0, 2]


def test_one_sparse_method_alone_speaks_by_its_weights():
    for method in ("l1", "sparse"):
        weights = {"symbol": ["a", "b"], f"weight_{method}": [0.5, 0]}
        ages_table = tabulate_ages({"P4": pd.DataFrame(weights)})
        assert ages_table.set_index("symbol")["P4"].to_dict() == {"a": "kept", "b": "dropped"}
    with pytest.raises(ValueError, match="should be a column weight_m"):
        tabulate_ages({"P4": pd.DataFrame({"symbol": ["a"]})})
    # Of two features of a gene the higher ranked speaks.
    twice = pd.DataFrame({"symbol": ["a", "a"], "verdict": ["kept by both", "neither"]})
    assert tabulate_ages({"P4": twice})["P4"].tolist() == ["kept by both"]


def test_tables_survive_their_files(tmp_path, ages_table):
    write_table(ages_table, tmp_path / "kept_by_age.csv")
    read, ages = read_ages(tmp_path / "kept_by_age.csv")
    assert ages == ["E11.5", "E13.5", "P4"]
    pd.testing.assert_frame_equal(read, ages_table, check_dtype=False)
    changes = tabulate_changes(ages_table, ages)
    CHANGES.write(tmp_path / "changes.csv", changes)
    pd.testing.assert_frame_equal(CHANGES.read(tmp_path / "changes.csv"), changes)
    (tmp_path / "changes.csv").write_text("x\n")
    for reader in (read_ages, CHANGES.read):
        with pytest.raises(ValueError, match="written by rule compare_ages"):
            reader(tmp_path / "changes.csv")
