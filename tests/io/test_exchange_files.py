"""Files for other programs: they hold the results, and equal results give equal bytes."""

import zipfile

import numpy as np
import openpyxl
import pandas as pd
import pytest

from sparsekm.io.exchange_files import write_cls, write_gct, write_ranked, write_workbook


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
