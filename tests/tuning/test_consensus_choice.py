"""What a consensus decides: family of starts, number of features, fit."""

import warnings

import numpy as np
import pytest
from scipy.stats import f_oneway, false_discovery_control
from sklearn.metrics import adjusted_rand_score

from sparsekm.cluster.estimators import L0KMeans, L1KMeans
from sparsekm.cluster.sparsity_path import SparsityPath
from sparsekm.metrics import classification_error_rate
from sparsekm.tuning.consensus_choice import (
    FALSE_DISCOVERIES,
    choose_family,
    count_discoveries,
    find_consensus,
    fit_from,
    judge_fits,
    try_sparsities,
)
from sparsekm.tuning.resampled_paths import FAMILIES, ResampledPaths

OPTIMUM, ONE, OTHER = range(3)


@pytest.mark.parametrize(
    ("reproducibility", "separation", "family"),
    [
        # Screening that noise decides is not used, however well separated.
        ([0.5, 0.05, 0.05], [1.5, 1.1, 1.1], OPTIMUM),
        ([0.0, 0.05, 0.05], [1.6, 1.1, 1.1], OPTIMUM),
        # A single reproducible screened family is used, whatever the other's separation.
        ([0.5, 0.9, 0.05], [1.5, 1.4, 1.1], ONE),
        ([0.5, 0.05, 0.9], [1.5, 1.1, 1.4], OTHER),
        # Of two the better separated, not the more reproducible.
        ([0.5, 0.7, 0.99], [1.5, 1.2, 1.4], ONE),
        ([0.5, 0.99, 0.7], [1.5, 1.4, 1.2], OTHER),
        # The optimum is perfectly reproducible where it follows correlations: no reason.
        ([1.0, 0.6, 0.6], [1.5, 1.3, 1.4], ONE),
        ([1.0, 0.6, 0.6], [1.3, 1.3, 1.4], ONE),
        # Nor is it one to be better separated but less reproducible.
        ([0.4, 0.9, 0.6], [1.42, 1.5, 1.6], ONE),
        # Far better separated is one, if it is reproducible at all.
        ([0.4, 0.9, 0.6], [1.1, 1.5, 1.6], OPTIMUM),
        ([0.2, 0.9, 0.6], [1.1, 1.5, 1.6], ONE),
        # Both are.
        ([1.0, 0.6, 0.6], [1.1, 1.5, 1.6], OPTIMUM),
    ],
)
def test_the_family_follows_reproducibility_and_separation(reproducibility, separation, family):
    # Every resampling says the same: a standard error of nearly nothing.
    spread = 1e-6 * np.array([[-1.0, 1.0, 0.0], [1.0, 0.0, -1.0], [0.0, -1.0, 1.0]])
    assert choose_family(np.array(reproducibility), np.array(separation) + spread) == family


@pytest.mark.parametrize(
    ("gains", "family"), [([0.1, 0.2, 0.3], OTHER), ([-0.2, 0.0, 0.3], ONE), ([0.3], ONE)]
)
def test_a_difference_in_separation_within_a_standard_error_leaves_it_to_reproducibility(
    gains, family
):
    separation = np.array([[1.6, 1.4, 1.4 - gain] for gain in gains])
    assert choose_family(np.array([0.5, 0.8, 0.6]), separation) == family
    # A resampling whose separation is not known counts for nothing.
    unknown = np.vstack([separation, [1.6, 1.4, np.nan]])
    assert choose_family(np.array([0.5, 0.8, 0.6]), unknown) == family


def test_of_two_equally_good_families_the_optimum_gives_way():
    separation = np.full((4, 3), 1.3)
    assert choose_family(np.array([0.9, 0.5, 0.5]), separation) == ONE


def oneway_count(X, labels):
    groups = [X[labels == k] for k in np.unique(labels)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        p_values = f_oneway(*groups, axis=0).pvalue
    found = false_discovery_control(np.nan_to_num(p_values, nan=1.0)) <= FALSE_DISCOVERIES
    return max(1, np.count_nonzero(found))


@pytest.mark.parametrize("n_clusters", [2, 3, 5])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_discoveries_are_those_of_scipys_analysis_of_variance(n_clusters, scale, seed):
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(40) % n_clusters)
    counts = set()
    for n_shifted in (5, 30, 60):
        X = rng.standard_normal((40, 120))
        X[:, :n_shifted] += rng.normal(size=n_shifted) * labels[:, None]
        X = (scale * (X + 10)).astype(np.float64)
        expected = oneway_count(X, labels)
        assert count_discoveries(X, labels) == expected
        assert count_discoveries(X.astype(np.float32), labels) == pytest.approx(expected, abs=1)
        counts.add(expected)
    assert len(counts) == 3


