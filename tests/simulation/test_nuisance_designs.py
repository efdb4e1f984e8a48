"""Designs with strong nuisance hold what they say: classes, markers, and something stronger."""

import numpy as np
import pytest

from sparsekm.simulation.nuisance_designs import nuisance

KINDS = ["factors", "batches", "gradient", "heavy_tails", "outliers", "split"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_design_is_standardised_and_repeats_with_its_seed(kind):
    drawn = nuisance(nuisance=kind, random_state=3)
    assert drawn.X.shape == (72, 1000)
    np.testing.assert_allclose(drawn.X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(drawn.X.std(axis=0, ddof=1), 1)
    np.testing.assert_array_equal(drawn.X, nuisance(nuisance=kind, random_state=3).X)
    assert not np.array_equal(drawn.X, nuisance(nuisance=kind, random_state=4).X)


@pytest.mark.parametrize("kind", KINDS)
def test_only_the_markers_differ_between_the_classes(kind):
    drawn = nuisance(nuisance=kind, random_state=1, n_samples=400, shift=6.0)
    difference = np.abs(
        drawn.X[drawn.labels == 0].mean(axis=0) - drawn.X[drawn.labels == 1].mean(axis=0)
    )
    assert difference[drawn.relevant].min() > difference[~drawn.relevant].max()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "split"])
def test_the_largest_variation_has_nothing_to_do_with_the_classes(kind):
    # Two scores of one feature: how far the first principal axis and the best marker tell classes.
    drawn = nuisance(nuisance=kind, random_state=2)
    first = np.linalg.svd(drawn.X, full_matrices=False)[0][:, 0]
    assert abs(np.corrcoef(first, drawn.labels)[0, 1]) < 0.5
    marker = [abs(np.corrcoef(column, drawn.labels)[0, 1]) for column in drawn.X.T[drawn.relevant]]
    assert max(marker) > 0.7


def test_shares_give_the_sizes_of_the_classes():
    drawn = nuisance(nuisance="factors", random_state=0, n_samples=40, shares=(0.5, 0.3, 0.2))
    assert np.bincount(drawn.labels).tolist() == [20, 12, 8]
    assert drawn.n_clusters == 3


def test_an_unknown_nuisance_is_refused_with_the_choices():
    with pytest.raises(ValueError, match="nuisance='rain' should be one of .*'gradient'"):
        nuisance(nuisance="rain", random_state=0)
