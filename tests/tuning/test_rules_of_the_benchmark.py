"""The benchmark of tuning rules: its designs hold what they say, and its table what is passed."""

import numpy as np
import pandas as pd
from benchmarks import tuning_rules
from benchmarks.tuning_rules import fit_rules, summarise

from sparsekm.simulation.designs import experiment_2


def test_every_rule_has_one_row_and_clear_clusters_are_found_apart_and_counted(monkeypatch):
    for name, value in (("N_REFERENCES", 2), ("N_SPARSITIES", 3), ("FIRST", 20)):
        monkeypatch.setattr(tuning_rules, name, value)
    data = experiment_2(mu=4, n_features=30, n_relevant=8, random_state=0)
    table = fit_rules(data, 0)
    assert len(table) == table["rule"].nunique() == 15
    found = table.set_index("rule")
    assert found.loc["best on path", "cer"] == 0
    for rule in ("SparseKMeans", "SparseKMeans, auto"):
        assert found.loc[rule, ["cer", "apart", "known"]].tolist() == [0, 1, 1]
        assert found.loc[rule, "share"] < 0.5
    assert found.loc["k-means", "share"] == 1
    assert found.loc["k-means, first", "share"] == 20 / 30


def test_what_a_rule_passes_worked_by_hand():
    rows = [
        ("independent", "a", "permutation, max", [0.08, 0.12], 0.9),
        ("independent", "a", "near", [0.11, 0.11], 0.9),
        ("independent", "a", "far", [0.12, 0.11], 0.1),
        ("independent", "a", "k-means", [0.2, 0.2], 1.0),
        ("correlated", "b", "permutation, max", [0.3, 0.3], 0.2),
        ("correlated", "b", "near", [0.2, 0.21], 0.25),
        ("correlated", "b", "far", [0.2, 0.2], 0.26),
        ("correlated", "b", "k-means", [0.2, 0.2], 1.0),
        ("no clusters", "c", "near", [np.nan, np.nan], 0.5),
    ]
    columns = ["kind", "design", "rule", "cer", "share"]
    table = pd.DataFrame(rows, columns=columns).explode("cer").astype({"cer": float})
    passes = summarise(table).set_index(["design", "rule"])["passes"]
    summary = passes.drop("all", level="design")
    assert summary["a"].to_dict() == {"permutation, max": 1, "near": 1, "far": 0, "k-means": 0}
    assert summary["b"].to_dict() == {"permutation, max": 0, "near": 1, "far": 0, "k-means": 0}
    assert np.isnan(summary["c", "near"])
