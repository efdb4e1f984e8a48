import pandas as pd
import pytest

from sparsekm.annotation.gene_table import (
    CHANGES,
    read_ages,
    tabulate_ages,
    tabulate_changes,
)
from sparsekm.io.atomic import write_table


def genes(**verdicts):
    return pd.DataFrame({"symbol": list(verdicts), "verdict": list(verdicts.values())})


@pytest.fixture
def table():
    return tabulate_ages(
        {
            "E11.5": genes(a="kept by both", b="only l0", c="only l1", d="neither", nan="only l1"),
            "E13.5": genes(a="kept by both", b="only l1", c="only l0", d="neither"),
            "P4": genes(a="only l0", c="kept by both", e="kept by both"),
        }
    )


def test_a_gene_is_kept_where_l0_keeps_it_and_counted_where_it_was_analysed(table):
    rows = table.set_index("symbol")
    assert rows["n_kept"].to_dict() == {"a": 3, "c": 2, "b": 1, "e": 1, "d": 0, "nan": 0}
    assert rows["n_analysed"].to_dict() == {"a": 3, "c": 3, "b": 2, "e": 1, "d": 2, "nan": 1}
    assert rows.loc["c", ["first", "last"]].tolist() == ["E13.5", "P4"]
    assert rows.loc["d", ["first", "last"]].tolist() == ["", ""]
    assert rows.loc["e", "E11.5"] == ""


def test_genes_kept_at_most_ages_and_earliest_come_first(table):
    assert table["symbol"].tolist() == ["a", "c", "b", "e", "d", "nan"]


def test_only_genes_analysed_at_both_ages_enter_leave_or_stay(table):
    changes = tabulate_changes(table, ["E11.5", "E13.5", "P4"])
    first, second = changes.to_dict("records")
    assert (first["enter"], first["leave"], first["stay"]) == ("c", "b", "a")
    # b and d were not analysed at P4, e not before.
    assert (second["enter"], second["leave"], second["stay"]) == ("", "", "a;c")
    assert [second[f"n_{kind}"] for kind in ("enter", "leave", "stay")] == [0, 0, 2]


def test_one_sparse_method_alone_speaks_by_its_weights():
    for method in ("l1", "sparse"):
        weights = {"symbol": ["a", "b"], f"weight_{method}": [0.5, 0]}
        table = tabulate_ages({"P4": pd.DataFrame(weights)})
        assert table.set_index("symbol")["P4"].to_dict() == {"a": "kept", "b": "dropped"}
    with pytest.raises(ValueError, match="a weight of one of"):
        tabulate_ages({"P4": pd.DataFrame({"symbol": ["a"]})})


def test_of_two_features_of_a_gene_the_higher_ranked_speaks():
    twice = pd.DataFrame({"symbol": ["a", "a"], "verdict": ["kept by both", "neither"]})
    assert tabulate_ages({"P4": twice})["P4"].tolist() == ["kept by both"]


def test_tables_survive_their_files(tmp_path, table):
    write_table(table, tmp_path / "kept_by_age.csv")
    read, ages = read_ages(tmp_path / "kept_by_age.csv")
    assert ages == ["E11.5", "E13.5", "P4"]
    pd.testing.assert_frame_equal(read, table, check_dtype=False)
    changes = tabulate_changes(table, ages)
    CHANGES.write(tmp_path / "changes.csv", changes)
    pd.testing.assert_frame_equal(CHANGES.read(tmp_path / "changes.csv"), changes)
    (tmp_path / "changes.csv").write_text("x\n")
    for reader in (read_ages, CHANGES.read):
        with pytest.raises(ValueError, match="written by rule compare_ages"):
            reader(tmp_path / "changes.csv")
