"""Agreement with sparcl 1.0.4, the R package of the l1 method's authors."""

import numpy as np
import pytest

from sparsekm.cluster.estimators import L1KMeans
from sparsekm.metrics import classification_error_rate

# sparcl's scores are those of Lemma 1, half of the paper's defining equation, and so are ours: the
# first test shows it, and nothing below is rescaled.


@pytest.mark.parametrize("name", ["A", "C", "F"])
def test_scores_and_objectives_of_sparcl_are_on_our_scale(sparcl_reference, score_by_pairs, name):
    Z, _, fits = sparcl_reference(name)
    assert len(fits) >= 5
    for theirs in fits:
        scores = score_by_pairs(Z, theirs["Cs"])
        np.testing.assert_allclose(theirs["bcss_per_feature"], scores, rtol=1e-9, atol=1e-9)
        assert theirs["objective"] == pytest.approx(np.dot(theirs["ws"], scores), rel=1e-9)
        assert np.linalg.norm(theirs["ws"]) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("search", ["alternate", "global"])
def test_where_the_optimum_is_clear_the_fits_are_sparcls(sparcl_reference, search):
    Z, n_clusters, fits = sparcl_reference("F")
    fits = [theirs for theirs in fits if theirs["wbound"] >= 1.897]
    assert len(fits) == 5
    for theirs in fits:
        ours = L1KMeans(n_clusters, sparsity=theirs["wbound"], search=search, random_state=0).fit(Z)
        assert classification_error_rate(theirs["Cs"], ours.labels_) == 0
        np.testing.assert_allclose(ours.feature_weights_, theirs["ws"], rtol=0, atol=1e-3)
        assert (ours.feature_weights_ > 0).tolist() == (np.array(theirs["ws"]) > 0).tolist()


@pytest.mark.parametrize("name", ["A", "C", "F"])
def test_the_global_path_is_at_least_as_high_as_sparcls(
    sparcl_reference, score_by_pairs, best_value, name
):
    Z, n_clusters, fits = sparcl_reference(name)
    bounds = [theirs["wbound"] for theirs in fits]
    path = L1KMeans(n_clusters, search="global", random_state=0).path(Z, bounds)
    for theirs, ours in zip(fits, path.objectives, strict=True):
        # sparcl's weights may break the bound by up to 1e-4: the value at its labels is taken
        # anew, with the best weights that hold the bound.
        value = best_value(score_by_pairs(Z, theirs["Cs"]), "l1", theirs["wbound"])[0]
        assert value == pytest.approx(theirs["objective"], rel=1e-3)
        assert ours >= value * (1 - 3e-6)


@pytest.mark.parametrize("name", ["A", "C"])
def test_the_global_path_beats_sparcl_where_sparcl_gets_stuck(sparcl_reference, name):
    Z, n_clusters, fits = sparcl_reference(name)
    bounds = [theirs["wbound"] for theirs in fits]
    path = L1KMeans(n_clusters, search="global", random_state=0).path(Z, bounds)
    ratios = path.objectives / [theirs["objective"] for theirs in fits]
    assert ratios.max() > 1.02


@pytest.mark.parametrize("name", ["A", "C", "F"])
def test_bounds_are_met_where_sparcl_misses_them(sparcl_reference, name):
    Z, n_clusters, fits = sparcl_reference(name)
    misses = [abs(t["l1"] / t["wbound"] - 1) for t in fits if t["l1"] < 1.01 * t["wbound"]]
    assert max(misses) > 1e-6
    bounds = [theirs["wbound"] for theirs in fits]
    path = L1KMeans(n_clusters, random_state=0).path(Z, bounds)
    assert (path.weights.sum(axis=1) <= np.array(bounds) * (1 + 1e-6)).all()
