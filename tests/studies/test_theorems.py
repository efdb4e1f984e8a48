"""What the theorems promise, by hand and by brute force, their checks and pictures."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import brentq

from sparsekm.cluster.matrices.matrix import CentredMatrix, feature_scores
from sparsekm.studies.paper_verdicts import read_paper_claims
from sparsekm.studies.theorem_pictures import PICTURES
from sparsekm.studies.theorems import (
    COLUMNS,
    FITS,
    LEVELS,
    best_impure_value,
    ecr_bound,
    expected_score,
    kappa,
    run_checks,
    second_moment,
    simulate_partitions,
    simulate_recovery,
    simulate_scores,
    stated_kappa,
)


def test_kappa_is_as_worked_by_hand_and_lacks_ln_k_as_stated():
    # mu = 3: sum pi mu^2 = 6, mean 0, so 128 (3 + 6) / 36 = 32.
    assert stated_kappa(3.0) == pytest.approx(32)
    assert kappa(3.0) == pytest.approx(32 * np.log(3))
    # mu = 0.6: sum pi mu^2 = 0.24, so 128 (3.24) / 0.0576 = 7200, as the remark of the claim says.
    assert stated_kappa(0.6) == pytest.approx(7200)
    assert kappa(0.6) == pytest.approx(7910, abs=1)


def test_the_papers_double_sum_is_twice_the_score_and_its_expectation_less_k_minus_one(seed):
    levels, labels = np.random.default_rng(seed).normal(size=12), np.array([0, 1, 2] * 4, np.int32)
    squares = (levels[:, None] - levels) ** 2
    within = sum(squares[np.ix_(labels == k, labels == k)].sum() / 4 for k in range(3))
    between = (squares.sum() / 12 - within) / 2
    assert feature_scores(CentredMatrix(levels[:, None]), labels, 3) == pytest.approx([between])
    assert expected_score(levels, labels, 3) == pytest.approx(between + 2)
    assert expected_score(np.full(12, 1.7), labels, 3) == pytest.approx(2)


def test_no_partition_of_six_samples_expects_more_than_the_natural_one():
    levels = np.repeat([1.0, -1.0, 0.0], 2)
    values = {
        labels: expected_score(levels, np.array(labels), 3)
        for labels in product(range(3), repeat=6)
        if set(labels) == {0, 1, 2}
    }
    best = [labels for labels, value in values.items() if np.isclose(value, max(values.values()))]
    assert len(best) == 6
    assert all(labels[::2] == labels[1::2] for labels in best)


def test_theorem_4_goes_through_from_the_least_features_that_its_claim_names():
    def excess(error):
        spent = -error * np.log(error) - (1 - error) * np.log1p(-error) + error * np.log(2)
        return spent - second_moment(8) * (1 / 257 - 1 / 258)

    # To first order f(0) - f(error) is the error times the least squared distance of levels.
    lost = brentq(excess, 1e-12, 0.5) * 64
    least = 128 * np.log(3) * (second_moment(8) + 3) / lost**2
    assert f"{least:.0e}" == "5e+08"


def test_no_partition_of_an_impurity_has_a_larger_value_than_f_and_some_reach_it():
    def measure(joint):
        """Return the error and the value of joint shares, true clusters in rows."""
        sizes, means = joint.sum(axis=-2), LEVELS @ joint
        values = np.divide(means**2, sizes, out=np.zeros_like(means), where=sizes > 0)
        return 1 - joint.max(axis=-2).sum(axis=-1), values.sum(axis=-1)

    rng = np.random.default_rng(0)
    for concentration in (0.02, 0.1, 1.0):
        errors, values = measure(rng.dirichlet([concentration] * 3, size=(100_000, 3)) / 3)
        best = np.array([best_impure_value(error) for error in errors])
        assert (values <= best + 1e-12).all()
    pure, merged = np.eye(3) / 3, np.array([[1, 0, 0], [0, 1, 0], [1, 0, 0]]) / 3
    mixed = np.array([[0, 0, 1]] * 3) / 3
    for start, end in ((pure, merged), (merged, mixed)):
        for share in np.linspace(0, 1, 7):
            error, value = measure((1 - share) * start + share * end)
            assert value == pytest.approx(best_impure_value(error))


def test_the_bound_inverts_the_proofs_function_from_chance_at_kappa_towards_zero():
    for error in (0.1, 0.5):
        lost = 9 * (best_impure_value(0) - best_impure_value(error))
        n_relevant = 128 * np.log(3) * (6 + 3) / lost**2
        assert ecr_bound(3, n_relevant) == pytest.approx(error)
    bounds = [ecr_bound(3, kappa(3) * factor) for factor in (1, 2, 10, 1e3, 1e8)]
    assert bounds[0] == pytest.approx(2 / 3)
    assert (np.diff(bounds) < 0).all()
    assert bounds[-1] < 0.001
    assert np.isnan(ecr_bound(3, kappa(3) - 1))


@pytest.fixture(scope="module")
def checks():
    return run_checks(root=5)


def test_every_statement_has_an_argument_or_one_check_and_no_check_is_idle(checks, project_root):
    assert list(checks.columns) == list(COLUMNS)
    claims = read_paper_claims(project_root / "data" / "paper" / "claims.csv")
    theory = [claim for claim in claims if claim.kind == "theory"]
    assert sorted(c.metric for c in theory if c.metric) == sorted(checks["check"])
    argued = [claim for claim in theory if not claim.metric]
    assert all(claim.relation in ("holds", "fails") and claim.remark for claim in argued)


def test_of_the_checks_only_the_selection_of_l1_fails(checks):
    assert checks.loc[~checks["holds"], "check"].tolist() == ["l1_selection"]


pytestmark = pytest.mark.xdist_group("theory pictures")
NAMES = ("n_samples", "n_features", "n_relevant", "mu")
SMALL = {
    "samples_features": dict(zip(NAMES, [(12, 30), (20, 40), (5,), (1.0,)], strict=True)),
    "relevant_mu": dict(zip(NAMES, [(30,), (60,), (5, 50), (0.01, 3.0)], strict=True)),
}


@pytest.mark.release
def test_the_panels_show_the_shares_of_the_table_and_the_condition_that_crosses_them():
    tables = {
        "expected_scores": simulate_scores(1, [0.0, 0.3], repetitions=60),
        "partition_bound": simulate_partitions(1, [0.6, 3], [5, 40], repetitions=3),
        "support_recovery": simulate_recovery(1, SMALL, repetitions=4),
    }
    drawn = {name: draw(tables[name]) for name, (_, draw) in PICTURES.items()}
    panels = drawn["support_recovery"][0].axes[:8]
    assert panels[0].get_title(loc="left").startswith("true labels")
    table = tables["support_recovery"]
    for panel, fit in zip(panels[4:], FITS, strict=True):
        cells = table[(table["plane"] == "relevant_mu") & (table["fit"] == fit)]
        shares = cells.pivot(index="mu", columns="n_relevant", values="recovered")
        np.testing.assert_array_equal(panel.collections[0].get_array(), shares)
        # Strong signals are recovered by every fit, and none by none.
        assert shares[5].tolist() == [0, 1]
        (line,) = panel.lines
        assert len(line.get_xydata()) > 1
        for x, y in line.get_xydata()[::40]:
            assert x == pytest.approx(kappa(y))
