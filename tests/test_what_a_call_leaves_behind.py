"""`path` sets nothing on an estimator, a fit that fails neither, and a fit replaces the former."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from small_estimators import ESTIMATORS, WITH_PATHS

from sparsekm import StreamedMatrix

N_FEATURES = 12
NAMES = pytest.mark.parametrize("name", WITH_PATHS)
ALL_NAMES = pytest.mark.parametrize("name", ESTIMATORS)


def make(name):
    return clone(ESTIMATORS[name]).set_params(random_state=0)


@pytest.fixture(scope="module", name="X")
def two_clusters():
    X = np.random.default_rng(0).normal(size=(30, N_FEATURES))
    X[:15, :4] += 6
    return X


def state(estimator):
    return {name: id(value) for name, value in vars(estimator).items()}


@NAMES
def test_a_path_leaves_a_fitted_estimator_as_it_was(name, X):
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(N_FEATURES)])
    estimator = make(name).fit(frame)
    before, predicted = state(estimator), estimator.predict(frame)
    estimator.path(X[:, :5], [2, 3])
    assert state(estimator) == before
    np.testing.assert_array_equal(estimator.predict(frame), predicted)


@NAMES
def test_a_path_leaves_an_unfitted_estimator_unfitted(name, X):
    estimator = make(name)
    before = state(estimator)
    estimator.path(X, [2, 3])
    assert state(estimator) == before
    with pytest.raises(NotFittedError):
        estimator.predict(X)


@ALL_NAMES
def test_a_fit_that_fails_leaves_an_estimator_unfitted(name, X):
    estimator = make(name)
    with pytest.raises(ValueError, match="n_samples=1"):
        estimator.fit(X[:1])
    with pytest.raises(NotFittedError):
        estimator.predict(X)
    with pytest.raises(NotFittedError):
        estimator.transform(X)


@pytest.mark.parametrize("name", ["k-means", "l0", "l1"])
def test_names_of_features_go_with_the_data_that_had_them(name, X):
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(N_FEATURES)])
    estimator = make(name).fit(frame).fit(StreamedMatrix(X[:, :8].copy()))
    assert not hasattr(estimator, "feature_names_in_")
    assert estimator.n_features_in_ == 8


@ALL_NAMES
def test_a_fit_without_names_forgets_those_of_the_fit_before(name, X):
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(N_FEATURES)])
    estimator = make(name).fit(frame)
    assert estimator.feature_names_in_.tolist() == list(frame.columns)
    assert not hasattr(estimator.fit(X), "feature_names_in_")


def test_a_conclusion_goes_with_the_rule_that_drew_it(X):
    search = make("gap").set_params(rule="auto").fit(X)
    assert "features" in search.conclusion_
    assert search.set_params(rule="max").fit(X).conclusion_ is None
