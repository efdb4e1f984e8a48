"""The tables of scores, of a gap curve, and of a consensus and its clusters."""

import numpy as np
import pandas as pd
import pytest

from sparsekm.io.tables import COUNTS, GAP, SCORES, SEPARATION, STARTS

ROW = dict.fromkeys(SCORES.columns) | {"dataset": "NA", "method": "l0", "cer": 0.25}


def test_scores_are_read_back_and_what_is_not_known_stays_empty(tmp_path):
    SCORES.write_row(tmp_path / "scores.csv", ROW)
    row = SCORES.read_row(tmp_path / "scores.csv")
    assert (row["dataset"], row["method"], row["cer"]) == ("NA", "l0", 0.25)
    assert np.isnan(row["pzw"])


def test_exactly_one_row_of_a_gap_curve_is_chosen(tmp_path):
    gap = pd.DataFrame({name: [1.0, 2.0] for name in list(GAP.columns)[:-1]})
    GAP.write(tmp_path / "gap.csv", gap, 1)
    read = GAP.read(tmp_path / "gap.csv")
    assert read["chosen"].tolist() == [False, True]
    assert tuple(read.columns) == tuple(GAP.columns)
    read.assign(chosen=True).to_csv(tmp_path / "gap.csv", index=False)
    with pytest.raises(ValueError, match="one chosen row"):
        GAP.read(tmp_path / "gap.csv")


FORMATS = {"separation": SEPARATION, "starts": STARTS, "counts": COUNTS}
ROWS = {
    "separation": [(0, 2, 1e-9, 2e-9, 0, 30, 31), (1, 2, 0.5, 0.5, 4, 5, 9)],
    "starts": [("100 features", 30, 0.9, 0.95), ("optimum of 50 features", 30, 1.0, -0.01)],
    "counts": [
        (2, 2, 0.8, "0-1", False),
        (3, 3, 1.0, "0-1-2", True),
        (4, 3, 0.9, "0-1-2-2", False),
    ],
}
OF_A_CONSENSUS = {
    kind: pd.DataFrame(rows, columns=list(FORMATS[kind].columns)) for kind, rows in ROWS.items()
}
EACH = pytest.mark.parametrize("kind", FORMATS)


@EACH
def test_tables_of_a_consensus_are_read_back_as_they_were(tmp_path, kind):
    FORMATS[kind].write(tmp_path / "t.csv", OF_A_CONSENSUS[kind])
    pd.testing.assert_frame_equal(FORMATS[kind].read(tmp_path / "t.csv"), OF_A_CONSENSUS[kind])


@pytest.mark.parametrize(
    ("kind", "column", "cell", "rule"),
    [
        ("separation", "p", "", "line 2, p='' should be a finite number"),
        ("separation", "cluster_a", "0.5", "line 2, cluster_a='0.5' should be a whole number"),
        ("separation", "p", "1e999", "line 2, p='1e999' should be a finite number"),
        ("starts", "agreement", "nan", "line 2, agreement='nan' should be a finite number"),
        ("counts", "n_groups", "two", "line 2, n_groups='two' should be a whole number"),
        ("counts", "chosen", "False", "there should be one chosen row"),
        ("counts", "chosen", "True", "there should be one chosen row"),
    ],
)
def test_cells_that_no_writer_leaves_are_refused(tmp_path, kind, column, cell, rule):
    table = OF_A_CONSENSUS[kind].astype({column: object})
    table[column] = cell
    table.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(ValueError, match=f"{rule}.* written by rule {FORMATS[kind].rule}"):
        FORMATS[kind].read(tmp_path / "t.csv")


@EACH
def test_a_table_that_lacks_a_column_is_refused(tmp_path, kind):
    OF_A_CONSENSUS[kind].iloc[:, 1:].to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(ValueError, match=rf"columns=.* should be \[.*rule {FORMATS[kind].rule}"):
        FORMATS[kind].read(tmp_path / "t.csv")
