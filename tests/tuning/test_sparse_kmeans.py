"""SparseKMeans decides start, search and sparsity, and its fit is an ordinary sparse one."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from sparsekm import KMeans, L0KMeans, L1KMeans, SparseKMeans, classification_error_rate
from sparsekm.simulation.designs import experiment_2

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


@pytest.fixture(scope="module", name="clear")
def three_clear_clusters():
    """Give clusters of 15, 15 and 20 that ten of 40 features show."""
    X = np.random.default_rng(1).standard_normal((50, 40))
    X[:15, :10] += 5
    X[15:30, :5] -= 5
    X.setflags(write=False)
    return X


TRUTH = np.repeat([0, 1, 2], [15, 15, 20])


@pytest.fixture(scope="module", name="fits")
def fits_of_either_penalty(clear):
    return {
        penalty: SparseKMeans(3, penalty=penalty, random_state=0).fit(clear)
        for penalty in ("l0", "l1")
    }


@parametrize_with_checks([SparseKMeans(n_clusters=2)])
def test_scikit_learns_own_checks_pass(estimator, check):
    check(estimator)


def test_the_defaults_are_those_of_the_contract():
    assert SparseKMeans().get_params() == {
        "n_clusters": 8,
        "penalty": "l0",
        "sparsity": "auto",
        "min_cluster_size": 1,
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
    kept = fit.search_results_["n_selected"][fit.search_results_["admissible"]]
    assert f"{kept.min()} to {kept.max()} would do as well" in sentence
    assert f"{fit.sample_confidence_.mean():.0%}" in sentence


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


@PENALTIES
def test_the_guard_holds(penalty):
    X = np.random.default_rng(0).standard_normal((40, 12))
    X[0] = 12.0
    free, guarded = (
        SparseKMeans(3, penalty=penalty, min_cluster_size=size, random_state=0).fit(X)
        for size in (1, 9)
    )
    assert np.bincount(free.labels_).min() < 9
    assert np.bincount(guarded.labels_, minlength=3).min() >= 9


@PENALTIES
@pytest.mark.parametrize("n_samples", [2, 4, 9])
@pytest.mark.parametrize("n_features", [1, 3])
def test_tiny_data_are_fitted(penalty, n_samples, n_features):
    X = np.random.default_rng(n_samples).standard_normal((n_samples, n_features))
    for n_clusters in sorted({1, 2, n_samples}):
        fit = SparseKMeans(n_clusters, penalty=penalty, random_state=0).fit(X)
        assert len(np.unique(fit.labels_)) == n_clusters
        np.testing.assert_array_equal(fit.predict(X), fit.labels_)


def test_duplicated_samples_and_constant_features_are_fitted():
    X = np.zeros((32, 9))
    X[:, :6] = np.repeat(np.random.default_rng(0).standard_normal((4, 6)), 8, axis=0)
    fit = SparseKMeans(4, random_state=0).fit(X)
    assert classification_error_rate(np.arange(32) // 8, fit.labels_) == 0
    assert not fit.get_support()[6:].any()


# One feature can be kept that tells only two of the three apart.
@pytest.mark.filterwarnings("ignore:Clusters with the same centre")
def test_rare_samples_among_duplicates_are_fitted():
    X = np.zeros((40, 5))
    X[0, 0], X[1, 1] = 1, 4
    fit = SparseKMeans(3, random_state=0).fit(X)
    assert np.bincount(fit.labels_).min() >= 1
    assert not fit.get_support()[2:].any()


def test_pure_noise_is_no_evidence_of_clusters_and_clear_clusters_are():
    noise = [np.random.default_rng(seed).standard_normal((40, 40)) for seed in range(3)]
    for X in noise:
        fit = SparseKMeans(2, random_state=0).fit(X)
        assert fit.has_clusters_ is False
        assert fit.conclusion_.startswith("No evidence of clusters: ")
        X[:20, :12] += 3
        assert SparseKMeans(2, random_state=0).fit(X).has_clusters_ is True


def strong_nuisance(seed, n_samples=72, n_features=600):
    """Draw two clusters in 5 % of the features, and four dense factors in all of them."""
    rng = np.random.default_rng(seed)
    labels = (np.arange(n_samples) >= 0.65 * n_samples).astype(int)
    loadings = 0.5 * rng.standard_normal((4, n_features))
    X = rng.standard_normal((n_samples, n_features))
    X += rng.standard_normal((n_samples, 4)) @ loadings
    # In units of a feature's own standard deviation, 1 of noise and 1 of factors.
    X /= np.sqrt(2)
    relevant = n_features // 20
    X[:, :relevant] += 3 * np.outer(labels, rng.choice([-1, 1], relevant))
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1), labels


@pytest.mark.parametrize("seed_of_data", range(3))
def test_where_factors_are_the_optimum_the_clusters_are_found_all_the_same(seed_of_data):
    X, truth = strong_nuisance(seed_of_data)
    assert classification_error_rate(truth, KMeans(2, random_state=0).fit(X).labels_) > 0.4
    path = L0KMeans(2, search="global", random_state=0).path(X, [120, 300, 600])
    # The optimum is the optimum: it explains more than the clusters do, and is wrong.
    best = path.labels[path.objectives.argmax()]
    assert classification_error_rate(truth, best) > 0.4
    own = L0KMeans(2, init=truth, random_state=0).path(X, [120, 300, 600])
    for i in range(3):
        assert path.objectives[i] >= own.objectives[i] * (1 - 1e-9)
        assert classification_error_rate(truth, path.labels[i]) > 0.4
    fit = SparseKMeans(2, random_state=0).fit(X)
    assert classification_error_rate(truth, fit.labels_) < 0.05
    assert fit.has_clusters_
    assert fit.get_support()[:30].mean() > 0.9
    assert fit.get_support()[30:].mean() < 0.1


@pytest.mark.parametrize("seed_of_data", range(2))
def test_where_screening_sees_nothing_the_search_for_the_optimum_is_used(seed_of_data):
    data = experiment_2(mu=0.7, n_features=200, random_state=seed_of_data)
    fit = SparseKMeans(3, random_state=0).fit(data.X)
    assert "the search for the optimum decided the start" in fit.conclusion_
    assert classification_error_rate(data.labels, fit.labels_) < 0.15
    assert fit.has_clusters_


def error_rate(classes, labels):
    """Share of samples outside the class that their cluster is matched with."""
    table = pd.crosstab(classes, labels).to_numpy()
    return 1 - table[linear_sum_assignment(-table)].sum() / len(labels)


@pytest.mark.slow
def test_the_two_leukemias_are_found_where_k_means_fails(test_data):
    file = test_data / "microarray" / "leukemia_72x3571.npz"
    if not file.is_file():
        pytest.skip(f"no microarray data: {file} is absent (SPARSEKM_TEST_DATA names its folder)")
    with np.load(file) as arrays:
        raw, classes = arrays["X"], arrays["y"]
    X = (raw - raw.mean(axis=0)) / raw.std(axis=0, ddof=1)
    assert error_rate(classes, KMeans(2, random_state=0).fit(X).labels_) > 0.2
    fit = SparseKMeans(2, random_state=0).fit(X)
    assert error_rate(classes, fit.labels_) <= 0.06
