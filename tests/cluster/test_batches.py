"""The answer with and without centring within batches, and what is said of the two."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from small_estimators import weighing_estimators

from sparsekm import KMeans, StreamedMatrix, classification_error_rate
from sparsekm.cluster.batches import (
    COINCIDE,
    association,
    centre_within,
    clusters_of_batches,
    describe_association,
)

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


def test_the_association_is_that_of_hand_worked_tables():
    # Four cells of (8 - 5)^2 / 5 make 7.2, which is .36 of n = 20, less 1 / 19 by chance; of the
    # length less 1 of each axis, 1 - 1 / 19 is left.
    assert association(np.array([[8, 2], [2, 8]])) == pytest.approx(
        np.sqrt((0.36 - 1 / 19) * 19 / 18)
    )
    # Four cells of 5^2 / 5 are 20 of n = 30, less 2 / 29 by chance.
    assert association(np.array([[10, 0], [5, 5], [0, 10]])) == pytest.approx(
        np.sqrt((2 / 3 - 2 / 29) / (1 - 1 / 29))
    )
    assert association(np.diag([4, 5, 6])) == pytest.approx(1)
    # Empty clusters and batches do not count, nor does what is all there is.
    assert association(np.array([[4, 0, 0], [0, 0, 0], [0, 0, 7]])) == pytest.approx(1)
    assert association(np.array([[3, 4], [0, 0]])) == 0
    assert association(np.eye(4, dtype=int)) == 0


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([[10, 0], [0, 10]], [0, 1]),
        ([[5, 5], [5, 5]], []),
        # Both halves of a batch are of it.
        ([[10, 0], [10, 0], [0, 20]], [0, 1, 2]),
        # One of two batches, or three thirds of each.
        ([[10, 10, 0, 0], [0, 0, 10, 10]], [0, 1]),
        ([[10, 0]] * 3 + [[0, 10]] * 3, [0, 1, 2, 3, 4, 5]),
        # Only the first is, although the table of all is associated, with a V of .68.
        ([[20, 0, 0]] + [[0, 10, 10]] * 5, [0]),
        # Nearly all samples are of the first batch, in any cluster.
        ([[95, 0], [85, 20]], []),
        # A few may be of one batch by chance, or of a batch of few, if there are other clusters.
        ([[2, 0], [18, 20]], []),
        ([[4] + [0] * 4] + [[1, 9, 9, 9, 9]] * 3, []),
        ([[5] + [0] * 4] + [[1, 9, 9, 9, 9]] * 3, [0]),
        # All others are four samples.
        ([[30, 1, 1], [0, 1, 1], [0, 1, 1]], []),
    ],
)
def test_clusters_coincide_with_batches_if_each_or_if_all_of_them_are_associated(counts, expected):
    assert clusters_of_batches(np.array(counts)) == expected


def test_what_coincides_is_said_with_the_strength():
    nearly = [[18, 2], [2, 18]]
    assert describe_association(np.array(nearly)) == (
        "clusters and batches coincide and cannot be told apart (bias-corrected Cramér's V 0.79)"
    )
    assert describe_association(np.array([[20, 0, 0]] + [[0, 10, 10]] * 5)) == (
        "cluster 0 coincides with batches and cannot be told from them "
        "(bias-corrected Cramér's V 0.68)"
    )
    assert describe_association(np.full((2, 2), 10)) == ""


@pytest.mark.parametrize("n_batches", [2, 3, 5])
@pytest.mark.parametrize("n_samples", [40, 300])
def test_independent_batches_hardly_ever_coincide_and_nearly_equal_ones_do(n_samples, n_batches):
    rng = np.random.default_rng([n_samples, n_batches])
    shares = np.r_[0.5, np.full(n_batches - 1, 0.5 / (n_batches - 1))]

    def associate(batches):
        counts = np.zeros((n_batches, n_batches), int)
        np.add.at(counts, (classes, batches), 1)
        return association(counts)

    alike, apart = [], []
    for _ in range(300):
        classes = rng.choice(n_batches, n_samples, p=shares)
        apart.append(associate(rng.choice(n_batches, n_samples, p=shares)))
        other = (classes + rng.integers(1, n_batches, n_samples)) % n_batches
        alike.append(associate(np.where(rng.random(n_samples) < 0.1, other, classes)))
    assert np.mean(np.array(apart) >= COINCIDE) < 0.01
    assert np.mean(np.array(alike) >= COINCIDE) > 0.95


@EVERY
def test_an_effect_of_batches_is_seen_and_centring_removes_it(name):
    X = draw(effect=12)
    with pytest.warns(UserWarning, match="batches") as said:
        found = ESTIMATORS[name].fit(X, batch=BATCHES)
    text = str(said[0].message)
    assert "clusters and batches coincide and cannot be told apart" in text
    assert "Cramér's V 1.00" in text
    assert "adjusted Rand index of only -0.0" in text
    assert "centring distorts the clusters" in text
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
    with pytest.warns(UserWarning, match=r"have an adjusted Rand index of .* \(< 0.8\)"):
        found = KMeans(2, random_state=0).fit(draw(0, classes), batch=BATCHES)
    assert classification_error_rate(found.labels_, classes) == 0
    assert classification_error_rate(found.batch_centred_.labels_, classes) > 0.3


@EVERY
@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (BATCHES[:39], r"batch: shape=\(39,\) should be \(40,\)"),
        (["a"] * 40, r"batch=\['a'\] should be at least two"),
        (["a"] * 39 + ["b"], "batch 'b' has 1 sample; a batch should have >= 2.*Merge"),
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
