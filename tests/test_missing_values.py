"""A value that its container marks as missing is missing to everything public that takes arrays."""

import inspect
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from anndata import AnnData
from scipy.sparse import csr_array
from small_estimators import EVERY

import sparsekm
from sparsekm import GapSearch, L0KMeans, SparseKMeans, StreamedMatrix

PLACE = (4, 2)
# The setting or the step that fills them.
CURE = r"contains NaN: (set (estimator__)?missing='impute'|impute it before, as in make_pipeline)"


def mask(values, hidden=True):
    values = np.array(values)
    masked = np.zeros(values.shape, bool)
    masked[PLACE[: values.ndim]] = hidden
    return np.ma.array(values, mask=masked)


def as_objects(values):
    values = np.array(values, dtype=object)
    values[PLACE] = pd.NA
    return values


def as_sparse(values):
    stored = csr_array(values)
    stored.data = np.ma.array(stored.data, mask=np.arange(stored.nnz) == 7)
    return stored


def as_nullable(values):
    table = pd.DataFrame(values).astype("Float64")
    table.iloc[PLACE] = pd.NA
    return table


def as_unstored(values):
    values = np.array(values)
    values[PLACE] = np.nan
    return pd.DataFrame(values).astype(pd.SparseDtype(float))


CONTAINERS = {
    "masked array": mask,
    "rows that are masked": lambda values: list(mask(values)),
    "objects": as_objects,
    "table of objects": lambda values: pd.DataFrame(as_objects(values)),
    "stored values that are masked": as_sparse,
    "nullable columns": as_nullable,
    "sparse columns": as_unstored,
}


@pytest.fixture(scope="module", name="X")
def samples():
    X = np.random.default_rng(3).normal(size=(30, 14))
    X[:10, :5] += 4
    X[10:20, 3:8] -= 4
    X[PLACE] = 1e3
    return X


# What else of arrays is given to a public function, and what it answers to a missing value.
LABELS, POSITIONS = np.arange(30) % 3, np.arange(60.0).reshape(30, 2)
SCORES = np.linspace(0.1, 0.9, 30)
GIVEN = {
    "classification_error_rate": lambda _: sparsekm.classification_error_rate(mask(LABELS), LABELS),
    "error_clustering_rate": lambda _: sparsekm.error_clustering_rate(
        LABELS, mask([f"c{label}" for label in LABELS])
    ),
    "higher_criticism_threshold": lambda _: sparsekm.higher_criticism_threshold(mask(SCORES), 20),
    "marginal_p_values": lambda _: sparsekm.marginal_p_values(mask(SCORES), 20),
    "marginal_scores": lambda X: sparsekm.marginal_scores(mask(X)),
    "n_nonzero_weights": lambda _: sparsekm.n_nonzero_weights(mask(SCORES)),
    "proper_nonzero_weights": lambda _: sparsekm.proper_nonzero_weights(SCORES, mask(SCORES)),
    "proper_zero_weights": lambda _: sparsekm.proper_zero_weights(mask(SCORES > 0.5), SCORES),
    "StreamedMatrix": lambda X: StreamedMatrix(mask(X), block_size=7),
    "init": lambda X: L0KMeans(3, init=mask(LABELS)).fit(X),
    "init with None": lambda X: L0KMeans(3, init=["a", None, *["b"] * 28]).fit(X),
    "sparsities": lambda X: L0KMeans(3).path(X, mask(np.arange(1, 8))),
    "sparsities of a search": lambda X: GapSearch(
        L0KMeans(3), sparsities=mask(np.arange(1, 8))
    ).fit(X),
    "positions": lambda X: GapSearch(L0KMeans(3), reference="spatial").fit(
        X, positions=np.ma.masked_equal(POSITIONS, 8)
    ),
    "groups": lambda X: SparseKMeans(3).fit(X, groups=mask(LABELS)),
    "groups of names": lambda X: SparseKMeans(3).fit(X, groups=mask([f"d{n}" for n in LABELS])),
    "layer": lambda X: sparsekm.tl.sparse_kmeans(AnnData(X, layers={"z": mask(X)}), 3, layer="z"),
}
# It takes no array but those that a fit has made.
MADE = {"SparsityPath", "__version__"}


def test_everything_public_that_takes_an_array_is_swept():
    classes = {type(estimator).__name__ for estimator in EVERY.values()}
    assert set(sparsekm.__all__) <= {*classes, *GIVEN, *MADE}


@pytest.mark.parametrize("given", GIVEN)
def test_a_masked_value_of_any_argument_is_refused_as_missing(X, given):
    as_of_nan = r"NaN|=nan|got nan|no missing value|are missing for 1 of|numbers in \[0, 1\]"
    with pytest.raises(ValueError, match=as_of_nan):
        GIVEN[given](X)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("name", EVERY)
def test_missing_values_of_any_container_are_refused_as_nan_is(X, name, container):
    with pytest.raises(ValueError, match=CURE):
        EVERY[name].fit(CONTAINERS[container](X))


def test_every_method_of_a_fitted_estimator_refuses_them(X):
    fitted, hidden = L0KMeans(3, sparsity=5, random_state=0).fit(X), mask(X)
    more = {"path": [[5]], "search_objectives": [[5]], "adopt": [fitted.path(X, [5]), 0]}
    methods = [
        name
        for name, method in inspect.getmembers(L0KMeans, inspect.isfunction)
        if name[0] != "_" and "X" in inspect.signature(method).parameters
    ]
    assert len(methods) == 10
    for name in methods:
        given = hidden[:, :5] if name == "inverse_transform" else hidden
        with pytest.raises(ValueError, match="contains NaN"):
            getattr(deepcopy(fitted), name)(given, *more.get(name, []))


def test_a_mask_that_hides_nothing_changes_nothing(X):
    estimator = L0KMeans(3, sparsity=5, n_init=2, random_state=0)
    expected = estimator.fit(X).labels_.tolist()
    shown = mask(X, hidden=False)
    stored = pd.DataFrame(X).astype(pd.SparseDtype(float))
    for values in (
        shown,
        list(shown),
        StreamedMatrix(shown),
        pd.DataFrame(X.astype(object)),
        stored,
    ):
        assert estimator.fit(values).labels_.tolist() == expected
    labels = mask(LABELS, hidden=False)
    assert sparsekm.classification_error_rate(labels, LABELS) == 0
    assert L0KMeans(3, init=labels, random_state=0).fit(X).labels_.shape == (30,)
