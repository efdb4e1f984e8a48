"""Few samples in as few dimensions: the same inner products, hence the same k-means."""

import numpy as np
import pytest

from sparsekm.cluster.estimators import KMeans, L0KMeans
from sparsekm.cluster.matrices.matrix import embed_samples


@pytest.mark.parametrize(("n", "p"), [(1, 5), (2, 2), (20, 7), (20, 300)])
def test_inner_products_are_kept_in_at_most_as_many_dimensions(n, p):
    rows = np.random.default_rng(0).standard_normal((n, p))
    embedded = embed_samples(rows)
    assert embedded.shape[0] == n
    assert embedded.shape[1] <= min(n, p)
    np.testing.assert_allclose(embedded @ embedded.T, rows @ rows.T, atol=1e-10 * p)


def test_equal_samples_stay_equal_and_add_no_dimension():
    rows = np.random.default_rng(1).standard_normal((6, 40))[[0, 1, 2, 0, 1, 2]]
    embedded = embed_samples(rows)
    assert embedded.shape == (6, 3)
    np.testing.assert_allclose(embedded[:3], embedded[3:], atol=1e-12)


def test_keeping_all_features_globally_is_at_least_as_good_as_restarted_k_means():
    X = np.random.default_rng(2).standard_normal((40, 200))
    X[:20, :40] += 0.8
    found = L0KMeans(3, search="global", random_state=0).fit(X)
    restarted = KMeans(3, n_init=20, random_state=0).fit(X)
    assert found.objective_ >= restarted.objective_ * (1 - 1e-9)
    assert found.objective_ == pytest.approx(found.feature_scores_.sum(), rel=1e-12)
