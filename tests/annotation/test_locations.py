import tracemalloc

import numpy as np
import pandas as pd
import pytest

from sparsekm.annotation.locations import find_highest, locate_features
from sparsekm.io import matrix_file
from sparsekm.io.matrix_file import MatrixFile
from sparsekm.io.normalised_file import write_normalised


def test_effect_is_cohens_d_by_its_definition(seed):
    X = np.random.default_rng(seed).normal(size=(30, 5))
    codes = np.repeat([0, 1, 2], [5, 10, 15])
    groups, effects, leads = find_highest(X, codes, 3)
    for j in range(5):
        means = [X[codes == k, j].mean() for k in range(3)]
        assert groups[j] == np.argmax(means)
        inside, outside = X[codes == groups[j], j], X[codes != groups[j], j]
        spread = sum((part - part.mean()) @ (part - part.mean()) for part in (inside, outside))
        expected = (inside.mean() - outside.mean()) / np.sqrt(spread / 28)
        assert effects[j] == pytest.approx(expected)
        assert leads[j] == pytest.approx(sorted(means)[-1] - sorted(means)[-2])


def test_units_do_not_matter(seed):
    X = np.random.default_rng(seed).normal(size=(20, 4))
    codes = np.arange(20) % 3
    first, second = find_highest(X, codes, 3), find_highest(1e6 * X + 7, codes, 3)
    assert list(first[0]) == list(second[0])
    np.testing.assert_allclose(first[1], second[1], rtol=1e-6)


def test_memory_is_that_of_a_few_blocks_for_any_number_of_samples_and_groups():
    X = np.zeros((300_000, 64), dtype=np.float32)
    codes = np.arange(len(X)) % 100
    tracemalloc.start()
    find_highest(X, codes, 100)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * matrix_file.NUMBERS_AT_ONCE * 8


def test_samples_of_no_group_are_left_out_of_every_block(seed, monkeypatch):
    X = np.random.default_rng(seed).normal(size=(40, 11))
    codes = np.arange(40) % 4 - 1
    codes[:10] = -1
    expected = find_highest(X[codes >= 0], codes[codes >= 0], 3)
    monkeypatch.setattr(matrix_file, "NUMBERS_AT_ONCE", 50)
    found = find_highest(X, codes, 3)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-12)


def test_a_file_gives_what_its_matrix_gives_though_samples_have_no_class(tmp_path, seed):
    X = np.random.default_rng(seed).normal(size=(12, 4)).astype(np.float32)
    labels = np.array(["", "a", "b"] * 4, dtype=object)
    obs = pd.DataFrame({"label": labels}, index=[f"s{i}" for i in range(12)])
    var = pd.DataFrame(index=list("wxyz"))
    write_normalised(tmp_path / "normalised.h5ad", X, obs, var, {})
    clusters = np.arange(12) % 2
    table = locate_features(MatrixFile(tmp_path / "normalised.h5ad"), clusters, labels)
    pd.testing.assert_frame_equal(table, locate_features(X, clusters, labels))


def test_no_spread_is_no_effect():
    constant = np.full((6, 1), 0.1)
    for codes in (np.array([0, 0, 0, 1, 1, 1]), np.zeros(6, int)):
        groups, effects, _ = find_highest(constant, codes, 2)
        assert groups[0] == 0
        assert np.isnan(effects[0])
    _, effects, _ = find_highest(np.array([[1.0], [1.0], [2.0], [2.0]]), [0, 0, 1, 1], 2)
    assert np.isnan(effects[0])


def test_lead_is_the_distance_to_the_next_group_that_has_samples():
    # Means of groups 0, 1 and 3: 1, 7 and 4; group 2 is empty, and -1 is no group.
    X = np.array([[0.0], [2.0], [7.0], [4.0], [99.0]])
    assert find_highest(X, [0, 0, 1, 3, -1], 4).lead.tolist() == [3]
    # Two groups share the highest mean: the feature leads in neither.
    assert find_highest(X[[0, 2, 2]], [0, 1, 2], 3).lead.tolist() == [0]
    assert np.isnan(find_highest(X, [1, 1, 1, 1, 1], 3).lead[0])


def test_table_names_classes_and_leaves_them_out_where_there_are_none():
    X = np.array([[0.0], [0.1], [5.0], [5.2]])
    table = locate_features(X, np.array([1, 1, 0, 0]), np.array(["b", "b", "a", "a"]))
    assert table.loc[0, "highest_cluster"] == 0
    assert table.loc[0, "highest_label"] == "a"
    assert table.loc[0, "effect_label"] == table.loc[0, "effect_cluster"] > 10
    partly = locate_features(X, np.array([1, 1, 0, 0]), np.array(["", "b", "a", "a"]))
    assert partly.loc[0, "highest_label"] == "a"
    assert partly.loc[0, "effect_label"] == pytest.approx(5 / (0.02**0.5))
    assert table.loc[0, "lead_label"] == table.loc[0, "lead_cluster"] == pytest.approx(5.05)
    columns = ["highest_cluster", "effect_cluster", "lead_cluster"]
    assert list(locate_features(X, np.array([1, 1, 0, 0]))) == columns
