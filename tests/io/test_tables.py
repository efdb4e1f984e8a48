"""Tables of scores, of a gap curve, of a chosen fit; and files for other programs."""

import zipfile

import numpy as np
import openpyxl
import pandas as pd
import pytest

from sparsekm.io.exchange_files import write_cls, write_gct, write_ranked, write_workbook
from sparsekm.io.tables import CANDIDATES, COUNTS, GAP, SCORES, SEPARATION

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


FORMATS = {"separation": SEPARATION, "candidates": CANDIDATES, "counts": COUNTS}
ROWS = {
    "separation": [
        (0, 2, 1e-9, 2e-9, 0, 30, 31, 7.5, "30-0-31", 1e-9),
        (1, 2, 0.5, 0.5, 4, 5, 9, np.nan, "5-4-9", 0.1),
    ],
    "candidates": [
        ("components 50", 41, 3, 2, 1e-9, 0.95, 50, True),
        ("marginals 2 settled", 3, 3, 1, 1.0, -0.01, 10, False),
    ],
    "counts": [
        (2, 2, 0.8, 0.25, 0.1, 1e-9, "0-1", False),
        (3, 3, 1.0, 0.5, 0.0, 0.01, "0-1-2", True),
        (4, 3, 0.9, -0.5, 0.3, 0.2, "0-1-2-2", False),
    ],
}
OF_A_RESULT = {
    kind: pd.DataFrame(rows, columns=list(FORMATS[kind].columns)) for kind, rows in ROWS.items()
}


@pytest.mark.parametrize("kind", FORMATS)
def test_tables_of_a_result_are_read_back_as_they_were_or_refused(tmp_path, kind):
    FORMATS[kind].write(tmp_path / "t.csv", OF_A_RESULT[kind])
    pd.testing.assert_frame_equal(FORMATS[kind].read(tmp_path / "t.csv"), OF_A_RESULT[kind])
    OF_A_RESULT[kind].iloc[:, 1:].to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(ValueError, match=rf"columns=.* should be \[.*rule {FORMATS[kind].rule}"):
        FORMATS[kind].read(tmp_path / "t.csv")


@pytest.mark.parametrize(
    ("kind", "column", "cell", "rule"),
    [
        ("separation", "p", "", "line 2, p='' should be a finite number"),
        ("separation", "cluster_a", "0.5", "line 2, cluster_a='0.5' should be a whole number"),
        ("candidates", "agreement", "nan", "line 2, agreement='nan' should be a finite number"),
        ("counts", "n_groups", "two", "line 2, n_groups='two' should be a whole number"),
        ("counts", "chosen", "False", "there should be one chosen row"),
    ],
)
def test_cells_that_no_writer_leaves_are_refused(tmp_path, kind, column, cell, rule):
    table = OF_A_RESULT[kind].astype({column: object})
    table[column] = cell
    table.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(ValueError, match=f"{rule}.* written by rule {FORMATS[kind].rule}"):
        FORMATS[kind].read(tmp_path / "t.csv")


def test_a_workbook_has_a_sheet_for_each_table_and_no_text_is_a_formula(tmp_path):
    table = pd.DataFrame({"sample": ["=1+1", "b\x07"], "cluster": [0, 1], "share": [0.5, np.nan]})
    for name in ("one.xlsx", "other.xlsx"):
        write_workbook(tmp_path / name, {"samples": table, "settings": table.head(1)})
    assert (tmp_path / "one.xlsx").read_bytes() == (tmp_path / "other.xlsx").read_bytes()
    book = openpyxl.load_workbook(tmp_path / "one.xlsx")
    assert book.sheetnames == ["samples", "settings"]
    rows = [[cell.value for cell in row] for row in book["samples"].rows]
    assert rows == [["sample", "cluster", "share"], ["=1+1", 0, 0.5], ["b\\x07", 1, None]]
    assert book["samples"]["A2"].data_type == "s"


def test_gct_and_cls_have_the_same_samples_in_the_same_order(tmp_path):
    X = np.array([[1.5, -2.0, 0.25], [0.0, 1e-9, 3.0]], dtype=np.float32)
    write_gct(tmp_path / "kept.gct", X, ["s 1", "s\t2"], ["g1", "g2", "g3"])
    lines = (tmp_path / "kept.gct").read_text().splitlines()
    assert lines[:2] == ["#1.2", "3\t2"]
    assert lines[2].split("\t") == ["NAME", "Description", "s 1", "s\\t2"]
    values = [[float(cell) for cell in line.split("\t")[2:]] for line in lines[3:]]
    np.testing.assert_allclose(values, X.T, rtol=1e-5)
    write_cls(tmp_path / "kept.cls", [1, 0])
    lines = ["2 2 1", "# cluster_1 cluster_0", "cluster_1 cluster_0"]
    assert (tmp_path / "kept.cls").read_text().splitlines() == lines


def test_features_are_ranked_by_how_much_higher_they_are_in_a_cluster(tmp_path):
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], [5, 9, 6])
    X = rng.normal(size=(20, 4))
    X -= X.mean(axis=0)
    centers = np.array([X[labels == k].mean(axis=0) for k in range(3)])
    write_ranked(tmp_path / "ranked.zip", centers, labels, ["a", "b", "c", "d"])
    with zipfile.ZipFile(tmp_path / "ranked.zip") as archive:
        assert archive.namelist() == ["cluster_0.rnk", "cluster_1.rnk", "cluster_2.rnk"]
        for k in range(3):
            lines = archive.read(f"cluster_{k}.rnk").decode().splitlines()
            found = {line.split("\t")[0]: float(line.split("\t")[1]) for line in lines}
            assert list(found.values()) == sorted(found.values(), reverse=True)
            expected = X[labels == k].mean(axis=0) - X[labels != k].mean(axis=0)
            assert [found[name] for name in "abcd"] == pytest.approx(expected, rel=1e-4)
