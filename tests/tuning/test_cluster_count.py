"""The number of clusters by stability beyond chance, where it is known."""

import numpy as np
import pandas as pd
import pytest

from sparsekm.cluster.estimators import L0KMeans
from sparsekm.simulation.gaussian_clusters import gaussian_clusters
from sparsekm.tuning.cluster_count import compare_cluster_counts


def compare(X, counts, **parameters):
    return compare_cluster_counts(
        L0KMeans(n_init=2), X, counts, sparsities=[8, 24], random_state=0, **parameters
    )


@pytest.mark.parametrize("n_clusters", [2, 3, 4])
def test_the_known_number_is_found(n_clusters):
    # Centres at the corners of a simplex: each cluster has two features of its own.
    means = np.kron(np.eye(n_clusters), np.full(8 // n_clusters, 4.0))
    data = gaussian_clusters(means, 60 // n_clusters, 24, random_state=0)
    table = compare(data.X, [2, 3, 4, 5])
    assert table.loc[table["chosen"], "n_clusters"].tolist() == [n_clusters]
    np.testing.assert_allclose(table["excess"], table["stability"] - table["reference_mean"])


def test_without_clusters_a_number_is_rarely_chosen():
    # Each data set is misled with probability 0.05: two of eight would be so in 6 % of the cases.
    misled = 0
    for seed in range(8):
        X = np.random.default_rng(seed).standard_normal((45, 24))
        table = compare(X, [4, 2, 3, 3])
        assert table["n_clusters"].tolist() == [2, 3, 4]
        misled += table["chosen"].any()
    assert misled <= 1


def test_the_table_does_not_depend_on_the_number_of_jobs():
    X = np.random.default_rng(5).standard_normal((30, 24))
    one, two = (compare(X, [2, 3], n_references=2, n_jobs=jobs) for jobs in (1, 2))
    pd.testing.assert_frame_equal(one, two, check_exact=True)


def test_one_cluster_cannot_be_compared():
    with pytest.raises(ValueError, match="n_clusters=1 should be >= 2"):
        compare(np.eye(30), [1, 2])
