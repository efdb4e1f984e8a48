"""The heat map of samples by features: an order of both, and means where there are many."""

import numpy as np
import pytest

from sparsekm.figures.sample_heat_map import draw_bar, order_field
from sparsekm.figures.style import new_figure


@pytest.fixture
def table():
    """Ninety samples in three groups; features 0 and 3 mark group 2, up and down, 1 group 0."""
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=90)
    X = rng.normal(size=(90, 4))
    X[labels == 2, 0] += 6
    X[labels == 2, 3] -= 9
    X[labels == 0, 1] += 6
    X[labels == 1, 2] += 6
    return X, labels


def test_samples_stand_by_cluster_and_features_by_the_cluster_that_they_mark(table):
    X, labels = table
    field = order_field(X, labels)
    samples = np.concatenate(field.columns)
    assert sorted(samples) == list(range(90))
    np.testing.assert_array_equal(field.clusters, np.sort(labels))
    np.testing.assert_array_equal(labels[samples], field.clusters)
    # Up before down.
    assert field.features.tolist() == [1, 2, 0, 3]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    np.testing.assert_allclose(field.values, Z[samples][:, field.features].T)


def test_many_samples_are_means_of_bins_of_one_cluster_each(table):
    X, labels = table
    field = order_field(X, labels, most=12)
    assert 10 <= len(field.columns) <= 14
    for column, (those, cluster) in enumerate(zip(field.columns, field.clusters, strict=True)):
        assert set(labels[those]) == {cluster}
        Z = (X - X.mean(axis=0)) / X.std(axis=0)
        np.testing.assert_allclose(field.values[:, column], Z[those].mean(axis=0)[field.features])


def test_samples_without_a_cluster_and_features_without_spread_do_no_harm(table):
    X, labels = table
    X[:, 2], labels[:5] = 1.0, -1
    field = order_field(X, labels)
    assert sorted(np.concatenate(field.columns)) == list(range(5, 90))
    assert np.isfinite(field.values).all()


def test_a_bar_shows_the_most_frequent_category_or_the_mean(table):
    X, labels = table
    field = order_field(X, labels, most=3)
    categories, bar, shares = *new_figure(3, 3).subplots(2), np.linspace(0, 1, 90)
    draw_bar(categories, field, "a", labels, {0: "red", 1: "lime", 2: "blue"})
    assert categories.images[0].get_array()[0].tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    draw_bar(bar, field, "b", shares)
    expected = [1 - shares[labels == cluster].mean() for cluster in range(3)]
    np.testing.assert_allclose(bar.images[0].get_array()[0, :, 0], expected)
