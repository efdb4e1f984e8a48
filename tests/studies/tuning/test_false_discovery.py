"""False discoveries estimated by the controls that are kept beside the features."""

import numpy as np
import pytest

from sparsekm.cluster.estimators import L0KMeans
from sparsekm.simulation.gaussian_clusters import gaussian_clusters
from sparsekm.studies.tuning.false_discovery import (
    Discoveries,
    fit_beside_controls,
    select_discoveries,
)
from sparsekm.tuning.references import permuted_reference, reference_seed

GRID = np.array([10.0, 20.0, 30.0, 60.0, 120.0])
ESTIMATOR = L0KMeans(3, n_init=2)


def clusters(mu, seed):
    """Draw three clusters told apart by 30 of 120 independent features."""
    means = np.outer([mu, -mu, 0.0], np.ones(30))
    return gaussian_clusters(means, 20, 120, random_state=seed)


def discoveries(originals, controls):
    return Discoveries(np.array(originals), np.array(controls))


def test_features_and_controls_are_counted_in_their_halves():
    weights = np.array([[0.5, 0, 0, 0, 0, 0], [1, 1, 0, 0, 1, 0], [1, 1, 1, 1, 1, 1]])
    found = Discoveries.count(weights)
    assert found.originals.tolist() == [1, 2, 3]
    assert found.controls.tolist() == [0, 1, 3]


def test_the_share_hand_worked():
    found = discoveries([10, 20, 30, 0, 5], [0, 1, 14, 0, 5])
    # (1 + controls) / features; none kept counts as one, and no share is above 1.
    assert found.false_share.tolist() == [0.1, 0.1, 0.5, 1, 1]


@pytest.mark.parametrize(
    ("originals", "controls", "n_selected", "row"),
    [
        # The densest that passes has 20 features; the fit that keeps 21 keeps too many.
        ([10, 18, 20, 30], [0, 2, 1, 9], [10, 20, 21, 39], 1),
        # Denser fits pass again after one that did not.
        ([10, 18, 40, 60], [0, 2, 3, 60], [10, 20, 40, 120], 2),
        ([10, 20, 40, 60], [0, 0, 0, 0], [10, 20, 40, 60], 3),
        # Fewer than ten features cannot pass, however clear they are.
        ([5, 9, 12, 20], [0, 0, 3, 40], [5, 9, 15, 60], 0),
        # Fewer features pass than the sparsest fit keeps.
        ([10, 15], [0, 15], [12, 30], 0),
    ],
)
def test_the_row_of_the_data_keeps_no_more_than_passed(originals, controls, n_selected, row):
    found = discoveries(originals, controls)
    assert select_discoveries(found, np.array(n_selected)) == row


def test_a_larger_level_allows_more():
    found = discoveries([10, 20, 30], [0, 5, 20])
    chosen = [select_discoveries(found, np.array([10, 20, 30]), level) for level in (0.1, 0.3, 0.7)]
    assert chosen == [0, 1, 2]


def test_the_path_is_that_of_the_data_beside_one_reference():
    X = clusters(1.0, 0).X
    found = fit_beside_controls(ESTIMATOR, X, GRID, reference="permutation", seed=3)
    controls = permuted_reference(X, index=0, seed=3)
    both = L0KMeans(3, n_init=2, random_state=reference_seed(3, 0))
    weights = both.path(np.column_stack([X, controls]), GRID).weights
    assert found.originals.tolist() == np.count_nonzero(weights[:, :120], axis=1).tolist()
    assert (found.originals + found.controls).tolist() == GRID.tolist()


@pytest.mark.parametrize("reference", ["permutation", "gaussian", "shrunk"])
def test_far_clusters_keep_the_features_that_tell_them_apart(reference):
    data = clusters(2.0, 0)
    found = fit_beside_controls(ESTIMATOR, data.X, GRID, reference=reference, seed=0)
    path = ESTIMATOR.set_params(random_state=0).path(data.X, GRID)
    row = select_discoveries(found, path.n_selected)
    assert ((path.weights[row] > 0) == data.relevant).all()


@pytest.mark.parametrize("seed", range(3))
def test_without_clusters_the_sparsest_is_taken(seed):
    X = np.random.default_rng(seed).standard_normal((60, 120))
    found = fit_beside_controls(ESTIMATOR, X, GRID, reference="permutation", seed=seed)
    assert (found.false_share > 0.3).all()
    assert select_discoveries(found, GRID) == 0


def test_on_independent_features_the_estimate_is_about_the_truth():
    true, estimated = [], []
    for seed in range(6):
        data = clusters(1.5, seed)
        sparsity = np.array([60.0])
        found = fit_beside_controls(ESTIMATOR, data.X, sparsity, reference="permutation", seed=seed)
        # All 30 relevant features are kept at this distance; other features kept are false.
        true.append(1 - 30 / found.originals[0])
        estimated.append(found.false_share[0])
    # There are 90 false features to keep but 120 controls, and the 1 is added: the estimate is
    # above the truth.
    assert np.mean(true) < np.mean(estimated) < np.mean(true) + 0.2
