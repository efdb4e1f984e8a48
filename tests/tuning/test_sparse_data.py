"""Tuning on sparse data: the choice is that on the same data dense, references stay sparse."""

import numpy as np
import pytest
from scipy import sparse

from sparsekm import GapSearch, L0KMeans, SparseKMeans


def draw(n=90, p=24):
    rng = np.random.default_rng(1)
    X = np.where(rng.random((n, p)) < 0.2, rng.exponential(1.0, (n, p)), 0.0)
    X[: n // 2, :6] = 3 + 0.3 * rng.normal(size=(n // 2, 6))
    X[:, 20] = 0
    X[:, 21] = 1.5
    return X, np.repeat([0, 1], [n // 2, n - n // 2]).astype(np.int32)


SEARCHES = [
    GapSearch(L0KMeans(2, n_init=1), sparsities=[2, 6, 24], n_references=2, random_state=0),
    # At most a quarter of the 22 features that vary.
    GapSearch(
        L0KMeans(2, n_init=1), sparsities=[2, 5, 24], n_references=2, rule="auto", random_state=0
    ),
    SparseKMeans(2, sparsity=6, random_state=0),
]


@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: type(search).__name__)
def test_a_search_finds_what_it_finds_in_the_dense_data(search):
    X, labels = draw()
    expected = search.fit(X).feature_weights_.copy()
    given = sparse.csc_matrix(X)
    search.fit(given)
    np.testing.assert_array_equal(search.feature_weights_, expected)
    np.testing.assert_array_equal(search.labels_, labels)
    np.testing.assert_array_equal(search.predict(given), labels)
    assert sparse.issparse(search.transform(given))
