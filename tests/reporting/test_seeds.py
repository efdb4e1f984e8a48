"""The report of fits from several seeds: ranges, and no difference within them."""

import re
from dataclasses import replace

import pandas as pd
import pytest
from sparsekm.reporting.summary import summarise_dataset, summarise_run

from sparsekm.io.tables import SEEDS
from sparsekm.reporting.literature import Citations
from sparsekm.reporting.methods_text import write_methods
from sparsekm.reporting.report import write_report
from sparsekm.reporting.run_facts import describe_errors
from sparsekm.reporting.table_view import format_count, format_rate
from sparsekm.reporting.tables import spread_table

CAPTION = "below each is its range over 3 seeds, which is no standard error"
SENTENCE = (
    "each is of the fit shown and has no standard error; the tables under Results give ranges over "
    "3 seeds"
)


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


def test_ranges_stand_below_the_numbers(seeded, brain_result, tmp_path):
    table = spread_table([seeded, brain_result], "cer", format_rate)
    assert table["toy"].tolist() == ["all 3 seeds", "all 3 seeds", "0.0625 to 0.2500"]
    assert table["E11.5"].tolist() == ["", "", ""]
    assert spread_table([seeded], "n_kept", format_count)["toy"].tolist() == ["all 3 seeds"] * 3
    write_report([seeded], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<td>0.1250<br><small>0.0625 to 0.2500</small></td>" in page
    assert "of one fit" not in page.split("<h2>Results</h2>")[1].split("</section>")[0]


def test_a_downloaded_table_has_numbers_and_ranges_in_columns_of_their_own(
    seeded, examine_page, tmp_path
):
    write_report([seeded], tmp_path / "report.html")
    tables = examine_page(tmp_path / "report.html")["downloads"].values()
    rates = next(table for table in tables if "0.0625" in table).removeprefix("\ufeff")
    assert rates.splitlines() == [
        "method,toy,toy (below)",
        "k-means,0.3125,all 3 seeds",
        "ℓ₁-k-means,0.3125,all 3 seeds",
        "ℓ₀-k-means,0.1250,0.0625 to 0.2500",
    ]


def test_scores_that_no_data_set_has_are_left_out(seeded, tmp_path):
    bare = {
        name: replace(method, metrics={}, seeds=None) for name, method in seeded.methods.items()
    }
    write_report([replace(seeded, methods=bare)], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    results = page.split("<h2>Results</h2>")[1].split("</section>")[0]
    assert re.findall(r"<caption>(\w+):", results) == ["NW"]


def test_errors_are_named_where_they_are_known(seeded, brain_result):
    assert describe_errors([seeded]) == CAPTION
    assert describe_errors([brain_result]) == "each is of one fit and has no standard error"
    assert describe_errors([seeded, brain_result]) == f"{CAPTION}; those of E11.5 are of one fit"


def test_sentences_tell_where_the_ranges_are(seeded, brain_result):
    assert summarise_run([seeded])[-1] == f"Rates and numbers of features: {SENTENCE}."
    assert summarise_dataset(seeded)[-1] == f"Rates and numbers of features: {SENTENCE}."
    alone = "each is of the fit shown and has no standard error"
    assert summarise_run([brain_result])[-1] == f"Rates and numbers of features: {alone}."
    assert summarise_dataset(brain_result)[-1] == f"Rates and numbers of genes: {alone}."


def test_without_labels_only_the_numbers_kept_have_a_range(seeded):
    l0 = seeded.methods["l0"]
    bare = l0.seeds.assign(cer=float("nan"))
    bare = replace(seeded, methods={"l0": replace(l0, seeds=bare)})
    assert spread_table([bare], "cer", format_rate)["toy"].tolist() == [""]
    assert spread_table([bare], "n_kept", format_count)["toy"].tolist() == ["all 3 seeds"]


@pytest.mark.parametrize(
    ("highest", "said"), [(0.25, ""), (0.375, " (the ranges over seeds overlap)")]
)
def test_a_difference_within_the_seeds_is_no_finding(matrix_result, highest, said):
    result = with_seeds(matrix_result, kmeans=[0.3125] * 3, l0=[0.125, highest, 0.0625])
    text = " ".join(summarise_run([result]))
    assert f"of ℓ₀-k-means is 0.1250 (k-means: 0.3125){said}, and the adjusted" in text
    text = " ".join(summarise_run([result, replace(result, name="other")]))
    lower, neither = (0, " and not distinguishable from it in 2") if said else (2, "")
    assert f"is lower than that of k-means in {lower} of 2 data sets{neither}, and its" in text
    assert f"corrects for chance, is higher in {lower}." in text


def test_the_section_of_a_data_set_tells_how_the_other_fits_agree(seeded):
    text = " ".join(summarise_dataset(seeded))
    kept = seeded.methods["l0"].n_kept
    assert (
        "; 2 fits from other seeds agree with these clusters with an adjusted Rand index of 0.750 "
        f"to 0.875 and share {kept - 1} to {kept} of the features kept. "
    ) in text


def test_methods_say_how_the_other_fits_were_made(seeded, matrix_result):
    text = " ".join(write_methods([seeded], Citations()))
    assert (
        "At the chosen sparsity all samples were clustered from 3 seeds, and the fit with the "
        "largest objective is shown for k-means, ℓ₁-k-means and ℓ₀-k-means; ranges"
    ) in text
    assert "with replacement" not in text.split("from 3 seeds")[1].split("change.")[0]
    assert "seeds" not in " ".join(write_methods([matrix_result], Citations()))
    sparse = replace(seeded.methods["l0"], name="sparse", attributes={"n_resamplings": 20})
    text = " ".join(write_methods([replace(seeded, methods={"sparse": sparse})], Citations()))
    assert "were clustered from 3 seeds; ranges" in text
    assert "For Sparse k-means a seed draws as many resamplings" in text
