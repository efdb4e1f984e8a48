"""Rules of the tuning study that make fits of their own stand beside those that read a path."""

import numpy as np
import pytest

from sparsekm.simulation.designs import experiment_2
from sparsekm.studies.tuning.comparison import StudyEffort, compare_rules, rule_costs
from sparsekm.studies.tuning.study_data import StudyData

EFFORT = StudyEffort(n_init=1, n_sparsities=3, n_references=2, n_splits=2, min_cluster_size=3)


@pytest.fixture(scope="module")
def table():
    drawn = experiment_2(mu=1.5, n_features=60, n_relevant=10, random_state=0)
    data = StudyData(drawn.X, drawn.n_clusters, drawn.labels, np.asarray(drawn.relevant))
    return compare_rules(data, EFFORT, seed=0).set_index("rule")


def test_every_rule_has_one_row_and_a_cost(table):
    assert table.index.is_unique
    assert set(table.index) == set(rule_costs(EFFORT))
    assert table["fits"].notna().all()


def test_the_consensus_finds_well_separated_clusters_and_their_features(table):
    found = table.loc["consensus"]
    assert found["cer"] == 0
    assert found["proper_nonzero"] == 1
    assert found["sparsity"] < 20
    assert found["sparsity"] == table.loc["consensus, optimum", "sparsity"]
