"""Clusters with the same centre in the kept features are named; elsewhere predict is labels_."""

import warnings

import numpy as np
import pytest

from sparsekm.cluster.estimators import KMeans, L0KMeans, L1KMeans
from sparsekm.cluster.kmeans.coinciding_centers import find_coinciding

SQUARE = np.array([[0.0, 0.0], [0.0, 1.0], [5.0, 0.0], [5.0, 1.0]])


@pytest.mark.parametrize("search", ["alternate", "global"])
@pytest.mark.parametrize("Estimator", [L0KMeans, L1KMeans])
def test_clusters_with_the_same_centre_are_named(Estimator, search):
    X = np.repeat(SQUARE, 3, axis=0) + 0.1
    with pytest.warns(UserWarning, match="same centre in the 1 kept features: ") as caught:
        fit = Estimator(3, sparsity=1, search=search, random_state=0).fit(X)
    message = str(caught[0].message)
    first, second = (int(k) for k in message.split("features: ")[1].split(". ")[0].split(", "))
    kept = fit.cluster_centers_[:, fit.get_support()]
    np.testing.assert_allclose(kept[first], kept[second])
    assert caught[0].filename == __file__


def test_all_clusters_that_coincide_are_named_together():
    centers = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [3.0, 5.0], [1.0, 2.0], [3.0, 5.0]])
    assert find_coinciding(centers, 1e-15) == [[0, 2, 4], [3, 5]]
    assert find_coinciding(centers[[0, 1, 3]], 1e-15) == []


@pytest.mark.parametrize("n_samples", [40, 1500])
def test_counts_with_many_zeros_are_predicted_as_labelled_or_warned_of(n_samples):
    rng = np.random.default_rng(0)
    warned = 0
    for seed in range(8):
        counts = rng.poisson(0.3, size=(n_samples, 6)).astype(float)
        for estimator in (L0KMeans(4, sparsity=1 + seed % 2), KMeans(4)):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                fit = estimator.set_params(n_init=2, random_state=seed).fit(counts)
            warned += len(caught)
            if not caught:
                np.testing.assert_array_equal(fit.predict(counts), fit.labels_)
    assert warned < 16
