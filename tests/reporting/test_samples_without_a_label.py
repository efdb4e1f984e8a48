"""The report on a data set in which some samples have no known class."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sparsekm.annotation.clusters import tabulate_overlap
from sparsekm.figures.style import DROPPED
from sparsekm.io.known_classes import UNKNOWN
from sparsekm.reporting.answer import view_answer
from sparsekm.reporting.clusters import class_colors, cluster_colors, view_anatomy
from sparsekm.reporting.page_tables import statistics_table


@pytest.fixture
def partly(matrix_result):
    """Of the twelve samples, those of the third class and one more have none."""
    codes = np.repeat([0, 1, -1], 4)
    codes[0] = -1
    obs = matrix_result.obs.assign(label=pd.Categorical.from_codes(codes, ["class 0", "class 1"]))
    result = replace(matrix_result, obs=obs)
    clusters = {name: method.labels for name, method in result.methods.items()}
    return replace(result, contingency=tabulate_overlap(clusters, result.labels))


def test_the_report_counts_them(partly):
    table = statistics_table([partly])["toy"]
    assert table["number of classes"] == 2
    assert table["samples without a known label"] == 5
    assert "These counts, CER and ARI leave out 5 samples" in view_anatomy(partly, "f").sentence


def test_where_there_are_none_nothing_is_said(matrix_result):
    assert "samples without a known label" not in statistics_table([matrix_result]).index


def test_they_are_grey_and_so_is_a_cluster_of_nothing_else(partly):
    assert class_colors(partly)[UNKNOWN] == DROPPED
    grey = [cluster for cluster, color in cluster_colors(partly).items() if color == DROPPED]
    assert grey == [2]
    facts = dict(view_answer(partly).facts)
    assert "5 samples have none" in facts["Known classes"]
