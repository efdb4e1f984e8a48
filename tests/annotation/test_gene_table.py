from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from sparsekm.annotation.gene_table import (
    GENE_TABLE,
    gene_table,
    judge_features,
    primary_method,
    rank_scores,
)


def fit(scores, weights):
    return SimpleNamespace(scores=np.array(scores, float), weights=np.array(weights, float))


@pytest.fixture
def fits():
    return {
        "kmeans": fit([4, 3, 2, 1], [1, 1, 1, 1]),
        "l1": fit([4, 3, 1, 2], [0.8, 0.6, 0, 0]),
        "l0": fit([3, 1, 5, 2], [1, 0, 1, 0]),
    }


@pytest.fixture
def var():
    return pd.DataFrame(
        {
            "name": ["first", "second", "third", "fourth"],
            "entrez_id": [11.0, np.nan, 33.0, 44.0],
            "relevant": [True, True, False, False],
            "section_data_set_ids": ["1", "2", "3", "4"],
        },
        index=["A", "B", "C", "D"],
    )


def test_verdict_names_who_keeps_a_feature():
    verdicts = judge_features([1, 1, 0, 0], [0.5, 0, 0.5, 0])
    assert list(verdicts) == ["kept by both", "only l0", "only l1", "neither"]


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


def test_one_sparse_method_alone_gives_no_verdict(var, fits):
    table = gene_table(var, {"kmeans": fits["kmeans"], "l1": fits["l1"]})
    assert "verdict" not in table
    assert list(table["symbol"]) == ["A", "B", "D", "C"]


def test_entrez_ids_stay_whole_numbers_beside_missing_ones(tmp_path, var, fits):
    GENE_TABLE.write(tmp_path / "genes.csv", gene_table(var, fits))
    text = (tmp_path / "genes.csv").read_text()
    assert "33.0" not in text
    ids = GENE_TABLE.read(tmp_path / "genes.csv")["entrez_id"]
    assert ids.iloc[0] == 33
    assert pd.isna(ids.iloc[3])


@pytest.mark.parametrize("symbol", ["NA", "007", "", 'say "x", "y"'])
def test_symbols_stay_the_strings_they_are(tmp_path, symbol):
    var = pd.DataFrame(index=[symbol, "other"])
    table = gene_table(var, {"l0": fit([2, 1], [1, 0])})
    GENE_TABLE.write(tmp_path / "genes.csv", table)
    assert list(GENE_TABLE.read(tmp_path / "genes.csv")["symbol"]) == [symbol, "other"]


def test_file_without_symbols_is_refused(tmp_path):
    (tmp_path / "genes.csv").write_text("gene,score_l0\nA,1\n")
    with pytest.raises(ValueError, match=r"should include \['symbol'\]"):
        GENE_TABLE.read(tmp_path / "genes.csv")


def test_stability_and_further_columns_stand_beside_their_features(tmp_path, var, fits):
    further = pd.DataFrame(
        {
            "highest_cluster": [0, 1, 2, 3],
            "effect_label": [0.5, np.nan, 1.5, 2.5],
            "highest_label": ["NA", "r1", "r2", "r3"],
            "terms": ["", "nan", "a; b", "c"],
        }
    )
    stability = {"l0": np.array([0.1, 0.2, 0.3, 0.4])}
    table = gene_table(var, fits, stability=stability, further=further)
    GENE_TABLE.write(tmp_path / "genes.csv", table)
    read = GENE_TABLE.read(tmp_path / "genes.csv").set_index("symbol")
    assert list(read.loc[["A", "B", "C", "D"], "stability_l0"]) == [0.1, 0.2, 0.3, 0.4]
    assert "stability_l1" not in read
    assert list(read.loc[["A", "B", "C", "D"], "highest_cluster"]) == [0, 1, 2, 3]
    assert list(read.loc[["A", "B"], "highest_label"]) == ["NA", "r1"]
    assert list(read.loc[["A", "B"], "terms"]) == ["", "nan"]
    assert np.isnan(read.loc["B", "effect_label"])
    assert read.loc["D", "effect_label"] == 2.5


@pytest.mark.parametrize(
    "wrong", [{"stability": {"l0": np.zeros(3)}}, {"further": pd.DataFrame({"terms": ["a"] * 5})}]
)
def test_columns_of_another_length_are_refused(var, fits, wrong):
    with pytest.raises(ValueError, match=r"shape=\(\d,\) should be \(4,\)"):
        gene_table(var, fits, **wrong)


def test_l0_speaks_for_a_data_set_where_it_ran():
    assert primary_method(["kmeans", "l1", "l0"]) == "l0"
    assert primary_method(["kmeans", "l1"]) == "l1"
    assert primary_method(["kmeans", "sparse", "l1"]) == "l1"
    assert primary_method(["kmeans", "sparse"]) == "sparse"
    assert primary_method(["pgmm"]) == "pgmm"
    with pytest.raises(ValueError, match="at least one method"):
        primary_method([])
