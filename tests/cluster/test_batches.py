"""The answer with and without centring within batches, and what is said of the two."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from small_estimators import weighing_estimators

from sparsekm import KMeans, StreamedMatrix, classification_error_rate
from sparsekm.cluster.batches import centre_within, clusters_of_batches

pytestmark = pytest.mark.usefixtures("one_repeat")
CLASSES = np.tile([0, 1], 20)
BATCHES = np.repeat(["monday", "tuesday"], 20)
ESTIMATORS = weighing_estimators(2, kept=6)
EVERY = pytest.mark.parametrize("name", ESTIMATORS)


def draw(effect, classes=CLASSES):
    """Give two classes in features 0 to 5, and an effect of Tuesday on all twenty."""
    X = np.random.default_rng(0).standard_normal((40, 20))
    X[:, :6] += 4 * classes[:, None]
    X[BATCHES == "tuesday"] += effect
    return X


def test_centring_gives_every_batch_the_means_of_all():
    X = np.array([[0.0, 1], [2, 1], [10, 3], [14, 3]])
    centred = centre_within(X, np.array([0, 0, 1, 1]))
    np.testing.assert_array_equal(centred, [[5.5, 2], [7.5, 2], [4.5, 2], [8.5, 2]])
    assert centre_within(X.astype(np.float32), np.array([0, 0, 1, 1])).dtype == np.float32


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([[10, 0], [0, 10]], [(0, 0), (1, 1)]),
        ([[5, 5], [5, 5]], []),
        # Both halves of a batch are of it.
        ([[10, 0], [10, 0], [0, 20]], [(0, 0), (1, 0), (2, 1)]),
        # Nearly all samples are of the first batch, in any cluster.
        ([[95, 0], [85, 20]], []),
        # A pair may be of one batch by chance, of ten batches it hardly is.
        ([[2, 0], [18, 20]], []),
        ([[2] + [0] * 14, [1] + [3] * 14], [(0, 0)]),
    ],
)
def test_a_cluster_is_a_batch_if_nearly_all_of_it_and_less_of_the_rest_is(counts, expected):
    assert clusters_of_batches(np.array(counts)) == expected


@EVERY
def test_an_effect_of_batches_is_seen_and_centring_removes_it(name):
    X = draw(effect=12)
    with pytest.warns(UserWarning, match="batch") as said:
        found = ESTIMATORS[name].fit(X, batch=BATCHES)
    text = str(said[0].message)
    assert "is a batch: 20 of its 20 samples are of batch 'monday'" in text
    assert "adjusted Rand index of -0.0" in text
    assert "centring moves the classes" in text
    assert classification_error_rate(found.labels_, BATCHES) == 0
    assert classification_error_rate(found.batch_centred_.labels_, CLASSES) == 0
    assert found.batch_agreement_ < 0.1
    assert found.batch_shares_.columns.tolist() == ["monday", "tuesday"]
    np.testing.assert_array_equal(found.batch_shares_, np.eye(2))


@EVERY
def test_without_an_effect_nothing_is_said_and_the_answer_is_that_without_batches(name):
    X, estimator = pd.DataFrame(draw(effect=0)).add_prefix("gene "), ESTIMATORS[name]
    with warnings.catch_warnings(action="error"):
        found = estimator.fit(X, batch=pd.Series(BATCHES))
    labels, weights, agreement = found.labels_, found.feature_weights_, found.batch_agreement_
    assert agreement == 1
    np.testing.assert_array_equal(found.batch_shares_, [[0.5, 0.5]] * 2)
    assert found.batch_centred_.feature_names_in_[0] == "gene 0"
    again = estimator.fit(X)
    np.testing.assert_array_equal(again.labels_, labels)
    np.testing.assert_array_equal(again.feature_weights_, weights)
    # What an earlier fit knew of batches is gone.
    assert not [given for given in vars(again) if given.startswith("batch_")]


def test_centring_moves_classes_that_batches_hold_alone():
    # Class 1 is Tuesday's alone: its mean, and with it the class, is taken away.
    classes = (BATCHES == "tuesday").astype(int)
    with pytest.warns(UserWarning, match=r"agree with an adjusted Rand index of .* \(< 0.8\)"):
        found = KMeans(2, random_state=0).fit(draw(0, classes), batch=BATCHES)
    assert classification_error_rate(found.labels_, classes) == 0
    assert classification_error_rate(found.batch_centred_.labels_, classes) > 0.3


@EVERY
@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (BATCHES[:39], r"batch: shape=\(39,\) should be \(40,\)"),
        (["a"] * 40, r"batch=\['a'\] should be at least two"),
        (["a"] * 39 + ["b"], "batch 'b' has 1 sample; should have >= 2.*Merge"),
        (["a"] * 39 + [None], "batch should have no missing value"),
    ],
)
def test_batches_that_cannot_be_are_refused_before_any_work(name, batch, message):
    estimator = ESTIMATORS[name]
    before = dict(vars(estimator))
    with pytest.raises(ValueError, match=message):
        estimator.fit(draw(0), batch=batch)
    assert vars(estimator).keys() == before.keys()


@EVERY
def test_sparse_and_streamed_data_are_refused_with_what_to_give(name):
    kinds = [csr_array(draw(0))]
    if name in ("KMeans", "L0KMeans", "L1KMeans"):
        kinds.append(StreamedMatrix(draw(0)))
    for X in kinds:
        with pytest.raises(TypeError, match=f"batch: X is of type {type(X).__name__}.*NumPy array"):
            ESTIMATORS[name].fit(X, batch=BATCHES)
