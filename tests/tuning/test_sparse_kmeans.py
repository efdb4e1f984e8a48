"""SparseKMeans decides screening, start and features; X has its own scale."""

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array
from sklearn.base import clone

from sparsekm import GapSearch, L0KMeans, SparseKMeans, classification_error_rate

pytestmark = pytest.mark.usefixtures("one_repeat")
PENALTIES = pytest.mark.parametrize("penalty", ["l0", "l1"])
TRUTH = np.repeat([0, 1, 2], [15, 15, 20])


@pytest.fixture(scope="module", name="clear")
def three_clear_clusters():
    """Give clusters of 15, 15 and 20 that twelve of 40 features show, four for each."""
    X = np.linspace(1, 9, 40) + np.random.default_rng(1).standard_normal((50, 40))
    X[:, :12] += 5 * (TRUTH[:, None] == np.arange(12) % 3)
    X.setflags(write=False)
    return X


@pytest.fixture(scope="module", name="fits")
def fits_of_either_penalty(clear):
    return {
        penalty: SparseKMeans(3, penalty=penalty, random_state=0).fit(clear)
        for penalty in ("l0", "l1")
    }


@PENALTIES
def test_clear_clusters_and_their_features_are_found_exactly(fits, clear, penalty):
    fit = fits[penalty]
    assert classification_error_rate(TRUTH, fit.labels_) == 0
    assert fit.has_clusters_ is True
    assert fit.get_support()[:12].all()
    assert fit.get_support()[12:].sum() <= 3
    np.testing.assert_array_equal(fit.predict(clear), fit.labels_)


@PENALTIES
def test_attributes_have_the_shapes_and_ranges_of_the_contract(fits, penalty):
    fit = fits[penalty]
    assert fit.selection_frequency_.shape == (40,)
    assert fit.coassociation_.shape == (50, 50)
    np.testing.assert_allclose(np.diag(fit.coassociation_), 1)
    together = TRUTH[:, None] == TRUTH
    assert fit.coassociation_[together].min() > fit.coassociation_[~together].max()
    assert fit.sample_reproducibility_.shape == (50,)
    for shares, least in ((fit.sample_reproducibility_, 0.8), (fit.selection_frequency_, 0)):
        assert least <= shares.min() <= shares.max() <= 1
    assert fit.selection_frequency_[:12].tolist() == [1] * 12
    assert (fit.n_clusters_, fit.screening_) == (3, "all")
    assert isinstance(fit.sparsity_, int if penalty == "l0" else float)
    names = ["cluster_a", "cluster_b", "p", "p_adjusted", "n_middle", "n_a", "n_b"]
    assert fit.separation_.columns.tolist() == [*names, "distance", "histogram", "p_least"]
    assert fit.cluster_counts_ is None


@PENALTIES
def test_the_signature_is_small_and_has_the_weights_if_asked_for(fits, clear, penalty):
    relevant = fits[penalty]
    assert set(relevant.signature_) <= set(range(12))
    assert len(relevant.signature_) < relevant.get_support().sum()
    assert relevant.signature_agreement_ > 0.9
    assert (relevant.cluster_signature_agreements_ > 0.9).all()
    few = clone(relevant).set_params(selection="signature").fit(clear)
    np.testing.assert_array_equal(few.signature_, relevant.signature_)
    np.testing.assert_array_equal(few.labels_, relevant.labels_)
    np.testing.assert_array_equal(few.get_support(indices=True), few.signature_)


@pytest.mark.parametrize(("penalty", "sparsity", "resolved"), [("l0", 0.1, 4), ("l1", 2, 2.0)])
def test_a_sparsity_that_is_given_is_honoured(clear, penalty, sparsity, resolved):
    fit = SparseKMeans(3, penalty=penalty, sparsity=sparsity, random_state=0).fit(clear)
    assert fit.sparsity_ == resolved
    assert classification_error_rate(TRUTH, fit.labels_) == 0
    if penalty == "l0":
        assert fit.get_support().sum() == resolved
    else:
        assert fit.feature_weights_.sum() == pytest.approx(resolved)


@PENALTIES
def test_samples_are_predicted_on_the_scale_of_x_by_distances_of_z_scores(fits, clear, penalty):
    # So many, and between the clusters, that other scales would move some.
    new = np.random.default_rng(0).normal(clear.mean(axis=0), 3, size=(5000, 40))
    fit = fits[penalty]
    z = (new[:, None] - fit.cluster_centers_) / clear.std(axis=0, ddof=1)
    expected = (fit.feature_weights_ * z**2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(fit.predict(new), expected)


@pytest.mark.parametrize(("penalty", "container"), [("l0", csr_array), ("l1", csc_array)])
def test_sparse_data_give_the_answer_of_dense_ones(penalty, container):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((60, 130)) < 0.6, 0.0, rng.exponential(size=(60, 130)))
    X[:, :12] += 4 * (np.arange(60)[:, None] % 3 == np.arange(12) % 3)
    dense = SparseKMeans(3, penalty=penalty, random_state=0).fit(X)
    stored = SparseKMeans(3, penalty=penalty, random_state=0).fit(container(X))
    for name in ("labels_", "screening_", "conclusion_", "has_clusters_", "signature_"):
        np.testing.assert_array_equal(getattr(stored, name), getattr(dense, name))
    for name in ("feature_weights_", "feature_scores_", "cluster_centers_"):
        found, expected = getattr(stored, name), getattr(dense, name)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    found, expected = (fit.result_.left_out_centers for fit in (stored, dense))
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    np.testing.assert_array_equal(stored.predict(container(X)), dense.predict(X))