def test_of_many_samples_a_discovery_is_a_medium_effect_at_least(seed):
    # 2,000 samples in halves: a shift by d of unit noise explains d^2 / (4 + d^2) of the variance.
    rng = np.random.default_rng(seed)
    labels = np.repeat([0, 1], 1000)
    shifts = np.repeat([0.0, 0.2, 0.3, 0.7, 1.0], 20)
    X = rng.standard_normal((2000, 100)) + shifts * labels[:, None]
    assert oneway_count(X, labels) >= 80
    # .3 explains 2.2 %, .7 explains 10.9 %.
    assert count_discoveries(X, labels) == 40


def test_noise_has_hardly_any_discovery_and_at_least_one_is_counted(seed):
    rng = np.random.default_rng(seed)
    labels = np.arange(40) % 2
    counts = [count_discoveries(rng.standard_normal((40, 50)), labels) for _ in range(40)]
    assert min(counts) == 1
    assert np.mean(np.array(counts) > 1) < 0.25
    assert count_discoveries(np.array([[0.0], [1.0], [0.0], [1.0]]), np.array([0, 0, 1, 1])) == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_perfectly_separating_features_are_discoveries_and_constant_ones_are_not(dtype, seed):
    rng = np.random.default_rng(seed)
    labels = np.repeat([0, 1, 2], [8, 10, 19])
    constants = np.tile(10 * rng.standard_normal(300), (37, 1))
    separating = np.array([0.1, 0.3, 0.7])[labels][:, None] * rng.standard_normal(7)
    X = np.concatenate([constants, separating], axis=1).astype(dtype)
    assert count_discoveries(X, labels) == 7
    assert count_discoveries(constants.astype(dtype), labels) == 1


def test_without_a_difference_to_test_all_features_count():
    X = np.random.default_rng(0).standard_normal((6, 4))
    assert count_discoveries(X, np.zeros(6, np.int32)) == 4
    assert count_discoveries(X, np.arange(6)) == 4


def test_order_names_and_units_do_not_matter_to_discoveries(seed):
    rng = np.random.default_rng(seed)
    labels = np.arange(36) % 3
    X = rng.standard_normal((36, 60))
    X[:, :12] += labels[:, None]
    count = count_discoveries(X, labels)
    assert 8 <= count <= 20
    rows, columns = rng.permutation(36), rng.permutation(60)
    assert count_discoveries(X[np.ix_(rows, columns)], labels[rows]) == count
    assert count_discoveries(X * np.geomspace(1e-3, 1e3, 60) - 5, 2 - labels) == count


@pytest.mark.parametrize("Estimator", [L0KMeans, L1KMeans])
def test_fits_from_a_partition_do_not_help_each_other(Estimator):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 20))
    start = rng.integers(3, size=50).astype(np.int32)
    estimator = Estimator(3, random_state=0)
    grid = [2.0, 3.0, 4.0]
    path = fit_from(estimator, X, start, grid)
    np.testing.assert_array_equal(path.sparsities, grid)
    assert estimator.init is None
    for i, sparsity in enumerate(grid):
        alone = Estimator(3, sparsity=sparsity, init=start).fit(X)
        np.testing.assert_array_equal(path.labels[i], alone.labels_)
        assert path.objectives[i] == alone.objective_


def test_sparsities_tried_hold_all_features_and_the_number_of_discoveries(seed):
    rng = np.random.default_rng(seed)
    labels = np.arange(60) % 3
    X = rng.standard_normal((60, 200))
    X[:, :23] += 2 * labels[:, None]
    n_discoveries = count_discoveries(X, labels)
    grid = try_sparsities(L0KMeans(3), X, n_discoveries)
    assert (np.diff(grid) > 0).all()
    assert grid[-1] == 200
    assert n_discoveries in grid
    bounds = try_sparsities(L1KMeans(3), X, n_discoveries)
    assert bounds[-1] == pytest.approx(np.sqrt(200))
    assert (np.diff(bounds) > 0).all()


def make_path(labels, kept, n_features=100):
    """Stack fits by hand that keep the first so many features."""
    labels = np.array(labels, dtype=np.int32)
    weights = (np.arange(n_features) < np.array(kept)[:, None]).astype(float)
    objectives = np.arange(len(kept)) + 1.0
    return SparsityPath(
        sparsities=np.array(kept, dtype=float),
        objectives=objectives,
        labels=labels,
        weights=weights,
        scores=weights,
        n_iter=np.ones(len(kept), np.int64),
        search="alternate",
        first_objectives=objectives,
    )


TRUTH = np.repeat([0, 1], 6)
WRONG = np.arange(12) % 2
NEARLY = np.array([0] * 5 + [1] * 7)


