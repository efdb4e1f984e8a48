"""The judge's rules, on candidates whose groups and agreement are given instead of fitted."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from sparsekm.cluster.matrices.scaled_data import ScaledData
from sparsekm.cluster.sparsity_path import Fit
from sparsekm.tuning import judge as rules
from sparsekm.tuning.candidates import Candidate
from sparsekm.tuning.judge import Judge, Trial

LEADER, *OTHERS = (Candidate("components", 50), *(Candidate("marginals", n) for n in range(1, 8)))


def fit_of(number):
    labels = np.random.default_rng(number).permutation(np.arange(12) % 4)
    return Fit(labels, np.ones(5), np.ones(5), 1.0)


def trial_of(n_groups, agreement, p=0.001, candidate=LEADER, fit=None, n_folds=0):
    """Give a trial of four clusters in a row, of which the last are joined."""
    pairs = pd.DataFrame({"cluster_a": [0, 1, 2], "cluster_b": [1, 2, 3]})
    pairs["p_adjusted"] = pairs["p_least"] = np.where(np.arange(3) < n_groups - 1, p, 1.0)
    fit = fit or fit_of(0)
    return Trial(candidate, fit, fit.labels, [None] * n_folds, [], pairs, agreement)


@pytest.fixture
def court(monkeypatch):
    """Give the function that makes a judge of known candidates, and what it asks of the folds.

    `known` has a candidate's groups, agreement and p, on all folds and maybe, before, on the first
    two of ten; `settled` has what the winner has once it has settled. Candidates with the same one
    of `numbers` have the same partition.
    """

    def make(known, settled=None, numbers=range(8)):
        known = dict(zip([LEADER, *OTHERS], known, strict=False))
        fits = {name: fit_of(number) for name, number in zip(known, numbers, strict=False)}
        after, asked = fit_of(99), []

        def repeat(indices, wanted=None, progress=None):
            asked.append(wanted)
            return [dict.fromkeys(fits, 0) for _ in indices]

        def judge(self, candidate, fit, folds, factor=Trial.factor):
            of = [*(known.get(candidate) or [])]
            if fit is after:
                found = settled
            else:
                found = of[0] if isinstance(of[0], tuple) and len(folds) == 2 else of
                found = found[-1] if isinstance(found[-1], tuple) else found
            trial = trial_of(*found, candidate=candidate, fit=fit, n_folds=len(folds))
            return replace(trial, factor=factor)

        folds = SimpleNamespace(
            data=ScaledData(np.zeros((12, 5))),
            estimator=SimpleNamespace(n_clusters=4),
            fitted=np.arange(12),
            aside=[],
            left_out=[None] * 10,
            n_first_repeat=2,
            sparsity=None,
            repeat=repeat,
            refine=lambda folds, starts: [0] * 10,
            cluster_into=lambda n_clusters: folds,
            whole=SimpleNamespace(
                settle=lambda fit: after if settled else fit, fit=lambda labels, count: after
            ),
        )
        monkeypatch.setattr(rules, "STARTS", {"all": lambda whole: iter(fits.items())})
        monkeypatch.setattr(
            rules, "noise_correlation", lambda *data: SimpleNamespace(is_beyond_chance=True)
        )
        monkeypatch.setattr(rules, "leading_features", lambda *known: [])
        monkeypatch.setattr(rules, "_nearest", lambda fits, labels: fits)
        monkeypatch.setattr(Judge, "judge", judge)
        return Judge(folds, None, 1), asked

    return make


@pytest.fixture
def judged(monkeypatch):
    """Give the list that holds all trials after a choice."""
    trials, tabulate = [], Judge._tabulate

    def remember(self, best, tried):
        trials[:] = tried
        return tabulate(self, best, tried)

    monkeypatch.setattr(Judge, "_tabulate", remember)
    return trials


@pytest.mark.parametrize(
    ("leader", "is_sure"),
    [
        ((4, 0.91), True),
        ((4, 0.89), False),
        ((3, 0.99), False),
        # At 1 / 0.8 of its p.
        ((4, 0.95, 0.039), True),
        ((4, 0.95, 0.041), False),
    ],
)
def test_a_leader_is_sure_whose_clusters_are_all_separated_and_reproduced(court, leader, is_sure):
    judge, asked = court([leader, (2, 0.5)])
    assert (len(judge.choose()[1]) == 1) == is_sure
    assert len(judge.choose(leader_only=True)[1]) == 1
    assert asked[0] == [LEADER]


@pytest.mark.parametrize(
    ("leader", "other", "wins"),
    [
        # As many groups, two at least, win if the folds reproduce them clearly better.
        ((2, 0.6), (2, 0.71), True),
        ((2, 0.6), (2, 0.69), False),
        ((1, 0.2), (1, 0.9), False),
        # More groups, if the folds reproduce them, or as well as those of the leader.
        ((2, 0.95), (3, 0.86), True),
        ((2, 0.95), (3, 0.84), False),
        ((2, 0.7), (3, 0.71), True),
        ((2, 0.7), (3, 0.69), False),
        # Where the leader shows nothing and is not reproduced, half of that is believed.
        ((1, 0.8), (2, 0.51), True),
        ((1, 0.8), (2, 0.49), False),
        ((1, 0.9), (2, 0.84), False),
        # Never fewer.
        ((3, 0.5), (2, 1.0), False),
    ],
)
def test_who_replaces_the_leader(court, monkeypatch, leader, other, wins):
    monkeypatch.setattr(rules, "needs_one_feature", lambda *known: False)
    judge, _ = court([leader, other])
    assert (judge.choose()[0].candidate == OTHERS[0]) == wins


@pytest.mark.parametrize(
    ("others", "best"),
    [
        ([(3, 0.7), (2, 0.6), (1, 0.5)], 0),
        # At a fifteenth of the level, since three others share a fifth of it.
        ([(3, 0.7, 0.0032), (2, 0.6), (1, 0.5)], 0),
        ([(3, 0.7, 0.0034), (2, 0.6), (1, 0.5)], None),
        # More groups before a better agreement.
        ([(3, 0.9), (4, 0.7), (1, 0.5)], 1),
        ([(3, 0.7), (3, 0.8), (1, 0.5)], 1),
        # The first folds may be so much worse, but not more.
        ([((3, 0.51), (3, 0.7)), (1, 0.5), (1, 0.5)], 0),
        ([((3, 0.49), (3, 0.7)), (1, 0.5), (1, 0.5)], None),
        ([((3, 0.7, 0.09), (3, 0.7)), (1, 0.5), (1, 0.5)], 0),
        ([((3, 0.7, 0.11), (3, 0.7)), (1, 0.5), (1, 0.5)], None),
        # What they promise has to hold on all folds.
        ([((3, 0.9), (3, 0.5)), (1, 0.5), (1, 0.5)], None),
    ],
)
def test_the_best_of_those_that_win_on_all_folds_is_chosen(court, judged, others, best):
    judge, _ = court([(2, 0.6), *others])
    chosen, table = judge.choose()
    assert [trial.candidate for trial in judged] == [LEADER, *OTHERS[:3]]
    assert [trial.factor for trial in judged] == pytest.approx([1.25, 15, 15, 15])
    assert chosen.candidate == (LEADER if best is None else OTHERS[best])
    assert chosen.factor == pytest.approx(1.25 if best is None else 15)
    assert table["chosen"].sum() == 1
    assert len(chosen.folds) == 10


def test_a_partition_that_several_candidates_have_counts_once(court, judged):
    judge, _ = court([(2, 0.6), (2, 0.5), (2, 0.5), (1, 0.5)], numbers=[0, 1, 1, 0])
    # One alone is not the leader's: it has a fifth of the level.
    judge.choose()
    assert [trial.factor for trial in judged] == pytest.approx([1.25, 5, 5, 5])


def test_only_the_four_that_come_closest_are_fitted_to_all_folds(court):
    judge, asked = court([(2, 0.6), *((3, 0.7 + number / 50) for number in range(6))])
    judge.choose()
    assert {*asked[-1]} == {*OTHERS[2:6]}


@pytest.mark.parametrize("is_needed", [True, False])
def test_one_feature_does_not_replace_a_reproduced_leader_of_three(court, monkeypatch, is_needed):
    monkeypatch.setattr(rules, "needs_one_feature", lambda *known: is_needed)
    for agreement, replaces in ((0.86, not is_needed), (0.84, True)):
        judge, _ = court([(2, agreement), (3, 0.95)])
        assert (judge.choose()[0].candidate == OTHERS[0]) == replaces


@pytest.mark.parametrize(
    ("settled", "is_taken"),
    [((3, 0.89), True), ((3, 0.87), False), ((2, 1.0), False), ((4, 0.95), True)],
)
def test_what_settles_is_taken_unless_a_group_or_agreement_is_lost(court, settled, is_taken):
    judge, _ = court([(3, 0.9)], settled)
    best = judge.choose(leader_only=True)[0]
    assert (best.agreement == settled[1]) == is_taken


@pytest.mark.parametrize(("n_groups", "is_joined"), [(2, False), (3, True)])
def test_joined_clusters_are_fitted_again_unless_one_of_them_is_lost(court, n_groups, is_joined):
    judge, _ = court([(3, 0.9)], (n_groups, 0.95))
    trial, group = trial_of(3, 0.9), np.array([0, 1, 2, 2])
    found, of_clusters = judge.join(trial, group)
    assert (found.agreement == 0.95) == is_joined
    assert of_clusters.tolist() == ([0, 1, 2] if is_joined else group.tolist())
