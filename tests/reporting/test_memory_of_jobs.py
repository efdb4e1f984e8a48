"""What the jobs after the tuning take of memory, as their own scripts log it."""

from pathlib import Path

import pytest
from benchmarks.report_memory import RULES, benchmark

ROOT = Path(__file__).resolve().parents[2]
# 8,000 samples x 16,000 features in single precision.
MATRIX_MEGABYTES = 488


@pytest.mark.release
def test_no_job_holds_the_matrix_or_takes_more_than_its_rule_asks_for(monkeypatch):
    monkeypatch.chdir(ROOT)
    # Both have more samples than are drawn without a UMAP, whose own code takes 200 MB.
    table = benchmark([(600, 100), (8_000, 16_000)])
    assert (table["peak_mb"] < table["asked_mb"]).all()
    small, large = (part.set_index("rule")["peak_mb"] for _, part in table.groupby("n_samples"))
    assert list(large.index) == RULES
    assert (large - small < 0.5 * MATRIX_MEGABYTES).all()
