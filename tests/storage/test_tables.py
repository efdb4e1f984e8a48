"""The tables gap.csv, consensus.csv and scores.csv."""

import numpy as np
import pandas as pd
import pytest

from sparsekm.storage import consensus_file, gap_file
from sparsekm.storage.score_file import SCORES

ROW = dict.fromkeys(SCORES.contract) | {"dataset": "NA", "method": "l0", "cer": 0.25}


def test_scores_are_read_back_and_what_is_not_known_stays_empty(tmp_path):
    SCORES.write(tmp_path / "scores.csv", ROW)
    row = SCORES.read(tmp_path / "scores.csv")
    assert (row["dataset"], row["method"], row["cer"]) == ("NA", "l0", 0.25)
    assert np.isnan(row["pzw"])


def test_scores_of_other_columns_are_refused(tmp_path):
    with pytest.raises(ValueError, match="should be exactly"):
        SCORES.write(tmp_path / "scores.csv", {"cer": 1})
    (tmp_path / "scores.csv").write_text("cer\n1\n")
    with pytest.raises(ValueError, match="as rule score_clustering writes it"):
        SCORES.read(tmp_path / "scores.csv")
    SCORES.write(tmp_path / "scores.csv", ROW)
    header, row = (tmp_path / "scores.csv").read_text().splitlines()
    (tmp_path / "scores.csv").write_text("\n".join([header, row, row]))
    with pytest.raises(ValueError, match="rows=2 should be 1"):
        SCORES.read(tmp_path / "scores.csv")


def test_exactly_one_row_of_a_gap_curve_is_chosen(tmp_path):
    gap = pd.DataFrame({name: [1.0, 2.0] for name in gap_file.COLUMNS[:-1]})
    gap_file.write_gap(tmp_path / "gap.csv", gap, 1)
    read = gap_file.read_gap(tmp_path / "gap.csv")
    assert read["chosen"].tolist() == [False, True]
    assert tuple(read.columns) == gap_file.COLUMNS
    read.assign(chosen=True).to_csv(tmp_path / "gap.csv", index=False)
    with pytest.raises(ValueError, match="one chosen row"):
        gap_file.read_gap(tmp_path / "gap.csv")


def test_exactly_one_admissible_fit_is_chosen_from_a_consensus(tmp_path):
    file = tmp_path / "consensus.csv"
    table = pd.DataFrame({name: [1.0, 2.0] for name in consensus_file.COLUMNS})
    table = table.assign(n_selected=[1, 2], admissible=[True, False], chosen=[True, False])
    consensus_file.write_consensus(file, table)
    pd.testing.assert_frame_equal(consensus_file.read_consensus(file), table)
    for chosen in ([True, True], [False, False], [False, True]):
        consensus_file.write_consensus(file, table.assign(chosen=chosen))
        with pytest.raises(ValueError, match="one chosen row, an admissible one"):
            consensus_file.read_consensus(file)
