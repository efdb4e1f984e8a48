"""The last lines of `sparsekm run`: the scores of every method."""

from pathlib import Path

import numpy as np
import pytest
from sound_files import ATTRIBUTES

from sparsekm.command.run import describe_results
from sparsekm.io.store import TunedFit, write_fit
from sparsekm.io.tables import SCORES

RATES = {"cer": 0.125, "cer_chance": 0.5, "ari": 0.75, "ami": -0.0625}


@pytest.mark.parametrize("rates", [RATES, dict.fromkeys(RATES)])
def test_rates_are_shown_with_that_of_chance_where_classes_are_known(tmp_path, rates):
    row = {"dataset": "own", "method": "l0", "n_clusters": 3, "n_nonzero_weights": 1500}
    file = tmp_path / "results" / "own" / "l0" / "scores.csv"
    SCORES.write_row(file, {**dict.fromkeys(SCORES.columns), **row, **rates})
    lines = describe_results(tmp_path, {"matrices": {"own": {}}}, Path.as_posix)
    head, found = (line.split() for line in lines[1:3])
    names, values = ["CER", "chance", "ARI", "AMI"], ["0.125", "0.500", "0.750", "-0.062"]
    known = rates["cer"] is not None
    assert head == ["own", "clusters", "features", "kept", *(names if known else [])]
    assert found == ["ℓ₀-k-means", "3", "1,500", *(values if known else [])]
    assert any("chance:" in line for line in lines) == known
    # The columns of numbers end where their names end.
    assert len(lines[1]) == len(lines[2])


def test_the_answer_comes_first_with_its_conclusion_and_tables(tmp_path):
    place = tmp_path / "results" / "own"
    for method in ("l0", "sparse"):
        row = {"dataset": "own", "method": method, "n_clusters": 2, "n_nonzero_weights": 2}
        SCORES.write_row(place / method / "scores.csv", {**dict.fromkeys(SCORES.columns), **row})
    fit = TunedFit(
        sparsity=2.0,
        objective=1.0,
        labels=np.array([0, 1], dtype=np.int32),
        scores=np.ones(2),
        weights=np.ones(2),
        centers=np.zeros((2, 2)),
        attributes={**ATTRIBUTES, "conclusion": "The answer, " + "in many words " * 20},
    )
    write_fit(place / "sparse" / "tuned.h5", fit)
    (place / "clusters.csv").write_text("")
    (place / "ranked.zip").write_text("")
    lines = describe_results(tmp_path, {"matrices": {"own": {}}}, lambda path: path.name)
    assert [line.split()[0] for line in lines[2:4]] == ["Sparse", "ℓ₀-k-means"]
    assert lines[4].startswith("  The answer, in many words")
    assert max(map(len, lines)) <= 100
    assert "  Clusters: clusters.csv" in lines
    assert "  Ranked:   ranked.zip" in lines
    assert not any("Features:" in line for line in lines)
