"""The paper's statements about theory: which hold, and where they are checked."""

import numpy as np
import pytest

from sparsekm.studies.theory.checks import CHECKS, COLUMNS, run_checks
from sparsekm.studies.theory.cost_checks import count_comparisons, count_operations
from sparsekm.studies.theory.level_model import three_levels
from sparsekm.studies.theory.repeated_draws import STRONG
from sparsekm.studies.theory.support_recovery import conditions_of_theorem_5


@pytest.fixture(scope="module")
def checks():
    return run_checks(root=5).set_index("check")


def test_every_check_has_its_line(checks):
    assert list(checks.reset_index().columns) == list(COLUMNS)
    assert list(checks.index) == list(CHECKS)


def test_what_does_not_hold_has_its_reason(checks):
    failed = checks[~checks["holds"]]
    assert set(failed.index) == {
        *("lemma_1", "l2_and_l0", "l2_and_l0_support", "kappa", "conditions"),
        *("l1_selection", "main_cost"),
    }
    assert failed["reason"].str.len().gt(0).all()
    assert checks.loc["lemma_1", "ours"] == pytest.approx(2)
    assert checks.loc["kappa", ["ours", "theirs"]].tolist() == pytest.approx([7910, 7200], abs=1)


def test_a_share_has_an_interval_that_is_never_a_point(checks):
    """Of 20 of 20 the lower end is the p with p^20 = .025."""
    shares = checks[checks["low"].notna()]
    assert {"score_gap", "selection", "fewer_features", "l1_selection"} <= set(shares.index)
    assert (shares["low"] < shares["high"]).all()
    assert shares["ours"].between(shares["low"], shares["high"]).all()
    assert checks.loc["selection", ["low", "high"]].tolist() == pytest.approx([0.025**0.05, 1])
    assert shares["se"].isna().all()


def test_theorems_4_and_5_are_checked_where_their_numbered_conditions_hold():
    sizes = (3 * STRONG["cluster_size"], STRONG["n_features"], STRONG["n_relevant"])
    met = conditions_of_theorem_5(three_levels(STRONG["mu"]), *sizes)
    assert [name for name, holds in met.items() if not holds] == ["least_features"]


def test_operations_are_counted_by_hand():
    # Sorted already: every score is compared with the one before it.
    assert count_comparisons(np.arange(10.0)) == 9
    few, many = (count_operations(5, p, root=1) for p in (20, 40))
    assert len(few) == 5
    # k-means runs first on all features, whose counts are n K p products a round.
    assert all(run.first % (15 * 3 * 20) == 0 for run in few)
    assert all(run.first < run.partition < run.total for run in few)
    assert sum(run.weights for run in many) > sum(run.weights for run in few)