def test_fits_that_agree_less_are_not_admissible_and_the_number_of_discoveries_decides():
    path = make_path([WRONG, TRUTH, 1 - TRUTH, WRONG], [3, 10, 40, 90])
    partitions = np.tile(TRUTH, (4, 2, 1))
    for n_discoveries, chosen in ((1, 1), (3, 1), (9, 1), (19, 1), (21, 2), (50, 2), (90, 2)):
        table = judge_fits(path, partitions, np.full(2, 0.5), n_discoveries)
        assert table["admissible"].tolist() == [False, True, True, False]
        assert np.flatnonzero(table["chosen"]).tolist() == [chosen]
    assert table["agreement"].iloc[1] == table["agreement"].iloc[2] == 1
    assert table["agreement"].iloc[0] < 0.1
    assert table["agreement_se"].tolist() == [0, 0, 0, 0]
    assert table["sparsity"].tolist() == [3, 10, 40, 90]
    assert table["n_selected"].tolist() == [3, 10, 40, 90]
    assert table["objective"].tolist() == [1, 2, 3, 4]


def test_the_standard_error_over_resamplings_decides_what_agrees_as_well():
    # Both agree with either half of the resamplings: the means are alike, their errors large.
    path = make_path([TRUTH, NEARLY, WRONG], [5, 20, 80])
    partitions = np.array([[TRUTH], [NEARLY], [TRUTH], [NEARLY], [TRUTH]])
    table = judge_fits(path, partitions, np.ones(1), 20)
    assert table["admissible"].tolist() == [True, True, False]
    assert table["chosen"].tolist() == [False, True, False]
    other = adjusted_rand_score(TRUTH, NEARLY)
    agreements = np.array([1, other, 1, other, 1])
    assert table["agreement"].iloc[0] == pytest.approx(agreements.mean())
    assert table["agreement_se"].iloc[0] == pytest.approx(agreements.std(ddof=1) / np.sqrt(5))


def test_sparsities_within_a_resampling_are_averaged_before_the_error_is_taken():
    path = make_path([TRUTH], [5])
    partitions = np.array([[TRUTH, WRONG], [WRONG, TRUTH]])
    assert judge_fits(path, partitions, np.full(2, 0.5), 5)["agreement_se"].tolist() == [0]
    weighted = judge_fits(path, partitions, np.array([0.8, 0.2]), 5)
    error = 0.6 * (1 - adjusted_rand_score(TRUTH, WRONG)) / 2
    assert weighted["agreement_se"].iloc[0] == pytest.approx(error)


def planted(truth, family_noise, n_resamplings=6, n_sparsities=3, separation=(1.4, 1.2, 1.5)):
    """Make resampled paths by hand: each family mislabels a share of the samples."""
    rng = np.random.default_rng(0)
    drawn = []
    for _ in range(n_resamplings):
        labels = np.tile(truth, (len(FAMILIES), n_sparsities, 1)).astype(np.int16)
        for f, share in enumerate(family_noise):
            wrong = rng.random(labels[f].shape) < share
            labels[f][wrong] = rng.integers(3, size=wrong.sum())
        drawn.append(
            ResampledPaths(
                labels,
                np.zeros((3, n_sparsities, 4), bool),
                np.ones(4, bool),
                np.tile(np.array(separation)[:, None], (1, n_sparsities)),
            )
        )
    return drawn


@pytest.mark.parametrize("trusted", range(3))
def test_the_consensus_is_that_of_the_family_that_is_trusted(trusted):
    truth = np.arange(60) % 3
    noise = [1.0, 1.0, 1.0]
    noise[trusted] = 0.15
    found = find_consensus(planted(truth, noise), 3, seed=0)
    assert found.family == FAMILIES[trusted]
    assert classification_error_rate(truth, found.labels) < 0.03
    assert found.reproducibility.shape == (3, 3)
    others = np.delete(found.reproducibility, trusted, axis=0)
    assert found.reproducibility[trusted].min() > 0.4 > 0.1 > others.mean()
    assert found.partitions.shape == (6, 3, 60)
    np.testing.assert_allclose(found.separation, np.tile([[1.4], [1.2], [1.5]], (1, 3)))


def test_a_consensus_of_one_sparsity_wins_where_the_others_are_noise():
    truth = np.arange(60) % 3
    drawn = planted(truth, [1.0, 1.0, 1.0], n_resamplings=10, n_sparsities=6)
    for resampling in drawn:
        resampling.labels[0, 2] = truth
    found = find_consensus(drawn, 3, seed=0)
    assert classification_error_rate(truth, found.labels) == 0


def test_separations_that_nobody_knows_count_for_nothing():
    truth = np.arange(60) % 3
    known = planted(truth, [0.1, 0.1, 0.1])
    for resampling in known[1::2]:
        resampling.separation[:] = np.nan
    found = find_consensus(known, 3, seed=0)
    np.testing.assert_allclose(found.separation, np.tile([[1.4], [1.2], [1.5]], (1, 3)))
    for resampling in known:
        resampling.separation[:] = np.nan
    found = find_consensus(known, 3, seed=0)
    assert np.isfinite(found.separation).all()
    assert np.ptp(found.separation) == 0
