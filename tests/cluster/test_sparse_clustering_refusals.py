"""What SparseClustering refuses: no clusterer, no partition, parameters out of range."""

import pytest
from partition_steps import FOUR, Given, KMediansPartition
from sklearn.cluster import DBSCAN, AgglomerativeClustering, FeatureAgglomeration
from sklearn.cluster import KMeans as ReferenceKMeans

from sparsekm import SparseClustering


@pytest.mark.parametrize(
    ("clusterer", "error", "message"),
    [
        (ReferenceKMeans, TypeError, "should be a scikit-learn clusterer .* or a partition step"),
        (KMediansPartition, TypeError, "should be a scikit-learn clusterer"),
        ("ward", TypeError, "clusterer='ward' should be"),
        (FeatureAgglomeration(2), TypeError, "should be a scikit-learn clusterer"),
        (DBSCAN(), ValueError, r"DBSCAN\(\) should have a number as n_clusters"),
        (AgglomerativeClustering(0), ValueError, "n_clusters=0 should be >= 1"),
        (AgglomerativeClustering(5), ValueError, "n_samples=4 should be >= n_clusters=5"),
        (Given([[0, -1, 1, -1]]), ValueError, "left 2 of n_samples=4 samples without a cluster"),
        (Given([[0, 1, 2, 2]]), ValueError, "found 3 clusters; should be <= 2"),
        (Given([[0, 1, 1]]), ValueError, r"should be n_samples=4 integers; .* shape \(3,\)"),
    ],
)
def test_what_is_no_partition_is_refused(clusterer, error, message):
    with pytest.raises(error, match=message):
        SparseClustering(clusterer).fit(FOUR)


def test_fewer_clusters_than_asked_for_are_a_partition():
    fit = SparseClustering(Given([[7, 7, 3, 3]], n_clusters=3), sparsity=1).fit(FOUR)
    assert fit.labels_.tolist() == [0, 0, 1, 1]
    assert fit.cluster_centers_.shape == (2, 2)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"penalty": "l2"}, "penalty='l2' should be one of"),
        ({"sparsity": 3}, "sparsity=3 should be <= n_features=2"),
        ({"sparsity": 1.0}, "sparsity=1.0 is ambiguous"),
        ({"sparsity": 0.5, "penalty": "l1"}, "sparsity=0.5 should be >= 1"),
        ({"n_init": 0}, "n_init=0 should be >= 1"),
        ({"max_iter": 0}, "max_iter=0 should be >= 1"),
        ({"tol": -1.0}, "tol=-1.0 should be finite and >= 0"),
    ],
)
def test_parameters_out_of_range_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        SparseClustering(AgglomerativeClustering(2), **parameters).fit(FOUR)
