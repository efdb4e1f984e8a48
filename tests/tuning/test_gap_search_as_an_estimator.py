"""GapSearch as an estimator of scikit-learn: parameters, pipelines, copies, types and refusals."""

import numpy as np
import pytest
from sklearn.cluster import KMeans as ReferenceKMeans

from sparsekm.cluster.estimators import KMeans, L0KMeans
from sparsekm.tuning.gap_search import GapSearch


def test_what_the_best_estimator_knows_is_handed_on(fitted_gap, data):
    best = fitted_gap.best_estimator_
    np.testing.assert_array_equal(fitted_gap.labels_, best.labels_)
    np.testing.assert_array_equal(fitted_gap.feature_weights_, best.feature_weights_)
    np.testing.assert_array_equal(fitted_gap.predict(data.X), best.predict(data.X))
    np.testing.assert_array_equal(fitted_gap.predict(data.X), fitted_gap.labels_)
    np.testing.assert_array_equal(fitted_gap.transform(data.X), best.transform(data.X))
    np.testing.assert_array_equal(fitted_gap.get_support(), best.get_support())
    assert fitted_gap.n_features_in_ == 24


def test_the_estimator_given_is_not_changed(data, gap_search):
    search = gap_search("l0")
    before = search.estimator.get_params()
    search.fit(data.X)
    assert search.estimator.get_params() == before
    assert not hasattr(search.estimator, "labels_")


@pytest.mark.parametrize("estimator", [KMeans(3), ReferenceKMeans(3)], ids=["ours", "theirs"])
def test_an_estimator_without_sparsity_is_a_type_error(estimator, data):
    with pytest.raises(TypeError, match=r"KMeans\(n_clusters=3.*sparsity"):
        GapSearch(estimator).fit(data.X)


@pytest.mark.parametrize(
    ("parameters", "parts"),
    [
        ({"rule": "2se"}, ["rule='2se'", "max", "one-se", "auto"]),
        ({"reference": "gauss"}, ["reference='gauss'", "permutation"]),
        ({"n_references": 1}, ["n_references=1", ">= 2"]),
        ({"n_references": 0}, ["n_references=0", ">= 2"]),
        ({"n_refined": -1}, ["n_refined=-1", ">= 0"]),
        ({"max_samples": 0}, ["max_samples=0", ">= 1"]),
        ({"max_samples": 2}, ["max_samples=2", ">= n_clusters * min_cluster_size=3"]),
        ({"sparsities": []}, ["sparsities", "1"]),
        ({"sparsities": [4, 25]}, ["sparsity=25", "<= n_features=24"]),
        ({"sparsities": [0, 4]}, ["sparsity=0", ">= 1"]),
    ],
)
def test_refusals_hold_the_value_the_rule_and_the_bound(parameters, parts, data, gap_search):
    with pytest.raises(ValueError, match="should") as caught:
        gap_search("l0", **parameters).fit(data.X)
    assert [part for part in parts if part not in str(caught.value)] == []


def test_a_verbose_search_tells_what_is_done(data, capsys):
    options = {"sparsities": [2, 6], "n_references": 2, "random_state": 0, "n_jobs": 1}
    GapSearch(L0KMeans(2, n_init=1), verbose=1, **options).fit(data.X)
    lines = ["data", "reference 1 of 2", "reference 2 of 2"]
    assert capsys.readouterr().out.splitlines() == [f"GapSearch: {line} done" for line in lines]
