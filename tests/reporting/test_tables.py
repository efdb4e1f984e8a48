import dataclasses

import pandas as pd
import pytest

from sparsekm.reporting.page_tables import (
    excluded_counts,
    score_table,
    statistics_table,
    view_table,
)


def test_cer_table_has_methods_by_data_sets(brain_result, matrix_result):
    table = score_table([brain_result, matrix_result], "cer")
    assert list(table.index) == ["k-means", "ℓ₁-k-means", "ℓ₀-k-means"]
    assert list(table.columns) == ["E11.5", "toy"]
    assert table["toy"].tolist() == [0.3125, 0.0625, 0.125]


def test_nw_table_counts_weights_other_than_zero(brain_result, matrix_result):
    table = score_table([brain_result, matrix_result], "n_kept")
    assert table["E11.5"].tolist() == [8, 6, 4]
    assert table["toy"].tolist() == [6, 5, 3]


def test_method_that_was_not_run_leaves_a_gap(brain_result, matrix_result):
    fewer = dataclasses.replace(brain_result, methods={"kmeans": brain_result.methods["kmeans"]})
    table = score_table([fewer, matrix_result], "n_kept")
    assert pd.isna(table.loc["ℓ₀-k-means", "E11.5"])
    assert table.loc["ℓ₀-k-means", "toy"] == 3


def test_statistics_count_genes_voxels_regions_and_what_was_excluded(brain_result):
    table = statistics_table([brain_result])
    assert table["E11.5"].to_dict() == {
        "number of genes": 8,
        "number of voxels": 120,
        "number of regions": 3,
        "voxels excluded: ventricle": 17,
        "genes dropped: missing values": 4,
    }


def test_lists_of_dropped_features_are_counted(matrix_result):
    assert excluded_counts(matrix_result.provenance) == {"features dropped: constant": 3}


@pytest.mark.parametrize(
    ("origins", "columns", "whole"),
    [
        ({"a": True, "b": True}, [False, False], True),
        ({"a": True, "b": False}, [True, False], False),
        ({"a": False, "b": False}, [False, False], False),
    ],
)
def test_simulated_numbers_are_marked_once(origins, columns, whole):
    view = view_table(pd.DataFrame({"a": [1], "b": [2]}), "", write=str, simulated=origins)
    assert [column.simulated for column in view.columns[1:]] == columns
    assert view.simulated is whole
