"""A file is written whole or not at all."""

import pandas as pd
import pytest

from sparsekm.storage.atomic import atomic_path, write_table, write_text


def test_a_finished_block_leaves_only_the_file_with_its_content(tmp_path):
    with atomic_path(tmp_path / "new" / "a.txt") as temporary:
        assert temporary.parent == tmp_path / "new"
        assert temporary.suffix == ".txt"
        temporary.write_text("whole")
        assert not (tmp_path / "new" / "a.txt").exists()
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["a.txt"]
    assert (tmp_path / "new" / "a.txt").read_text() == "whole"


def test_a_failure_leaves_the_old_file_and_nothing_half_written(tmp_path):
    write_text("old", tmp_path / "a.txt")

    def fail():
        with atomic_path(tmp_path / "a.txt") as temporary:
            temporary.write_text("ha")
            raise RuntimeError("disk full")

    with pytest.raises(RuntimeError, match="disk full"):
        fail()
    assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


def test_a_table_is_written_without_its_index(tmp_path):
    write_table(pd.DataFrame({"a": [1], "b": ["µ"]}, index=[7]), tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text(encoding="utf-8") == "a,b\n1,µ\n"
