"""Resampling: the parts, the labels of samples left out, and the agreement."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from sparsekm.cluster.estimators import L0KMeans
from sparsekm.tuning.resampling import label_everyone, resample, split_rows


@pytest.fixture(scope="module", name="X")
def three_far_clusters():
    X = np.random.default_rng(0).standard_normal((31, 8))
    X[:10, :3] += 30
    X[10:20, :3] -= 30
    X.setflags(write=False)
    return X


@pytest.mark.parametrize("n_samples", [10, 31])
def test_halves_share_no_sample_and_subsamples_hold_four_fifths(n_samples):
    rng = np.random.default_rng(0)
    one, two = split_rows(n_samples, "halves", rng)
    assert len(one) == len(two) == n_samples // 2
    assert not set(one) & set(two)
    (part,) = split_rows(n_samples, "subsample", rng)
    assert len(set(part)) == np.ceil(0.8 * n_samples)
    for rows in (one, two, part):
        assert (np.diff(rows) > 0).all()
        assert rows.min() >= 0
        assert rows.max() < n_samples


def test_everyone_goes_to_the_nearest_centre_in_the_kept_features():
    # Kept features only the first: centres 1 and 11. The second would say otherwise.
    part = np.array([[0.0, 0.0], [2.0, 0.0], [10.0, 50.0], [12.0, 50.0]])
    labels = np.array([0, 0, 1, 1], dtype=np.int32)
    everyone = np.array([[5.9, 50.0], [6.1, 0.0], [200.0, 0.0]])
    kept_first = label_everyone(everyone, part, labels, np.array([1.0, 0.0]))
    assert kept_first.tolist() == [0, 1, 1]
    assert label_everyone(everyone, part, labels, np.ones(2)).tolist() == [1, 0, 1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_labels_of_everyone_are_those_that_the_estimator_predicts(X, dtype):
    X = X.astype(dtype)
    estimator = L0KMeans(3, sparsity=4, n_init=2, random_state=0).fit(X[:24])
    labels = label_everyone(X, X[:24], estimator.labels_, estimator.feature_weights_)
    np.testing.assert_array_equal(labels, estimator.predict(X))


def test_the_agreement_of_a_subsample_made_anew_by_hand(X):
    grid = np.array([2.0, 8.0])
    estimator = L0KMeans(4, n_init=2, random_state=0)
    whole = estimator.path(X, grid)
    found = resample(estimator, X, grid, scheme="subsample", index=3, seed=5, labels=whole.labels)
    rows_seed, fit_seed, _ = np.random.SeedSequence(5, spawn_key=(3, 2)).spawn(3)
    (rows,) = split_rows(31, "subsample", np.random.default_rng(rows_seed))
    part = L0KMeans(4, n_init=2, random_state=int(fit_seed.generate_state(1)[0]))
    path = part.path(X[rows], grid)
    for i in range(2):
        predicted = part.set_params(sparsity=grid[i]).adopt(X[rows], path, i).predict(X)
        assert found[i] == adjusted_rand_score(predicted, whole.labels[i])


@pytest.mark.parametrize("scheme", ["subsample", "halves"])
def test_far_clusters_come_again(X, scheme):
    grid = np.array([3.0])
    estimator = L0KMeans(3, n_init=2, random_state=0)
    labels = estimator.path(X, grid).labels
    for index in range(3):
        found = resample(estimator, X, grid, scheme=scheme, index=index, seed=0, labels=labels)
        assert found.tolist() == [1]


def test_halves_of_noise_agree_by_chance_alone():
    estimator = L0KMeans(3, n_init=2, random_state=0)
    sparsities = np.array([5.0, 40.0])
    agreement = []
    # Fresh noise each time: the halves of one matrix share its chance correlations.
    for index in range(24):
        X = np.random.default_rng(index).standard_normal((60, 40))
        agreement.append(resample(estimator, X, sparsities, scheme="halves", index=index, seed=0))
    assert abs(np.mean(agreement)) < 0.06
