"""The paper's statements about theory: which hold, and where they are checked."""

import numpy as np
import pytest

from sparsekm.studies.paper.verdicts import read_paper_claims
from sparsekm.studies.theory.checks import COLUMNS, STRONG, run_checks
from sparsekm.studies.theory.theorems import three_levels


@pytest.fixture(scope="module")
def checks():
    return run_checks(root=5)


def test_every_statement_of_theory_has_an_argument_or_one_check_and_no_check_is_idle(
    checks, project_root
):
    assert list(checks.columns) == list(COLUMNS)
    claims = read_paper_claims(project_root / "data" / "paper" / "claims.csv")
    theory = [claim for claim in claims if claim.kind == "theory"]
    assert sorted(c.metric for c in theory if c.metric) == sorted(checks["check"])
    argued = [claim for claim in theory if not claim.metric]
    assert all(claim.relation in ("holds", "fails") and claim.remark for claim in argued)


def test_of_the_checks_only_the_selection_of_l1_fails(checks):
    assert checks.loc[~checks["holds"], "check"].tolist() == ["l1_selection"]


def test_a_share_has_an_interval_that_is_never_a_point(checks):
    """Of 20 of 20 the lower end is the p with p^20 = .025."""
    shares = checks[checks["low"].notna()].set_index("check")
    assert {"score_gap", "selection", "fewer_features", "l1_selection"} <= set(shares.index)
    assert (shares["low"] < shares["high"]).all()
    assert shares.loc["selection", ["low", "high"]].tolist() == pytest.approx([0.025**0.05, 1])
    assert shares["se"].isna().all()


def test_theorems_4_and_5_are_checked_where_their_numbered_conditions_hold():
    model, n_samples = three_levels(STRONG["mu"]), 3 * STRONG["cluster_size"]
    assert STRONG["n_features"] <= STRONG["n_relevant"] * n_samples
    assert STRONG["n_relevant"] >= model.kappa
    assert np.log(STRONG["n_features"]) < model.rho * n_samples
