"""A penalty is one object: its weights are the same from Python and inside the compiled search."""

import os
import subprocess
import sys
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest

from sparsekm.cluster.kmeans.climb import climb
from sparsekm.cluster.matrices.matrix import CentredMatrix
from sparsekm.cluster.partition_step import KMeansPartition
from sparsekm.cluster.search.memetic_search import ExchangeClimb, Search
from sparsekm.cluster.weight_step import CompiledStep, SoftThreshold, TopFeatures


class Podium(CompiledStep, NamedTuple("Podium", [("first", float), ("second", float)])):
    """Two features have a weight: the best and the next best, ties by index."""

    def weigh_into(self, scores, support, values):
        order = np.argsort(-scores, kind="mergesort")
        best, following = order[0], order[1]
        support[0], support[1] = min(best, following), max(best, following)
        values[0] = self.first if best < following else self.second
        values[1] = self.second if best < following else self.first
        return 2


STEPS = [TopFeatures(2), TopFeatures(9), SoftThreshold(1.5), Podium(1.0, 0.5)]


def best_of_all_partitions(rows, n_clusters, step):
    """Return the largest objective, the labels of the first sample being 0."""
    largest = 0.0
    for others in product(range(n_clusters), repeat=len(rows) - 1):
        members = np.eye(n_clusters)[[0, *others]]
        sizes = members.sum(axis=0)
        if sizes.min() > 0:
            scores = ((members.T @ rows) ** 2 / sizes[:, None]).sum(axis=0)
            largest = max(largest, step.weigh(scores) @ scores)
    return largest


@pytest.fixture
def rows():
    rows = np.random.default_rng(4).normal(size=(9, 9))
    return rows - rows.mean(axis=0)


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_a_penalty_weighs_alike_from_python_and_compiled(step):
    scores = np.random.default_rng(0).random(9)
    support, values = np.empty(9, np.int64), np.empty(9)
    by_hand = np.zeros(9)
    size = step.weigh_into(scores, support, values)
    by_hand[support[:size]] = values[:size]
    np.testing.assert_array_equal(step.weigh(scores), by_hand)
    assert step.keeps_all(9) == bool((by_hand == 1).all())


def test_a_penalty_of_ones_own_has_the_weights_it_says():
    assert Podium(3.0, 2.0).weigh([1.0, 5.0, 4.0, 5.0]).tolist() == [0, 3, 0, 2]


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_every_penalty_steers_the_compiled_searches(step, rows, score_by_pairs):
    largest = best_of_all_partitions(rows, 3, step)
    climber = ExchangeClimb(CentredMatrix(rows), KMeansPartition(3), [step])
    search = Search(climber, 3, np.random.default_rng(0))
    search.start()
    search.evolve(10, lambda done: None)
    scores = score_by_pairs(rows, search.best[0])
    assert step.weigh(scores) @ scores == pytest.approx(largest, rel=1e-12)
    labels = (np.arange(9) % 3).astype(np.int32)
    before = score_by_pairs(rows, labels)
    objective = climb(rows, labels, 3, step, 1, 0.0)
    scores = score_by_pairs(rows, labels)
    assert objective == pytest.approx(step.weigh(scores) @ scores, rel=1e-12)
    assert step.weigh(before) @ before < objective <= largest * (1 + 1e-12)


PENALTY = """
from typing import NamedTuple

from sparsekm.cluster.weight_step import CompiledStep


class Only(CompiledStep, NamedTuple("Only", [("value", float)])):
    def weigh_into(self, scores, support, values):
        support[0] = {feature}
        values[0] = self.value
        return 1
"""


def test_an_edited_penalty_of_ones_own_is_compiled_anew(tmp_path):
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    program = "from own import Only; print(Only(7.0).weigh([1.0, 2.0]).tolist())"
    answers = []
    for feature in (0, 1):
        (tmp_path / "own.py").write_text(PENALTY.format(feature=feature))
        run = [sys.executable, "-c", program]
        done = subprocess.run(run, env=environment, capture_output=True, text=True)
        answers.append(done.stdout.strip() or done.stderr)
    assert answers == ["[7.0, 0.0]", "[0.0, 7.0]"]
