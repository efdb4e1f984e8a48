"""The labels of all samples from a partition of some."""

import numpy as np
import pytest

from sparsekm.cluster.estimators import L0KMeans
from sparsekm.tuning.fold_fits import label_everyone


@pytest.fixture(scope="module", name="X")
def three_far_clusters():
    X = np.random.default_rng(0).standard_normal((31, 8))
    X[:10, :3] += 30
    X[10:20, :3] -= 30
    X.setflags(write=False)
    return X


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
