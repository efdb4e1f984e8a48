import dataclasses

import pandas as pd
import pytest

from sparsekm.reporting.page_tables import (
    score_table,
    statistics_table,
    view_table,
)


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
