"""Other choices are fitted again and compared with the result."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from sparsekm import SparseKMeans
from sparsekm.cluster.matrices.scaled_data import ScaledData
from sparsekm.tuning import choices
from sparsekm.tuning.choices import compare_choices

pytestmark = pytest.mark.usefixtures("one_repeat")


@pytest.fixture(scope="module")
def clear():
    rng = np.random.default_rng(3)
    truth = np.arange(90) % 3
    X = rng.normal(size=(90, 240))
    X[:, :12] += 5.0 * (truth[:, None] == np.arange(12) % 3)
    return ScaledData.standardise(X), truth.astype(np.int32)


def compare(data, labels, kept=range(12), **more):
    estimator = SparseKMeans(3, random_state=0).make_estimator()
    return compare_choices(estimator, data, labels, np.array(kept), seed=1, **more)


def test_clear_groups_depend_on_no_choice(clear):
    told = []
    table = compare(*clear, progress=lambda *counts: told.append(counts))
    rows = table.set_index(["choice", "value"])
    assert list(rows.index) == [
        ("features screened", "200"),
        ("features screened", "all"),
        ("without the samples farthest out", "5%"),
        ("half of the samples", ""),
    ]
    assert rows["n_clusters"].tolist() == [3, 3, 3, 3]
    assert rows["n_samples"].tolist() == [90, 90, 86, 45]
    assert rows["n_features"].tolist() == [200, 240, 240, 240]
    assert (rows["agreement"] == 1).all()
    assert told[-1] == (4, 4)


@pytest.mark.parametrize(("n_samples", "is_halved"), [(12, False), (16, False), (24, True)])
def test_half_of_few_samples_is_not_asked_for(clear, n_samples, is_halved):
    data, labels = clear
    table = compare(data.take(np.arange(n_samples)), labels[:n_samples])
    assert ("half of the samples" in table["choice"].tolist()) == is_halved


def test_the_samples_farthest_from_their_centres_are_left_out(clear, monkeypatch):
    data, labels = clear
    X, far, taken = data.X.copy(), [7, 20, 33, 61], []
    X[far, 5] += 30
    take = ScaledData.take
    monkeypatch.setattr(ScaledData, "take", lambda *of: taken.append(of[1]) or take(*of))
    compare(ScaledData.standardise(X), labels)
    (near,) = [of for of in taken if not isinstance(of, slice) and len(of) == 86]
    assert near.tolist() == np.setdiff1d(np.arange(90), far).tolist()


def test_neither_order_nor_storage_of_the_features_makes_a_difference(clear):
    data, labels = clear
    last = ScaledData(data.X[:, ::-1], data.location[::-1], data.scale[::-1])
    pd.testing.assert_frame_equal(compare(last, labels, np.arange(228, 240)), compare(data, labels))
    X = data.X * (np.abs(data.X) > 0.5)
    dense, stored = (ScaledData.standardise(values) for values in (X, csr_array(X)))
    pd.testing.assert_frame_equal(compare(dense, labels), compare(stored, labels))


def test_of_many_samples_some_are_drawn(clear, monkeypatch):
    monkeypatch.setattr(choices, "MOST_SAMPLES", 60)
    table = compare(*clear)
    assert table["n_samples"].max() == 60
    assert (table["agreement"][table["n_clusters"] == 3] == 1).all()
