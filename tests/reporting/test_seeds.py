"""The report of fits from several seeds: what they agree on, and what not."""

from dataclasses import replace

import pandas as pd
import pytest
from html_page import Page

from sparsekm.io.tables import SEEDS
from sparsekm.reporting.answer import view_answer
from sparsekm.reporting.methods_text import Citations, write_methods
from sparsekm.reporting.report import write_report


def with_seeds(result, **error_rates):
    """Give methods three fits with these error rates."""
    methods = dict(result.methods)
    for name, rates in error_rates.items():
        method = methods[name]
        table = pd.DataFrame(
            {
                "seed": range(3),
                "objective": method.objective,
                "n_nonzero_weights": method.n_kept,
                "n_kept_too": [method.n_kept, method.n_kept - 1, method.n_kept],
                "agreement": [1.0, 0.75, 0.875],
                "cer": rates,
                "cer_chance": 0.5,
                "ari": [1 - 2 * rate for rate in rates],
                "ami": [1 - 3 * rate for rate in rates],
            }
        )
        assert list(table) == list(SEEDS.columns)
        metrics = {name: table[name][0] for name in ("cer", "cer_chance", "ari", "ami")}
        methods[name] = replace(method, seeds=table, metrics=metrics)
    return replace(result, methods=methods)


@pytest.fixture
def seeded(matrix_result):
    same = [0.3125] * 3
    return with_seeds(matrix_result, kmeans=same, l1=same, l0=[0.125, 0.25, 0.0625])


def test_restarts_that_found_other_groups_are_told_first(seeded, matrix_result):
    warnings = view_answer(seeded).warnings
    assert "2 of 2 restarts found other groups (agreement 0.75 to 0.88; 1: identical" in warnings[0]
    l0 = seeded.methods["l0"]
    better = replace(l0, seeds=l0.seeds.assign(objective=[1, 2, 1] * l0.seeds["objective"]))
    told = view_answer(replace(seeded, methods={"l0": better})).warnings[0]
    assert "other groups, 1 of them with a better fit (agreement" in told
    same = replace(l0, seeds=l0.seeds.assign(agreement=1.0))
    assert view_answer(replace(seeded, methods={"l0": same})).warnings == []
    assert view_answer(matrix_result).warnings == []


def test_the_comparison_has_the_agreement_over_seeds_of_every_method(seeded, tmp_path):
    write_report([seeded], tmp_path / "report.html")
    rows = Page((tmp_path / "report.html").read_text(encoding="utf-8")).rows(["method"])
    assert list(rows) == ["ℓ₀-k-means", "k-means", "ℓ₁-k-means"]
    assert rows["ℓ₀-k-means"][:4] == ["the answer", "0.75 to 0.88", "3", "0.1250"]
    assert rows["k-means"][:2] == ["1.00", "0.75 to 0.88"]


def test_methods_say_how_the_other_fits_were_made(seeded, matrix_result):
    text = " ".join(write_methods([seeded], Citations()))
    assert (
        "At the chosen sparsity all samples were clustered from 3 seeds, and the fit with the "
        "largest objective is shown for k-means, ℓ₁-k-means and ℓ₀-k-means; ranges"
    ) in text
    assert "with replacement" not in text.split("from 3 seeds")[1].split("change.")[0]
    assert "seeds" not in " ".join(write_methods([matrix_result], Citations()))
    sparse = replace(seeded.methods["l0"], name="sparse", attributes={})
    text = " ".join(write_methods([replace(seeded, methods={"sparse": sparse})], Citations()))
    assert "were clustered from 3 seeds; ranges" in text
