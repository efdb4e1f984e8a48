"""Missing values are filled by what features have in common; complete data stay as they are."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.impute import KNNImputer
from small_estimators import weighing_estimators

from sparsekm import L0KMeans, SparseKMeans, StreamedMatrix
from sparsekm.cluster import imputation
from sparsekm.cluster.estimator_input import label_observed
from sparsekm.cluster.imputation import fill_missing, shrink
from sparsekm.metrics import classification_error_rate
from sparsekm.tuning.references import REFERENCES, reference_objectives

pytestmark = pytest.mark.usefixtures("one_repeat")
TRUTH = np.repeat([0, 1, 2], 20)
ESTIMATORS = weighing_estimators(3, kept=12)
EVERY = pytest.mark.parametrize("name", ESTIMATORS)


def imputing(name):
    estimator = clone(ESTIMATORS[name])
    key = "estimator__missing" if name == "GapSearch" else "missing"
    return estimator.set_params(**{key: "impute"})


def draw():
    X = np.random.default_rng(0).standard_normal((60, 40))
    X[:, :12] += 3 * (TRUTH[:, None] == np.arange(12) % 3)
    return X


def lose(X, share=0.2, seed=1):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


def test_singular_values_are_shrunk_as_the_formula_by_hand_says():
    # The noise is (481 - 400) / 9^2 = 1 once 20 is known to rise above it: beyond 2 sqrt(10).
    shrunk = shrink(np.array([20.0, 3.0]), 481.0, (10, 10))
    assert shrunk == pytest.approx([np.sqrt((400 - 20) ** 2 - 400) / 20])
    assert len(shrink(np.array([5.0, 4.0]), 100.0, (10, 10))) == 0


def test_what_is_of_low_rank_is_found_again_and_of_noise_the_means():
    rng = np.random.default_rng(0)
    X = 5 + rng.standard_normal((40, 1)) * rng.uniform(1, 3, 30)
    np.testing.assert_allclose(fill_missing(lose(X)), X, atol=0.1)
    X = 5 + rng.standard_normal((80, 3)) @ rng.standard_normal((3, 60))
    np.testing.assert_allclose(fill_missing(lose(X)), X, atol=0.1)
    noise = lose(rng.standard_normal((60, 50)))
    expected = np.where(np.isnan(noise), np.nanmean(noise, axis=0), noise)
    np.testing.assert_allclose(fill_missing(noise), expected, atol=1e-12)


@pytest.mark.parametrize("share", [0.05, 0.4])
def test_where_many_features_show_clusters_weakly_they_are_nearer_than_by_neighbours(share):
    # A quarter of the features, as in the paper's Experiment 2.
    X = np.random.default_rng(0).standard_normal((60, 200))
    X[:, :50] += TRUTH[:, None] - 1
    holes = lose(X, share)
    lacking = np.isnan(holes)

    def error(filled):
        return np.square(filled - X)[lacking].mean()

    own = error(fill_missing(holes))
    assert own < error(np.where(lacking, np.nanmean(holes, axis=0), X))
    assert own < 0.95 * error(KNNImputer().fit_transform(holes))


def test_filled_values_have_settled_to_some_thousandths_of_a_deviation(monkeypatch):
    X = np.random.default_rng(0).standard_normal((60, 200))
    X[:, :50] += 2 * (TRUTH[:, None] - 1)
    holes = lose(X)
    filled, spread = fill_missing(holes), np.nanstd(holes, axis=0)
    monkeypatch.setattr(imputation, "SETTLED", 1e-7)
    further = np.square((fill_missing(holes) - filled) / spread)[np.isnan(holes)].mean()
    assert 0 < np.sqrt(further) < 2e-3


def test_what_is_observed_and_its_dtype_stay_and_scales_do_not_matter():
    X = lose(draw()).astype(np.float32)
    filled = fill_missing(X)
    assert filled.dtype == np.float32
    np.testing.assert_array_equal(filled[~np.isnan(X)], X[~np.isnan(X)])
    scales = np.logspace(-3, 3, 40)
    np.testing.assert_allclose(
        fill_missing(X.astype(float) * scales) / scales, fill_missing(X.astype(float)), rtol=1e-6
    )
    complete = draw()
    assert fill_missing(complete) is complete


@EVERY
def test_complete_data_have_the_same_bits(name):
    X = draw()
    one, other = clone(ESTIMATORS[name]).fit(X), imputing(name).fit(X)
    for attribute in ("labels_", "feature_weights_"):
        np.testing.assert_array_equal(getattr(one, attribute), getattr(other, attribute))
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


@EVERY
def test_clusters_are_found_although_a_fifth_is_missing(name):
    X = lose(draw())
    found = imputing(name).fit(X)
    assert classification_error_rate(TRUTH, found.labels_) == 0
    assert classification_error_rate(TRUTH, found.predict(X)) == 0
    largest = set(np.argsort(-found.feature_weights_, kind="stable")[:6])
    assert name == "KMeans" or largest <= set(range(12))
    kept = found.transform(X)
    assert np.isnan(kept).any()
    assert kept.shape == (60, found.get_support().sum())


def test_what_is_observed_counts_by_its_weight_worked_by_hand():
    centers = np.array([[0.0, 1], [0, 3], [0, 5]])
    # The last feature has no weight. Of the first sample, 9 * .81 + .25 is more than 9 * .01 +
    # 6.25; of the second, only the third feature is known.
    X = np.array([[0.9, 0.5, np.nan, 0.0], [np.nan, np.nan, 2.0, 99], [0.9, 0.5, 0.0, np.nan]])
    found = label_observed(X + 7, np.array([9.0, 1, 1, 0]), np.full(3, 7.0), centers)
    assert found.tolist() == [1, 0, 0]
    X[1] = np.nan
    with pytest.raises(ValueError, match="sample 1 of X has no value for any feature with weight"):
        label_observed(X + 7, np.array([9.0, 1, 1, 0]), np.full(3, 7.0), centers)


class Recorder(L0KMeans):
    def search_objectives(self, X, sparsities):
        self.seen.append(X.columns.T + X.means)
        return np.zeros(len(sparsities))


@pytest.mark.parametrize("reference", [*REFERENCES])
def test_references_lack_as_many_values_and_are_filled(reference):
    holes = np.isnan(lose(draw()))
    X = fill_missing(np.where(holes, np.nan, draw()))
    Recorder.seen = []
    given = {"index": 0, "seed": 0, "reference": reference}
    for which in (None, holes):
        reference_objectives(Recorder(3), X, np.array([5]), holes=which, **given)
    complete, filled = Recorder.seen
    changed = ~np.isclose(complete, filled)
    if reference == "permutation":
        # What is permuted is what was observed; as many are filled anew.
        for column, lacking, values in zip(filled.T, holes.T, X.T, strict=True):
            again = np.isclose(column[:, None], values[~lacking]).any(axis=1)
            assert again.sum() == (~lacking).sum()
    else:
        np.testing.assert_array_equal(changed, holes)


def test_what_cannot_be_filled_is_refused_by_name():
    estimator = L0KMeans(3, missing="impute")
    table = pd.DataFrame(lose(draw())).add_prefix("gene ")
    table["gene 3"] = np.nan
    with pytest.raises(ValueError, match=r"no value in 1 feature\(s\).* feature 'gene 3'"):
        estimator.fit(table)
    empty = lose(draw())
    empty[5] = np.nan
    with pytest.raises(ValueError, match=r"no value in 1 sample\(s\).* sample 5; .*Leave them out"):
        estimator.fit(empty)
    infinite = draw()
    infinite[2, 3] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        estimator.fit(infinite)
    with pytest.raises(ValueError, match=r"Sparse X contains NaN: give X.toarray\(\)"):
        estimator.fit(csr_array(lose(draw())))
    with pytest.raises(ValueError, match="nan should be finite"):
        StreamedMatrix(lose(draw()))
    for other in (L0KMeans(3, missing="median"), SparseKMeans(3, missing="median")):
        with pytest.raises(ValueError, match="missing='median' should be one of"):
            other.fit(draw())
