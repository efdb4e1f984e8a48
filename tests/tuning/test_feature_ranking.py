"""Which features are looked at first: the ranking, and how it is chosen from the data."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from sparsekm import SparseKMeans, classification_error_rate
from sparsekm.cluster.matrices.scaled_data import ScaledData
from sparsekm.tuning.feature_ranking import (
    SCREENINGS,
    choose_screening,
    moments_as_they_came,
    rank_features,
    variance_beyond_trend,
)

pytestmark = pytest.mark.usefixtures("one_repeat")
N, P = 60, 150


def draw(seed, location=0.0, scale=1.0):
    return location + scale * np.random.default_rng(seed).standard_normal((N, P))


def spread(seed, low, high):
    return np.random.default_rng(seed).uniform(low, high, P)


# Each with the ranking that the documentation promises for it.
TABLES = {
    "z-scored": ("marginal", draw(0)),
    # Of deviations that differ by a seventh at most.
    "nearly z-scored": ("variance", draw(0)),
    "centred": ("variance", draw(1, scale=np.exp(spread(1, -1, 1)))),
    "one unit": ("trend", draw(2, spread(2, 1, 12), np.exp(spread(3, -1, 1)))),
    "mixed units": ("marginal", draw(3, spread(4, 1, 12), 10.0 ** spread(5, -3, 3))),
    # Half of them five times as large, as if in another unit.
    "two units": ("marginal", draw(2, spread(2, 1, 12), np.resize([1.0, 5.0], P))),
    # Their means differ by a tenth of a deviation, which is more than centring leaves.
    "nearly centred": ("trend", draw(1, scale=np.exp(spread(1, -1, 1)))),
    "few features": ("all", draw(4, spread(6, 1, 12))[:, :100]),
    "one more than few": ("trend", draw(4, spread(6, 1, 12))[:, :101]),
}
for name in ("z-scored", "nearly z-scored", "centred", "nearly centred"):
    X = TABLES[name][1]
    X -= X.mean(axis=0)
TABLES["nearly centred"][1][:] += spread(8, 0, 0.1)
for name in ("z-scored", "nearly z-scored"):
    TABLES[name][1][:] /= TABLES[name][1].std(axis=0, ddof=1)
TABLES["nearly z-scored"][1][:] *= spread(10, 1, 1.15)
SPARSE = np.where(np.random.default_rng(9).random((N, P)) < 0.6, 0.0, TABLES["one unit"][1])


@pytest.mark.parametrize("name", TABLES)
def test_a_ranking_is_chosen_by_units_means_and_variances(name):
    expected, X = TABLES[name]
    assert choose_screening(ScaledData.standardise(X.astype(np.float32))) == expected
    assert choose_screening(ScaledData.standardise(X)) == expected
    # A unit for all, and another zero, change nothing.
    assert choose_screening(ScaledData.standardise(100 * X)) == expected
    assert choose_screening(ScaledData.standardise(X - X.mean(axis=0)[0])) == expected
    if name in ("z-scored", "one unit", "mixed units"):
        # Nor do a few features in other units.
        X = X * np.where(np.arange(P) % 30 == 7, 1000.0, 1.0)
        assert choose_screening(ScaledData.standardise(X)) == expected


def test_single_features_of_a_mixed_table_times_a_thousand_change_no_label():
    X = TABLES["mixed units"][1].copy()
    X[:30, :20] += 4 * X.std(axis=0)[:20]
    fits = [
        SparseKMeans(2, random_state=0).fit(X * np.where(np.arange(P) % 40 == at, 1000.0, 1.0))
        for at in (-1, 3, 35)
    ]
    assert classification_error_rate(np.arange(N) < 30, fits[0].labels_) == 0
    for fit in fits[1:]:
        np.testing.assert_array_equal(fit.labels_, fits[0].labels_)
        np.testing.assert_array_equal(fit.feature_weights_, fits[0].feature_weights_)
        assert fit.screening_ == "marginal"


def test_a_window_holds_a_tenth_of_the_features_and_is_shorter_at_the_ends(seed):
    rng = np.random.default_rng(seed)
    means, variances = rng.normal(size=83), rng.exponential(size=83)
    logs = np.log(variances[np.argsort(means)])
    # Four before and four after.
    expected = [logs[i] - logs[max(0, i - 4) : i + 5].mean() for i in range(83)]
    # A constant feature is left out.
    found = variance_beyond_trend(np.append(means, 0), np.append(variances, 0))
    np.testing.assert_allclose(found[np.argsort(means)], expected, atol=1e-12)
    assert found[-1] == -np.inf


def test_features_beyond_the_trend_of_their_mean_come_first():
    means = np.linspace(1, 15, P)
    X = draw(5, means, means)
    marked = np.arange(20, P - 12, 25)
    X[:, marked] += 3 * means[marked] * np.repeat([[1], [-1]], N // 2, axis=0)
    order = rank_features(ScaledData.standardise(X), "trend")
    assert sorted(order[: len(marked)]) == marked.tolist()
    # Variance alone takes those of the largest mean.
    assert set(rank_features(ScaledData.standardise(X), "variance")[: len(marked)]) != set(marked)


@pytest.mark.parametrize("screening", SCREENINGS[1:4])
def test_features_that_are_constant_among_some_samples_come_last_there(screening):
    X = draw(6, spread(7, 1, 12))
    X[:40, [5, 70]] = 3.0
    # The sums of a mean must be exact for a feature to be seen as constant.
    order = rank_features(ScaledData(X, np.zeros(P), np.ones(P)), screening, np.arange(40))
    assert order[-2:].tolist() == [5, 70]
    assert sorted(order) == list(range(P))


@pytest.mark.parametrize("screening", SCREENINGS[1:])
def test_sparse_features_rank_as_dense_ones(screening):
    dense, stored = (ScaledData.standardise(values) for values in (SPARSE, csr_array(SPARSE)))
    for samples in (None, np.arange(0, N, 2)):
        for one, other in zip(
            moments_as_they_came(dense, samples), moments_as_they_came(stored, samples), strict=True
        ):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
        one, other = (rank_features(data, screening, samples) for data in (dense, stored))
        np.testing.assert_array_equal(one, other)
    assert choose_screening(stored) == choose_screening(dense)
