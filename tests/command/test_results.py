"""The last lines of `sparsekm run`: the scores of every method."""

from pathlib import Path

import numpy as np
import pytest
from sound_files import ATTRIBUTES
from written_files import save_fit

from sparsekm.command.run import describe_results
from sparsekm.io.tables import SCORES

RATES = {"cer": 0.125, "cer_chance": 0.5, "ari": 0.75, "ami": -0.0625}
NAMES, SHOWN = ["CER", "chance", "ARI", "AMI"], ["0.125", "0.500", "0.750", "-0.062"]


def describe(root, rates, *methods):
    for method in methods:
        row = {"dataset": "own", "method": method, "n_clusters": 3, "n_nonzero_weights": 1500}
        file = root / "results" / "own" / method / "scores.csv"
        SCORES.write_row(file, {**dict.fromkeys(SCORES.columns), **row, **rates})
    return describe_results(root, {"matrices": {"own": {}}}, lambda path: path.name)


@pytest.mark.parametrize("known", [True, False])
def test_rates_are_shown_with_that_of_chance_where_classes_are_known(tmp_path, known):
    lines = describe(tmp_path, RATES if known else {}, "l0")
    head, found = (line.split() for line in lines[1:3])
    assert head == ["own", "clusters", "features", "kept", *(NAMES if known else [])]
    assert found == ["ℓ₀-k-means", "3", "1,500", *(SHOWN if known else [])]
    assert any("chance:" in line for line in lines) == known
    # The columns of numbers end where their names end.
    assert len(lines[1]) == len(lines[2])


def test_the_answer_comes_first_with_its_conclusion_and_tables(tmp_path):
    place, two = tmp_path / "results" / "own", np.ones(2)
    about = {**ATTRIBUTES, "conclusion": "The answer, " + "in many words " * 20}
    save_fit(place / "sparse" / "tuned.h5", np.eye(2), [0, 1], two, about)
    for name in ("clusters.csv", "ranked.zip"):
        Path(place, name).write_text("")
    lines = describe(tmp_path, {}, "l0", "sparse")
    assert [line.split()[0] for line in lines[2:4]] == ["Sparse", "ℓ₀-k-means"]
    assert lines[4].startswith("  The answer, in many words")
    assert max(map(len, lines)) <= 100
    assert "  Clusters: clusters.csv" in lines
    assert "  Ranked:   ranked.zip" in lines
    assert not any("Features:" in line for line in lines)
