"""The tables gap.csv, consensus.csv and scores.csv."""

import numpy as np
import pandas as pd
import pytest

from sparsekm.io.tables import CONSENSUS, GAP, SCORES

ROW = dict.fromkeys(SCORES.columns) | {"dataset": "NA", "method": "l0", "cer": 0.25}


def test_scores_are_read_back_and_what_is_not_known_stays_empty(tmp_path):
    SCORES.write_row(tmp_path / "scores.csv", ROW)
    row = SCORES.read_row(tmp_path / "scores.csv")
    assert (row["dataset"], row["method"], row["cer"]) == ("NA", "l0", 0.25)
    assert np.isnan(row["pzw"])


def test_scores_of_other_columns_are_refused(tmp_path):
    with pytest.raises(ValueError, match="should be exactly"):
        SCORES.write_row(tmp_path / "scores.csv", {"cer": 1})
    (tmp_path / "scores.csv").write_text("cer\n1\n")
    with pytest.raises(ValueError, match="written by rule score_clustering"):
        SCORES.read_row(tmp_path / "scores.csv")
    SCORES.write_row(tmp_path / "scores.csv", ROW)
    header, row = (tmp_path / "scores.csv").read_text().splitlines()
    (tmp_path / "scores.csv").write_text("\n".join([header, row, row]))
    with pytest.raises(ValueError, match="rows=2 should be 1"):
        SCORES.read_row(tmp_path / "scores.csv")


def test_exactly_one_row_of_a_gap_curve_is_chosen(tmp_path):
    gap = pd.DataFrame({name: [1.0, 2.0] for name in list(GAP.columns)[:-1]})
    GAP.write(tmp_path / "gap.csv", gap, 1)
    read = GAP.read(tmp_path / "gap.csv")
    assert read["chosen"].tolist() == [False, True]
    assert tuple(read.columns) == tuple(GAP.columns)
    read.assign(chosen=True).to_csv(tmp_path / "gap.csv", index=False)
    with pytest.raises(ValueError, match="one chosen row"):
        GAP.read(tmp_path / "gap.csv")


def test_exactly_one_admissible_fit_is_chosen_from_a_consensus(tmp_path):
    file = tmp_path / "consensus.csv"
    table = pd.DataFrame({name: [1.0, 2.0] for name in CONSENSUS.columns})
    table = table.assign(n_selected=[1, 2], admissible=[True, False], chosen=[True, False])
    CONSENSUS.write(file, table)
    pd.testing.assert_frame_equal(CONSENSUS.read(file), table)
    for chosen, message in (
        ([True, True], "there should be one chosen row"),
        ([False, False], "there should be one chosen row"),
        ([False, True], "the chosen row should be admissible"),
    ):
        CONSENSUS.write(file, table.assign(chosen=chosen))
        with pytest.raises(ValueError, match=message):
            CONSENSUS.read(file)
