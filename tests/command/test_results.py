"""The last lines of `sparsekm run`: the scores of every method."""

from pathlib import Path

import pytest

from sparsekm.command.results import describe_results
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
