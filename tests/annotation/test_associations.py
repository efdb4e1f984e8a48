"""Columns that go with the clusters are told from those that do not."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2_contingency, kruskal

from sparsekm.annotation.clusters import associate


@pytest.fixture
def labels():
    return np.repeat([0, 1, 2], 20)


def test_numbers_and_categories_have_the_tests_of_scipy(labels):
    rng = np.random.default_rng(0)
    age, sex = pd.Series(rng.normal(size=60) + labels), pd.Series(rng.choice(["f", "m"], 60))
    table = associate(labels, {"sex": sex, "age": age}).set_index("column")
    statistic, p = kruskal(*(age[labels == k] for k in range(3)))
    assert table.loc["age", "p"] == pytest.approx(p)
    assert table.loc["age", "effect"] == pytest.approx(statistic / 59)
    expected = chi2_contingency(pd.crosstab(labels, sex), correction=False).pvalue
    assert table.loc["sex", "p"] == pytest.approx(expected)
    # The larger of two p-values stays, the smaller doubles at most.
    assert table.loc["sex", "q"] == pytest.approx(max(table["p"]))
    assert table.loc["age", "q"] == pytest.approx(min(2 * p, max(table["p"])))


def test_a_batch_that_is_the_clusters_has_an_effect_of_one_and_stands_first(labels):
    batch = pd.Series(np.array(["x", "y", "z"], dtype=object)[labels])
    table = associate(labels, {"noise": pd.Series(np.arange(60) % 2), "batch": batch})
    assert table["column"].tolist() == ["batch", "noise"]
    assert table["effect"][0] == pytest.approx(1)


def test_missing_values_are_left_out_and_a_constant_column_has_no_effect(labels):
    values = pd.Series(np.where(np.arange(60) < 5, np.nan, labels * 1.0))
    table = associate(labels, {"some": values, "same": pd.Series(["a"] * 60)})
    table = table.set_index("column")
    assert table.loc["some", "n"] == 55
    assert table.loc["same", ["effect", "p"]].tolist() == [0, 1]
    assert associate(labels, {}).empty
