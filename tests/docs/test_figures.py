"""The figures of the last commits: the page shows the last row, and what got worse is named."""

import pandas as pd
from benchmarks.figures import BEGIN, END, FILE, OTHERS, PAGE, RATIOS, table_of, worse


def row(**changed):
    values = {column: 10.0 for pair in RATIOS.values() for column in pair[:2]}
    return values | dict.fromkeys(OTHERS, 10.0) | {"date": "2026-01-01"} | changed


def test_the_page_shows_the_last_row(project_root):
    text = (project_root / PAGE).read_text("utf-8")
    shown = text[text.index(BEGIN) + len(BEGIN) : text.index(END)]
    assert shown == table_of(pd.read_csv(FILE))


def test_a_ratio_that_got_a_fifth_worse_is_named_and_no_other():
    # Twice the seconds of both are another machine.
    other_machine = {column: 20.0 for pair in RATIOS.values() for column in pair[:2]}
    assert worse(pd.DataFrame([row(), row(**other_machine)])) == []
    assert worse(pd.DataFrame([row(), row(wide_cpu=11.9)])) == []
    (line,) = worse(pd.DataFrame([row(), row(wide_cpu=12.1)]))
    assert "wide" in line
    assert "1.21" in line


def test_a_ratio_is_ours_over_the_peers():
    table = table_of(pd.DataFrame([row(run_cpu=30.0)]))
    assert "| 30.00 | 10.00 | 3.0 |" in table
