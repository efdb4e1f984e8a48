"""The result is the best of few candidates, at p-values that count them, and says what it knows."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from sparsekm import SparseKMeans
from sparsekm.cluster.matrices.scaled_data import ScaledData
from sparsekm.tuning import chosen_fit
from sparsekm.tuning.chosen_fit import count_tests, find_clusters, is_leader_only, most_clusters
from sparsekm.tuning.conclusion import describe_leading, describe_separation
from sparsekm.tuning.judge import Judge, Trial
from sparsekm.tuning.separation import LEVEL, Leading

pytestmark = pytest.mark.usefixtures("one_repeat")
SEEDS = range(3)
NOTHING, TOO_FEW = "No separate groups found", "too few samples or groups to tell"


def fit(X, n_clusters=2, groups=None, **parameters):
    return SparseKMeans(n_clusters, random_state=0, **parameters).fit(X, groups=groups)


def noise(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape)


def holm(p_values):
    order = np.argsort(p_values, kind="stable")
    adjusted = np.maximum.accumulate(p_values[order] * np.arange(len(order), 0, -1))
    return np.minimum(1, adjusted)[np.argsort(order)]


def is_chosen_at(fit, n_tests):
    """Check the table of candidates; return by how many tests the p of the best are multiplied."""
    table, pairs = fit.search_results_, fit.separation_
    names = ["start", "n_features", "n_clusters", "n_groups", "p", "agreement", "n_folds", "chosen"]
    assert table.columns.tolist() == names
    assert table["p"].between(0, 1).all()
    assert (table["n_groups"] <= table["n_clusters"]).all()
    assert fit.has_clusters_ == (pairs["p_adjusted"] <= LEVEL).any()
    own = holm(pairs["p"].to_numpy())
    tells = pairs["p_adjusted"] < 1
    factors = pairs["p_adjusted"][tells] / own[tells]
    if not len(factors):
        return np.nan
    np.testing.assert_allclose(factors, factors.iloc[0])
    return factors.iloc[0] / n_tests


@pytest.fixture(scope="module")
def clear():
    X = noise(0, 60, 30)
    X[:, :6] += 5 * (np.arange(60) % 3)[:, None]
    return X


def test_separated_and_reproduced_clusters_of_the_leader_need_no_other_candidate(clear):
    found = fit(clear, 3)
    assert is_chosen_at(found, 1) == pytest.approx(1 / 0.8)
    (row,) = found.search_results_.to_dict("records")
    assert (row["n_clusters"], row["n_groups"], row["chosen"]) == (3, 3, True)
    assert row["p"] == found.separation_["p_adjusted"].min()
    assert row["n_features"] == found.get_support().sum()


def test_a_chosen_number_pays_for_the_numbers_that_were_tried(clear):
    found = fit(clear[:35], "auto")
    table, counts = found.search_results_, found.cluster_counts_
    assert found.n_clusters_ == 3
    assert table.groupby("n_clusters")["chosen"].sum().tolist() == [1] * len(counts)
    # All of them if one alone has so many groups, half of them if two agree.
    agree = (counts["n_groups"] >= 3).sum()
    n_tests = len(counts) / 2 if agree > 1 else len(counts)
    assert is_chosen_at(found, n_tests) == pytest.approx(1 / 0.8)
    assert counts["n_clusters"].tolist() == [2, 3, 4, 5]
    names = ["n_clusters", "n_groups", "reproducibility", "silhouette", "ambiguous"]
    assert counts.columns.tolist() == [*names, "p_least", "groups", "chosen"]
    for row in counts.itertuples():
        group = [int(name) for name in row.groups.split("-")]
        assert (len(group), len(set(group))) == (row.n_clusters, row.n_groups)
    assert "2 to 5 clusters were tried: 3 groups are clearly separated" in found.conclusion_


@pytest.mark.parametrize(
    ("n_samples", "smallest", "most"),
    [
        (4, 1, 2),
        (6, 1, 3),
        (20, 1, 3),
        (28, 1, 4),
        (83, 1, 11),
        (999, 1, 12),
        (60, 10, 3),
        (9, 9, 2),
    ],
)
def test_twelve_clusters_are_tried_or_what_leaves_seven_samples_for_each(n_samples, smallest, most):
    # Twice as many as the smallest size asks for, since halves and folds need them, too.
    assert most_clusters(n_samples, smallest) == most


@pytest.mark.parametrize(
    ("n_groups", "chosen", "n_tests", "leader_only"),
    [
        # Six numbers were tried: all count if one alone has so many groups, and half of them if
        # another number has as many, or more.
        ([1, 3, 1, 1, 1, 1], 3, 6, False),
        ([1, 3, 1, 3, 1, 1], 3, 3, False),
        ([1, 3, 4, 1, 1, 1], 3, 3, False),
        ([2, 1, 1, 1, 1, 1], 2, 6, False),
        # Beyond three more than any smaller number has as groups, the leader alone was tried.
        ([1, 1, 1, 5, 1, 1], 5, 6, True),
        ([1, 2, 1, 5, 1, 1], 5, 6, False),
        ([1, 1, 4, 1, 1, 1], 4, 6, False),
    ],
)
def test_a_number_pays_for_those_tried_unless_another_one_agrees(
    n_groups, chosen, n_tests, leader_only
):
    counts = pd.DataFrame({"n_clusters": range(2, 8), "n_groups": n_groups, "p_least": 1e-4})
    assert count_tests(counts.assign(chosen=counts["n_clusters"] == chosen)) == n_tests
    assert is_leader_only(chosen, n_groups[: chosen - 2]) == leader_only


@pytest.mark.parametrize(
    ("p_least", "n_tests"),
    [
        ([1e-6] * 11, 11),
        # Three numbers always count.
        ([0.005, 0.2, 0.3, 0.9], 3),
        ([0.005, 0.01], 2),
        # Five could reach 0.05 / 3, and only four of them 0.05 / 4.
        ([0.001, 0.01, 0.011, 0.012, 0.015, 0.02], 4),
        ([0.001, 0.01, 0.012, 0.015, 0.016, 0.02], 4),
    ],
)
def test_numbers_whose_tests_could_not_reach_the_level_do_not_count(p_least, n_tests):
    counts = pd.DataFrame({"n_clusters": range(2, 2 + len(p_least)), "p_least": p_least})
    counts = counts.assign(n_groups=np.where(counts["n_clusters"] == 2, 2, 1))
    assert count_tests(counts.assign(chosen=counts["n_clusters"] == 2)) == n_tests


@pytest.mark.parametrize("n_each", [5, 20])
def test_the_number_is_chosen_with_five_donors_a_side(n_each):
    donors = np.repeat(np.arange(10), n_each)
    X = noise(0, 10 * n_each, 30) + 0.3 * noise(1, 10, 30)[donors]
    X[:, :10] += 4 * (donors >= 5)[:, None]
    found = fit(X, "auto", groups=donors)
    assert found.has_clusters_
    assert found.n_clusters_ == 2
    assert "2 groups are clearly separated" in found.conclusion_


@pytest.mark.parametrize(
    ("n_groups", "p", "chosen"),
    [
        # What two numbers reach, with K equal to that.
        ((2, 3, 3, 1), 0.001, 3),
        ((2, 2, 3, 1), 0.018, 2),
        # One number alone is believed if all clusters are separated with p that counts all numbers.
        ((2, 2, 4, 1), 0.001, 4),
        ((2, 2, 4, 1), 0.018, 2),
        ((2, 1, 1, 5), 0.001, 5),
        # Where no K equals it, the most reproducible of those that reach it.
        ((1, 2, 1, 2), 0.001, 5),
        ((1, 1, 1, 1), 0.001, 5),
    ],
)
def test_so_many_groups_are_believed_as_two_numbers_reach(clear, monkeypatch, n_groups, p, chosen):
    choose = Judge.choose

    def choose_known(self, **how):
        (trial, table), n_clusters = choose(self, leader_only=True), self.folds.estimator.n_clusters
        # Clusters in a row, of which the last are joined.
        pairs = pd.DataFrame(
            {"cluster_a": range(n_clusters - 1), "cluster_b": range(1, n_clusters)}
        )
        is_apart = pairs["cluster_b"] < n_groups[n_clusters - 2]
        pairs["p"] = pairs["p_adjusted"] = pairs["p_least"] = np.where(is_apart, p, 1.0)
        return replace(trial, pairs=pairs), table

    monkeypatch.setattr(Judge, "choose", choose_known)
    # The more clusters, the more reproducible.
    monkeypatch.setattr(Trial, "reproducibility", lambda self: self.fit.labels.max() / 10)
    counts = fit(clear[:35, :12], "auto").cluster_counts_
    assert counts["n_groups"].tolist() == [*n_groups]
    assert counts.query("chosen")["n_clusters"].tolist() == [chosen]


def test_beyond_three_more_clusters_than_groups_the_leader_alone_is_tried():
    found = fit(noise(0, 42, 12), "auto")
    assert found.cluster_counts_["n_groups"].tolist() == [1] * 5
    n_tried = found.search_results_.groupby("n_clusters").size()
    assert (n_tried == 1).tolist() == [False, False, False, True, True]


def test_beside_a_number_none_is_tried_that_exceeds_the_distinct_samples():
    data = ScaledData.standardise(np.repeat(noise(0, 3, 6), 10, axis=0))
    found = find_clusters(SparseKMeans(3, random_state=0), data, beside=True)
    assert found.numbers["n_clusters"].tolist() == [2, 3]


@pytest.fixture(scope="module")
def one_gene():
    X = noise(1, 60, 40)
    X[:, 3] += 8 * (np.arange(60) % 2)
    return X, fit(X)


def test_the_conclusion_names_a_feature_without_which_there_is_no_valley(one_gene):
    X, found = one_gene
    truth, follows, shows = np.arange(60) % 2, X.copy(), X.copy()
    follows[:, 7] = 2 * X[:, 3] + 0.5 * noise(2, 60)
    shows[:, 7] += 8 * truth
    for fits, is_alone in ((found, True), (fit(follows), True), (fit(shows), False)):
        assert adjusted_rand_score(truth, fits.labels_) == 1
        assert fits.has_clusters_
        said = fits.conclusion_
        assert ("alone" in said) == is_alone
        assert ("feature 3 " in said or "feature 7 " in said) == is_alone


DONORS = np.repeat(np.arange(6), 12)


@pytest.mark.parametrize("seed", SEEDS)
def test_donors_make_no_groups_of_a_gaussian_or_a_gradient_but_show_two_types(seed):
    X = noise(seed, 72, 40) + 0.3 * noise(10 + seed, 6, 40)[DONORS]
    assert not fit(X, groups=DONORS).has_clusters_
    along = np.random.default_rng(seed).uniform(size=72)
    gradient, types = X.copy(), X.copy()
    gradient[:, :15] += 3 * along[:, None]
    assert not fit(gradient, groups=DONORS).has_clusters_
    types[:, :15] += 2.5 * (np.arange(72) % 2)[:, None]
    found = fit(types, groups=DONORS)
    assert found.has_clusters_
    assert adjusted_rand_score(np.arange(72) % 2, found.labels_) == 1


@pytest.mark.parametrize("seed", SEEDS)
def test_gaps_between_rounded_values_are_no_valleys(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 20))
    X[:, 3] = rng.random(60) < 0.5
    for values in (X, rng.random((60, 6)) < 0.5, np.round(2 * rng.standard_normal((60, 4)))):
        assert not fit(values.astype(float)).has_clusters_


@pytest.mark.parametrize(
    ("shares", "said"),
    [((0.2, 0.8), True), ((0.3, 0.6), False), ((0.4, 0.8), False), ((0.8, 0.2), True)],
)
def test_clusters_differ_in_zeros_if_few_of_one_and_most_of_the_other_are_zero(shares, said):
    labels = np.repeat([0, 1], 10)
    X = np.exp(noise(0, 20, 3))
    for cluster, share in enumerate(shares):
        X[np.flatnonzero(labels == cluster)[: int(10 * share)], 1] = 0
    one = Leading((0, 1), 1, np.array([1]))
    told = describe_leading(ScaledData.standardise(X), labels, [one], False)
    assert told == ", in the zeros of feature such as 1" * said


def test_pairs_of_too_few_samples_are_told_after_the_others():
    names = ["cluster_a", "cluster_b", "p_adjusted", "p_least"]
    few, apart, touch = (0, 1, 1, 0.2), (0, 2, 0.01, 0), (1, 2, 0.2, 0)
    told = [
        describe_separation(pd.DataFrame(pairs, columns=names), 3)
        for pairs in ([few, apart, touch], [few, touch], [few, few], [apart, touch])
    ]
    rest = "; for 1 of the pairs there are too few samples or groups to tell"
    assert told[0] == f"1 of 3 pairs of neighbouring clusters is clearly separated{rest}"
    assert told[1].startswith(NOTHING)
    assert told[1].endswith(rest)
    assert TOO_FEW in told[2]
    assert told[3] == "1 of 2 pairs of neighbouring clusters is clearly separated"


def test_groups_in_the_zeros_of_features_are_found_and_the_conclusion_says_where():
    rng, truth = np.random.default_rng(1), np.arange(80) % 2
    X = np.exp(0.5 * rng.standard_normal((80, 30)) + 1)
    shares = np.full(X.shape, 0.3)
    shares[:, :8] = np.where(truth, 0.85, 0.05)[:, None]
    X[rng.random(X.shape) < shares] = 0
    found = fit(X)
    assert adjusted_rand_score(truth, found.labels_) > 0.8
    assert found.has_clusters_
    assert "in the zeros of feature" in found.conclusion_


def test_samples_that_were_set_aside_are_placed_and_counted_by_the_test():
    X = noise(0, 88, 30)
    X[:80, :6] += 8 * (np.arange(80) % 2 - 0.5)[:, None]
    found = fit(X, trim=0.1)
    assert np.flatnonzero(found.labels_ < 0).tolist() == list(range(80, 88))
    assert found.separation_["n_middle"].tolist() == [8]
    assert fit(X[:80]).separation_["n_middle"].tolist() == [0]
    # Of drawn samples, as large a share of those set aside.
    found = fit(X, trim=0.1, max_samples=40)
    assert found.separation_["n_middle"].tolist() == [4]


@pytest.mark.parametrize(
    ("n_samples", "n_clusters", "n_donors"),
    [(3, 2, 3), (4, 2, 4), (4, "auto", 4), (9, 3, 9), (40, 2, 2), (30, "auto", 3)],
)
def test_where_no_p_could_be_small_enough_the_conclusion_says_too_few(
    n_samples, n_clusters, n_donors
):
    groups = np.arange(n_samples) * n_donors // n_samples
    n_types = 3 if n_clusters == 3 else 2
    X = noise(n_samples, n_samples, 12)
    X[:, :6] += 9 * (np.arange(n_samples) % n_types)[:, None]
    found = fit(X, n_clusters, groups)
    assert not found.has_clusters_
    assert TOO_FEW in found.conclusion_
    assert NOTHING not in found.conclusion_
    assert "no group is separated" not in found.conclusion_


@pytest.mark.parametrize("n_clusters", [3, "auto"])
def test_noise_has_no_groups_and_the_conclusion_says_so_first(n_clusters):
    found = fit(noise(3, 28, 120), n_clusters)
    assert found.has_clusters_ is False
    assert found.conclusion_.startswith(NOTHING)
    if n_clusters == 3:
        assert found.signature_ is None
        assert found.signature_agreement_ < 0.5
        assert "No small set of features" in found.conclusion_


def test_the_sentences_about_one_result_agree(monkeypatch):
    monkeypatch.setattr(chosen_fit, "MOST_CLUSTERS", 5)
    rng = np.random.default_rng(0)
    # Arcs of a ring are joined again.
    angles, X = rng.uniform(0, 2 * np.pi, 48), rng.standard_normal((70, 4))
    X[:48, :2] += 9 * np.column_stack([np.cos(angles), np.sin(angles)])
    found = fit(X, "auto")
    n_groups = found.cluster_counts_.query("chosen")["n_groups"].item()
    assert found.has_clusters_ == (n_groups > 1)
    assert (NOTHING in found.conclusion_) == (not found.has_clusters_)
