"""Means and spreads by hand, wins and losses, published errors and their sources."""

import numpy as np
import pandas as pd
import pytest

from sparsekm.figures.palette import METHOD_LOOKS
from sparsekm.figures.style import figure_png, figure_svg
from sparsekm.studies.yardstick.figure import yardstick_figure
from sparsekm.studies.yardstick.published import STATUSES, add_published, read_published
from sparsekm.studies.yardstick.summary import count_wins, summarise


def rows(data_set, method, errors, n_kept=(4, 4), seconds=(9.0, 1.0), n_samples=20):
    return pd.DataFrame(
        {
            "data_set": data_set,
            "method": method,
            "seed": range(len(errors)),
            "n_available": n_samples,
            "n_samples": n_samples,
            "n_features": 8,
            "n_clusters": 2,
            "error": errors,
            "cer": [2 * error for error in errors],
            "ari": [1 - error for error in errors],
            "n_kept": n_kept,
            "seconds": seconds,
        }
    )


TABLE = pd.concat(
    [
        rows("first", "kmeans", [0.2, 0.2], n_kept=(8, 8)),
        rows("first", "l0", [0.1, 0.3], n_kept=(2, 4)),
        rows("first", "scfs", [0.1, 0.1]),
        rows("second", "kmeans", [0.2, 0.2], n_kept=(8, 8)),
        rows("second", "l0", [0.2, 0.25]),
        rows("second", "scfs", [0.4, 0.4]),
    ]
)
PUBLISHED = pd.DataFrame(
    {
        "source": "https://example.org",
        "data_set": ["First", "Other"],
        "n_samples": 20,
        "n_features": 8,
        "n_clusters": [2, 3],
        "method": "l0",
        "error": [0.15, 0.5],
        "status": "unchecked",
        "recomputed": np.nan,
    }
)


def test_means_standard_deviations_and_median_seconds_are_those_worked_by_hand():
    summary = summarise(TABLE).set_index(["data_set", "method"])
    line = summary.loc[("first", "l0")]
    assert line["seeds"] == 2
    assert line["error"] == pytest.approx(0.2)
    # Deviations of .1 to both sides: sqrt((.01 + .01) / 1).
    assert line["error_sd"] == pytest.approx(np.sqrt(0.02))
    assert line["cer_sd"] == pytest.approx(2 * np.sqrt(0.02))
    assert line["ari"] == pytest.approx(0.8)
    assert (line["n_kept"], line["n_kept_sd"]) == (3, pytest.approx(np.sqrt(2)))
    long = rows("first", "l0", [0.1] * 3, n_kept=[4] * 3, seconds=[60.0, 1.0, 2.0])
    assert summarise(long)["seconds"].item() == 2.0


def test_losses_are_counted_like_wins_and_less_than_half_a_sample_is_neither():
    overview = count_wins(summarise(TABLE)).set_index("method")
    # Half a sample of 20 is .025: l0 is the same on the first set, and worse by just that on the
    # second; SC-FS is better by .1 and worse by .2.
    counts = ["better", "same", "worse"]
    assert overview.loc["l0", counts].tolist() == [0, 1, 1]
    assert overview.loc["scfs", counts].tolist() == [1, 0, 1]
    assert overview.loc["kmeans", counts].tolist() == [0, 2, 0]
    assert overview.loc["scfs", "error"] == pytest.approx(0.25)
    assert overview.loc["l0", "share"] == pytest.approx((3 / 8 + 4 / 8) / 2)


def test_a_published_error_stands_beside_the_same_method_on_the_same_set_alone():
    known = TABLE.assign(data_set=TABLE["data_set"].replace("first", "first_20x8"))
    beside = add_published(summarise(known), PUBLISHED).set_index(["data_set", "method"])
    line = beside.loc[("first_20x8", "l0")]
    assert (line["published_error"], line["published_status"]) == (0.15, "unchecked")
    assert beside["published_error"].notna().sum() == 1
    other_size = summarise(known.assign(n_features=9))
    assert add_published(other_size, PUBLISHED)["published_error"].isna().all()


def test_the_published_table_loads_and_every_row_has_a_source_and_a_status(project_root):
    file = project_root / "data" / "paper" / "real_set_errors.csv"
    published = read_published(file)
    assert len(published) == 30
    assert set(published["status"]) == set(STATUSES)
    assert published["source"].str.startswith("https://").all()
    # A share of so many samples, averaged over runs where it is no whole number of them.
    leukemia = published.set_index(["data_set", "method"]).loc[("Leukemia", "ifpca")]
    assert round(leukemia["error"] * leukemia["n_samples"], 1) == 5.0


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("error", 1.5, "error between 0 and 1"),
        ("status", "sure", "have a status of"),
        ("data_set", "First", "should occur once"),
    ],
)
def test_a_row_that_breaks_a_rule_of_the_published_table_is_named(tmp_path, column, value, message):
    table = PUBLISHED.astype({"recomputed": float})
    table.loc[1, column] = value
    table.to_csv(tmp_path / "published.csv", index=False)
    with pytest.raises(ValueError, match=message):
        read_published(tmp_path / "published.csv")


def test_the_figure_has_a_mark_per_set_and_method_and_names_them():
    summary = add_published(summarise(TABLE), PUBLISHED)
    figure = yardstick_figure(TABLE, summary)
    left, right = figure.axes
    for axes, values in ((left, summary["error"]), (right, summary["n_kept"] / 8)):
        drawn = np.concatenate([line.get_xdata() for line in axes.lines if len(line.get_xdata())])
        for value in values:
            assert np.isclose(drawn, value).any()
    # A ring for the published error.
    assert np.isclose(np.concatenate([line.get_xdata() for line in left.lines]), 0.15).any()
    labels = [text.get_text() for text in left.get_yticklabels()]
    assert labels == ["first\n20 × 8, K = 2", "second\n20 × 8, K = 2"]
    said = [text.get_text() for text in figure.legends[0].get_texts()]
    titles = [METHOD_LOOKS[name].title for name in ("kmeans", "l0", "scfs")]
    assert said == [*titles, "ring: published"]
    assert "<svg" in figure_svg(figure)
    assert figure_png(figure).startswith(b"\x89PNG")