def test_what_is_known_of_drawn_samples_has_the_numbers_of_the_clusters_of_all(seed):
    labels = np.random.default_rng(seed).permutation(np.repeat([0, 1, 2], 100))
    X = np.random.default_rng(seed).standard_normal((300, 30))
    X[:, :6] += 5 * (labels[:, None] == np.arange(6) % 3)
    for state in range(3):
        fit = SparseKMeans(3, max_samples=60, random_state=state).fit(X)
        np.testing.assert_array_equal(fit.left_out_labels_, fit.labels_)
        for cluster, features in enumerate(fit.cluster_signatures_):
            (planted,) = np.unique(labels[fit.labels_ == cluster])
            assert set(features % 3) == {planted}


@PENALTIES
def test_the_conclusion_says_what_was_found(fits, penalty):
    fit = fits[penalty]
    said, table = fit.conclusion_, fit.separation_
    assert said.endswith(".")
    apart = (table["p_adjusted"] <= 0.05).sum()
    verb = "is" if apart == 1 else "are"
    some = f"{apart} of {len(table)} pairs of neighbouring clusters {verb} clearly separated"
    every = "All 3 clusters are clearly separated"
    assert said.startswith(some if apart < len(table) else every)
    for part in (
        f"{fit.get_support().sum()} of 40 features have weight",
        f"The signature of {len(fit.signature_)} features assigns left-out samples to the same",
        f"{fit.sample_reproducibility_.mean():.0%}",
    ):
        assert part in said


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"sparsity": None}, "sparsity=None should be 'auto' or a number"),
        ({"sparsity": 41}, "sparsity=41 should be <= n_features=40"),
        ({"sparsity": 1.0}, "sparsity=1.0 is ambiguous"),
    ],
)
def test_what_cannot_be_is_refused_by_name_value_and_rule(clear, parameters, message):
    with pytest.raises(ValueError, match=message):
        SparseKMeans(**{"n_clusters": 3, **parameters}).fit(clear)


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_data_without_any_variation_are_refused(kind):
    for estimator in (SparseKMeans(2), GapSearch(L0KMeans(2), n_references=2)):
        with pytest.raises(ValueError, match="All n_features=3 features are constant"):
            estimator.fit(kind(np.ones((12, 3))))


def test_the_guard_holds():
    X = np.random.default_rng(0).standard_normal((40, 12))
    X[0] = 12.0
    free, guarded = (
        SparseKMeans(3, min_cluster_size=size, random_state=0).fit(X) for size in (1, 9)
    )
    assert np.bincount(free.labels_).min() < 9
    assert np.bincount(guarded.labels_, minlength=3).min() >= 9


@PENALTIES
@pytest.mark.parametrize("shape", [(2, 1), (4, 3), (9, 1)])
def test_tiny_data_are_fitted(penalty, shape):
    X = np.random.default_rng(shape[0]).standard_normal(shape)
    for n_clusters in sorted({2, shape[0]}):
        fit = SparseKMeans(n_clusters, penalty=penalty, random_state=0).fit(X)
        assert len(np.unique(fit.labels_)) == n_clusters
        np.testing.assert_array_equal(fit.predict(X), fit.labels_)


# Of rare samples, one feature can be kept that tells only two of the three apart.
@pytest.mark.filterwarnings("ignore:Clusters with the same centre")
def test_duplicated_and_rare_samples_and_constant_features_are_fitted():
    X = np.zeros((32, 9))
    X[:, :6] = np.repeat(np.random.default_rng(0).standard_normal((4, 6)), 8, axis=0)
    fit = SparseKMeans(4, random_state=0).fit(X)
    assert classification_error_rate(np.arange(32) // 8, fit.labels_) == 0
    assert not fit.get_support()[6:].any()
    X = np.zeros((40, 5))
    X[0, 0], X[1, 1] = 1, 4
    fit = SparseKMeans(3, random_state=0).fit(X)
    assert np.bincount(fit.labels_).min() >= 1
    assert not fit.get_support()[2:].any()


@pytest.mark.parametrize(
    ("X", "most"),
    [
        (np.repeat([[0.0], [1.0]], 20, axis=0), 2),
        (np.arange(60)[:, None] % 5 + 1.0, 5),
        (np.indices((2, 2)).reshape(2, 4).T.repeat(10, axis=0).astype(float), 4),
    ],
    ids=["two values", "answers from 1 to 5", "two binary items"],
)
def test_no_more_clusters_are_tried_than_samples_are_distinct_and_the_conclusion_says_so(X, most):
    found = SparseKMeans("auto", random_state=0).fit(X)
    assert found.cluster_counts_["n_clusters"].tolist() == [*range(2, most + 1)]
    assert "clusters were tried, up to the number of distinct samples" in found.conclusion_


def test_of_twenty_samples_more_than_one_number_of_clusters_is_tried():
    X = np.random.default_rng(0).standard_normal((20, 20))
    truth = np.arange(20) // 7
    X[:, :6] += 6 * (truth[:, None] == np.arange(6) % 3)
    found = SparseKMeans("auto", random_state=0).fit(X)
    assert classification_error_rate(truth, found.labels_) == 0
    assert len(found.cluster_counts_) > 1
    assert "distinct" not in found.conclusion_
