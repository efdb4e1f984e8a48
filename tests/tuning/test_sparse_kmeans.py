"""SparseKMeans decides start, search and sparsity, and its fit is an ordinary sparse one."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from sparsekm import L0KMeans, L1KMeans, SparseKMeans, classification_error_rate

PENALTIES = pytest.mark.parametrize("penalty", ["l0", "l1"])
FITTED = [
    "labels_",
    "cluster_centers_",
    "feature_weights_",
    "feature_scores_",
    "objective_",
    "coassociation_",
    "sample_confidence_",
    "selection_frequency_",
]
TRUTH = np.repeat([0, 1, 2], [15, 15, 20])


@pytest.fixture(scope="module", name="clear")
def three_clear_clusters():
    """Give clusters of 15, 15 and 20 that ten of 40 features show."""
    X = np.random.default_rng(1).standard_normal((50, 40))
    X[:15, :10] += 5
    X[15:30, :5] -= 5
    X.setflags(write=False)
    return X


@pytest.fixture(scope="module", name="fits")
def fits_of_either_penalty(clear):
    return {
        penalty: SparseKMeans(3, penalty=penalty, random_state=0).fit(clear)
        for penalty in ("l0", "l1")
    }


# Nothing can be chosen for one cluster: tests/test_refused_before_any_work.py.
OF_ONE_CLUSTER = dict.fromkeys(
    [
        "check_dont_overwrite_parameters",
        "check_fit2d_1feature",
        "check_fit2d_1sample",
        "check_fit2d_predict1d",
        "check_methods_subset_invariance",
    ],
    "the check sets n_clusters=1, which is refused",
)


@parametrize_with_checks(
    [SparseKMeans(n_clusters=2)], expected_failed_checks=lambda _: OF_ONE_CLUSTER
)
def test_scikit_learns_own_checks_pass(estimator, check):
    check(estimator)


def test_the_defaults_are_those_of_the_contract():
    assert SparseKMeans().get_params() == {
        "n_clusters": 8,
        "penalty": "l0",
        "sparsity": "auto",
        "min_cluster_size": 1,
        "max_samples": None,
        "random_state": None,
        "n_jobs": None,
        "verbose": 0,
    }
    with pytest.raises(TypeError):
        SparseKMeans(8, "l0")


@PENALTIES
def test_clear_clusters_and_their_features_are_found_exactly(fits, clear, penalty):
    fit = fits[penalty]
    assert classification_error_rate(TRUTH, fit.labels_) == 0
    assert fit.has_clusters_ is True
    assert fit.get_support()[:10].all()
    assert fit.get_support()[10:].sum() <= 3
    np.testing.assert_array_equal(fit.predict(clear), fit.labels_)


@PENALTIES
def test_attributes_have_the_shapes_and_ranges_of_the_contract(fits, clear, penalty):
    fit = fits[penalty]
    assert fit.labels_.shape == (50,)
    assert fit.labels_.dtype == np.int32
    assert fit.cluster_centers_.shape == (3, 40)
    for k in range(3):
        np.testing.assert_allclose(fit.cluster_centers_[k], clear[fit.labels_ == k].mean(axis=0))
    assert fit.feature_weights_.shape == fit.feature_scores_.shape == (40,)
    assert fit.coassociation_.shape == (50, 50)
    np.testing.assert_allclose(np.diag(fit.coassociation_), 1)
    together = TRUTH[:, None] == TRUTH
    assert fit.coassociation_[together].min() > fit.coassociation_[~together].max()
    assert fit.sample_confidence_.shape == (50,)
    assert ((fit.sample_confidence_ > 0.8) & (fit.sample_confidence_ <= 1)).all()
    assert fit.selection_frequency_.shape == (40,)
    assert ((fit.selection_frequency_ >= 0) & (fit.selection_frequency_ <= 1)).all()
    assert fit.selection_frequency_[:10].min() > fit.selection_frequency_[10:].max()
    assert fit.n_features_in_ == 40
    assert isinstance(fit.best_estimator_, L0KMeans if penalty == "l0" else L1KMeans)
    table = fit.search_results_
    assert table.columns.tolist() == [
        "sparsity",
        "n_selected",
        "objective",
        "agreement",
        "agreement_se",
        "admissible",
        "chosen",
    ]
    (row,) = table[table["chosen"]].itertuples()
    assert row.admissible
    assert row.sparsity == fit.sparsity_
    assert row.n_selected == fit.get_support().sum()
    assert row.objective == fit.objective_


def test_the_fit_is_an_l0_fit(fits):
    fit = fits["l0"]
    assert isinstance(fit.sparsity_, int)
    assert set(fit.feature_weights_) == {0.0, 1.0}
    assert fit.feature_weights_.sum() == fit.sparsity_
    kept = fit.get_support()
    assert fit.feature_scores_[kept].min() >= fit.feature_scores_[~kept].max()
    assert fit.objective_ == pytest.approx(fit.feature_weights_ @ fit.feature_scores_, rel=1e-12)


def test_the_fit_is_an_l1_fit(fits):
    fit = fits["l1"]
    assert isinstance(fit.sparsity_, float)
    weights = fit.feature_weights_
    assert (weights >= 0).all()
    assert np.linalg.norm(weights) == pytest.approx(1, rel=1e-9)
    assert weights.sum() <= fit.sparsity_ * (1 + 1e-9)
    assert fit.objective_ == pytest.approx(weights @ fit.feature_scores_, rel=1e-12)


@PENALTIES
def test_no_further_step_of_algorithm_1_improves_the_fit(fits, clear, penalty):
    fit = fits[penalty]
    estimator = {"l0": L0KMeans, "l1": L1KMeans}[penalty](
        3, sparsity=fit.sparsity_, init=fit.labels_
    )
    again = estimator.fit(clear)
    np.testing.assert_array_equal(again.labels_, fit.labels_)
    np.testing.assert_allclose(again.feature_weights_, fit.feature_weights_)


@pytest.mark.parametrize(
    ("penalty", "sparsity", "resolved"),
    [("l0", 7, 7), ("l0", np.int64(40), 40), ("l0", 0.1, 4), ("l0", 5.9, 5), ("l1", 2, 2.0)],
)
def test_a_sparsity_that_is_given_is_honoured(clear, penalty, sparsity, resolved):
    fit = SparseKMeans(3, penalty=penalty, sparsity=sparsity, random_state=0).fit(clear)
    assert fit.sparsity_ == resolved
    assert fit.search_results_["sparsity"].tolist() == [resolved]
    assert classification_error_rate(TRUTH, fit.labels_) == 0
    if penalty == "l0":
        assert fit.get_support().sum() == resolved


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"sparsity": None}, ValueError, "sparsity=None should be 'auto' or a number"),
        ({"sparsity": "some"}, ValueError, "sparsity='some' should be 'auto' or a number"),
        ({"sparsity": 41}, ValueError, "sparsity=41 should be <= n_features=40"),
        ({"sparsity": 0}, ValueError, "sparsity=0 should be >= 1"),
        ({"sparsity": 1.0}, ValueError, "sparsity=1.0 is ambiguous"),
        ({"penalty": "l2"}, ValueError, r"penalty='l2' should be one of \['l0', 'l1'\]"),
        ({"n_clusters": 51}, ValueError, "n_samples=50 should be >= n_clusters=51"),
        ({"n_clusters": 0}, ValueError, "n_clusters=0 should be >= 1"),
        ({"n_clusters": "3"}, TypeError, "n_clusters='3' should be an integer >= 1"),
        (
            {"min_cluster_size": 17},
            ValueError,
            r"n_samples=50 should be >= n_clusters \* min_cluster_size=51",
        ),
        ({"random_state": -1}, ValueError, "random_state=-1 should be >= 0"),
    ],
)
def test_what_cannot_be_is_refused_by_name_value_and_rule(clear, parameters, error, message):
    estimator = SparseKMeans(**{"n_clusters": 3, **parameters})
    with pytest.raises(error, match=message):
        estimator.fit(clear)
    assert not hasattr(estimator, "labels_")


def test_an_unfitted_estimator_says_so(clear):
    for use in ("predict", "transform"):
        with pytest.raises(NotFittedError, match="not fitted"):
            getattr(SparseKMeans(3), use)(clear)


@PENALTIES
def test_the_conclusion_is_one_sentence_that_says_what_was_found(fits, penalty):
    fit = fits[penalty]
    sentence = fit.conclusion_
    assert sentence.startswith("Evidence of clusters: ")
    assert sentence.endswith(".")
    assert ". " not in sentence
    assert "\n" not in sentence
    assert f"{fit.get_support().sum()} of 40 features are kept" in sentence
    table = fit.search_results_
    others = set(table["n_selected"][table["admissible"]]) - {fit.get_support().sum()}
    named = sentence.split("are kept, and ")[1].split(" would do as well")[0]
    named = named.replace("any tried from ", "")
    ends = [part.split(" to ") for part in named.replace(" or ", ", ").split(", ")]
    told = [(int(run[0]), int(run[-1])) for run in ends]
    for count in set(table["n_selected"]) - {fit.get_support().sum()}:
        assert any(low <= count <= high for low, high in told) == (count in others)
    assert f"{fit.sample_confidence_.mean():.0%}" in sentence


def test_a_given_sparsity_leaves_nothing_else_to_do_as_well(clear):
    fit = SparseKMeans(3, sparsity=8, random_state=0).fit(clear)
    assert "8 of 40 features are kept; a sample is" in fit.conclusion_


@PENALTIES
def test_jobs_and_clones_change_no_bit(fits, clear, penalty):
    fit = fits[penalty]
    for n_jobs in (1, 2):
        other = clone(fit).set_params(n_jobs=n_jobs).fit(clear)
        for name in FITTED:
            np.testing.assert_array_equal(getattr(other, name), getattr(fit, name), name)
        pd.testing.assert_frame_equal(other.search_results_, fit.search_results_)
        assert other.conclusion_ == fit.conclusion_


def test_a_seed_may_be_anything_that_scikit_learn_takes_and_the_global_one_is_untouched(clear):
    before = str(np.random.get_state())  # noqa: NPY002 - the generator nobody may touch
    one, other = (SparseKMeans(3, random_state=np.random.default_rng(5)).fit(clear) for _ in "ab")
    np.testing.assert_array_equal(one.coassociation_, other.coassociation_)
    SparseKMeans(3).fit(clear[:, :12])
    assert str(np.random.get_state()) == before  # noqa: NPY002


@PENALTIES
def test_the_order_of_features_changes_no_decision_on_clear_clusters(fits, clear, penalty):
    columns = np.random.default_rng(0).permutation(40)
    fit, moved = fits[penalty], clone(fits[penalty]).fit(clear[:, columns])
    assert classification_error_rate(fit.labels_, moved.labels_) == 0
    assert moved.sparsity_ == pytest.approx(fit.sparsity_)
    np.testing.assert_allclose(moved.feature_weights_, fit.feature_weights_[columns], rtol=1e-9)
    assert moved.has_clusters_ == fit.has_clusters_


@PENALTIES
def test_the_order_of_samples_changes_no_decision_on_clear_clusters(fits, clear, penalty):
    rows = np.random.default_rng(0).permutation(50)
    fit, moved = fits[penalty], clone(fits[penalty]).fit(clear[rows])
    assert classification_error_rate(fit.labels_[rows], moved.labels_) == 0
    assert moved.sparsity_ == pytest.approx(fit.sparsity_)
    np.testing.assert_allclose(moved.feature_weights_, fit.feature_weights_, rtol=1e-9)


def test_names_pipelines_and_output_are_scikit_learns(clear):
    names = [f"gene {j}" for j in range(40)]
    frame = pd.DataFrame(clear * 7 + 3, columns=names)
    pipeline = make_pipeline(StandardScaler(), SparseKMeans(3, sparsity=10, random_state=0))
    kept = pipeline.set_output(transform="pandas").fit_transform(frame)
    assert kept.columns.tolist() == names[:10]
    assert pipeline[-1].feature_names_in_.tolist() == names
    assert pipeline[-1].get_feature_names_out().tolist() == names[:10]
    assert classification_error_rate(TRUTH, pipeline.predict(frame)) == 0
    with pytest.raises(ValueError, match="feature names should match"):
        pipeline[-1].predict(frame.rename(columns={"gene 0": "other"}))


@PENALTIES
def test_float32_stays_float32_and_gives_the_clear_answer(fits, clear, penalty):
    single = clone(fits[penalty]).fit(clear.astype(np.float32))
    assert single.cluster_centers_.dtype == np.float32
    np.testing.assert_array_equal(single.labels_, fits[penalty].labels_)
