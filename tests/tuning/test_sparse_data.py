"""Tuning on sparse data: the choice is that on the same data dense, references stay sparse."""

import numpy as np
import pytest
from scipy import sparse

from sparsekm import GapSearch, L0KMeans, SparseKMeans
from sparsekm.tuning.references import gaussian_reference, permuted_reference, shrunk_reference


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


def test_a_permuted_reference_has_the_stored_values_of_every_column_in_random_rows():
    X = sparse.csr_array(draw(400)[0])
    first, again, other = (permuted_reference(X, index=index, seed=3) for index in (0, 0, 1))
    assert sparse.issparse(first)
    np.testing.assert_array_equal(first.toarray(), again.toarray())
    assert (first != other).nnz > 0
    assert (first != X).nnz > 0
    dense = np.sort(first.toarray(), axis=0)
    np.testing.assert_array_equal(dense, np.sort(X.toarray(), axis=0))


@pytest.mark.parametrize("reference", ["gaussian", "shrunk"])
def test_references_that_would_be_dense_are_refused(reference):
    X = sparse.csr_array(draw()[0])
    search = GapSearch(L0KMeans(2, n_init=1), reference=reference, random_state=0)
    with pytest.raises(ValueError, match=f"reference='{reference}' .* should be 'permutation'"):
        search.fit(X)


@pytest.mark.parametrize("draw_reference", [gaussian_reference, shrunk_reference])
def test_a_gaussian_reference_is_that_of_the_dense_data(draw_reference):
    X, _ = draw(600)
    expected = draw_reference(X, index=1, seed=2)
    found = draw_reference(sparse.csr_array(X), index=1, seed=2)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
