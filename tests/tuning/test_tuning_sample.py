"""Of many samples some decide the sparsity, and all are fitted at it."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from sparsekm import GapSearch, KMeans, L0KMeans, SparseKMeans, classification_error_rate
from sparsekm.tuning.fold_fits import tuning_sample

pytestmark = pytest.mark.usefixtures("one_repeat")
TRUTH = np.repeat([0, 1, 2], 40)
GRID = [4, 8, 30]
# What a random_state of 5 makes of it.
SEED = int(np.random.SeedSequence(5).generate_state(1)[0])
SEEDED = KMeans(1, random_state=SEED)
CONTAINERS = pytest.mark.parametrize("convert", [np.asarray, csr_array])


@pytest.fixture(scope="module", name="X")
def three_clusters():
    X = np.random.default_rng(3).standard_normal((120, 30))
    X[:40, :8] += 3
    X[40:80, :4] -= 3
    X.setflags(write=False)
    return X


def search(init=None, **parameters):
    grid = {"sparsities": GRID, "n_references": 3, "random_state": 5}
    return GapSearch(L0KMeans(3, init=init, n_init=2), **grid, **parameters)


def test_a_sample_is_drawn_only_of_more_samples():
    assert tuning_sample(100, None, SEEDED) is None
    assert tuning_sample(100, 100, SEEDED) is None
    drawn = tuning_sample(100, 60, SEEDED)
    assert len(np.unique(drawn)) == 60
    assert (np.diff(drawn) > 0).all()
    np.testing.assert_array_equal(drawn, tuning_sample(100, 60, SEEDED))
    assert (drawn != tuning_sample(100, 60, KMeans(1, random_state=1))).any()


def test_a_sample_of_fewer_than_can_be_clustered_is_refused(X):
    rule = r"^max_samples=8 should be >= n_clusters \* min_cluster_size = 9\.$"
    with pytest.raises(ValueError, match=rule):
        GapSearch(L0KMeans(3, min_cluster_size=3), max_samples=8).fit(X)
    with pytest.raises(ValueError, match=rule):
        SparseKMeans(9, max_samples=8).fit(X)
    # Of no more samples none are drawn, and the fit itself says what is wrong.
    with pytest.raises(ValueError, match="n_samples=8 should be >= n_clusters=9"):
        SparseKMeans(9, max_samples=8).fit(X[:8])


@CONTAINERS
def test_the_gap_is_that_of_the_samples_drawn_and_the_fit_that_of_all(X, convert):
    limited = search(max_samples=60).fit(convert(X))
    drawn = search().fit(convert(X[tuning_sample(120, 60, SEEDED)]))
    assert limited.results_.equals(drawn.results_)
    assert limited.path_.labels.shape == (3, 60)
    alone = L0KMeans(3, n_init=2, random_state=SEED).path(convert(X), [limited.best_sparsity_])
    np.testing.assert_array_equal(limited.labels_, alone.labels[0])
    np.testing.assert_array_equal(limited.predict(convert(X)), limited.labels_)
    assert classification_error_rate(TRUTH, limited.labels_) < 0.05


@CONTAINERS
def test_clusters_of_the_samples_drawn_become_clusters_of_all(X, convert):
    # Eight features for each cluster: with few of few features more are lost than by a sample.
    X = np.hstack([X + 3 * (TRUTH[:, None] == np.arange(30) // 8), X[:, 8:]])
    found = SparseKMeans(3, max_samples=60, random_state=5).fit(convert(X))
    assert classification_error_rate(TRUTH, found.labels_) < 0.05
    assert found.get_support()[:24].all()
    assert found.get_support()[24:].mean() < 0.2
    known = np.flatnonzero(np.isfinite(found.sample_reproducibility_))
    np.testing.assert_array_equal(known, tuning_sample(120, 60, SEEDED))
    assert found.sample_reproducibility_[known].min() >= 0
    assert found.coassociation_ is None
    means = [X[found.labels_ == k].mean(axis=0) for k in range(3)]
    np.testing.assert_allclose(found.cluster_centers_, means, atol=1e-12)
    assert classification_error_rate(found.predict(convert(X)), found.labels_) < 0.05


# The last cluster has three samples, of which a part may hold none.
START = np.where(np.arange(120) >= 117, 2, np.arange(120) >= 60)
STARTS = {"list": START.tolist(), "texts": pd.Series(np.array(["b", "a", "c"])[START])}


@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS)
def test_labels_to_start_from_are_cut_with_the_samples_of_a_gap(X, start):
    limited = search(start, max_samples=60).fit(X)
    drawn = tuning_sample(120, 60, SEEDED)
    alone = L0KMeans(3, init=START[drawn], n_init=2).path(X[drawn], GRID)
    np.testing.assert_array_equal(limited.path_.labels, alone.labels)
    assert len(limited.best_estimator_.init) == len(X)
    expected = L0KMeans(3, init=START, n_init=2).path(X, [limited.best_sparsity_])
    np.testing.assert_array_equal(limited.labels_, expected.labels[0])
