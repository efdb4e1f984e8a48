"""Labels, weights, centres and predictions are of one set of features: a fit that has settled."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array

from sparsekm import L0KMeans, L1KMeans, SparseKMeans, classification_error_rate
from sparsekm.tuning import chosen_fit

pytestmark = pytest.mark.usefixtures("one_repeat")
PLAIN = {"l0": L0KMeans, "l1": L1KMeans}


def overlapping(n_samples=90, n_features=150):
    """Draw three clusters with samples between them in 16 features, and a factor in all."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_samples, n_features))
    X += 0.7 * rng.standard_normal((n_samples, 1)) * rng.choice([-1, 1], n_features)
    X[:, :16] += 2.2 * (np.arange(n_samples)[:, None] % 3 == np.arange(16) % 3)
    return X


def counted():
    return np.round(np.maximum(1 + 2 * overlapping(), 0))


def ring():
    """Draw a cluster amid a ring, which k-means cuts into arcs."""
    rng = np.random.default_rng(0)
    angles = rng.uniform(0, 2 * np.pi, 48)
    X = rng.standard_normal((70, 4))
    X[:48, :2] += 10 * np.column_stack([np.cos(angles), np.sin(angles)])
    return X


FITS = {
    "dense": (overlapping, {}),
    "float32": (lambda: overlapping().astype(np.float32), {}),
    "CSR": (lambda: csr_array(counted()), {}),
    "CSC": (lambda: csc_array(counted()), {"penalty": "l1"}),
    "l1": (overlapping, {"penalty": "l1"}),
    "few of many samples drawn": (lambda: overlapping(2400, 30), {"max_samples": 120}),
    "groups of features": (overlapping, {"feature_groups": np.arange(150) // 2}),
    "given sparsity": (overlapping, {"sparsity": 5}),
    "given bound": (overlapping, {"sparsity": 2.5, "penalty": "l1"}),
    "signature": (overlapping, {"selection": "signature"}),
    "signature, l1": (overlapping, {"selection": "signature", "penalty": "l1"}),
    "noise": (lambda: np.random.default_rng(1).standard_normal((60, 100)), {}),
    "chosen number": (overlapping, {"n_clusters": "auto"}),
    "joined clusters": (ring, {"n_clusters": "auto"}),
}


@pytest.fixture(scope="module", params=FITS)
def fitted(request):
    """Fit one kind of data; give X, the fit, and how many samples `predict` placed elsewhere."""
    draw, parameters = FITS[request.param]
    X, moved, place = draw(), [], SparseKMeans._label

    def count(self, values):
        placed = place(self, values)
        moved.append(int((placed != self.result_.labels).sum()))
        return placed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SparseKMeans, "_label", count)
        patch.setattr(chosen_fit, "MOST_CLUSTERS", 5)
        fit = SparseKMeans(**{"n_clusters": 3, "random_state": 0, **parameters}).fit(X)
    assert (len(fit.result_.placing[0]) > fit.n_clusters_) == (request.param == "joined clusters")
    return X, fit, moved


def test_prediction_returns_the_labels_and_no_sample_had_to_be_moved(fitted):
    X, fit, moved = fitted
    np.testing.assert_array_equal(fit.predict(X), fit.labels_)
    assert moved == [0]
    if fit.selection == "signature":
        np.testing.assert_array_equal(fit.get_support(indices=True), fit.signature_)


def test_the_result_is_a_fixed_point_of_algorithm_1_at_its_sparsity(fitted):
    X, fit, _ = fitted
    dense = X.toarray() if hasattr(X, "toarray") else X.astype(float)
    means = [dense[fit.labels_ == k].mean(axis=0) for k in range(fit.n_clusters_)]
    np.testing.assert_allclose(fit.cluster_centers_, means, rtol=1e-5, atol=1e-6)
    # Where clusters were joined, those that were fitted.
    fitted, n_clusters = copy(fit), len(fit.result_.placing[0])
    fitted.result_ = replace(fit.result_, cluster_of=np.arange(n_clusters))
    labels = fitted.predict(X)
    z = (dense - dense.mean(axis=0)) / dense.std(axis=0, ddof=1)
    own = {"sparsity": fit.sparsity_, "feature_groups": fit.feature_groups, "init": labels}
    again = PLAIN[fit.penalty](n_clusters, search="alternate", n_init=1, **own).fit(z)
    assert classification_error_rate(labels, again.labels_) == 0
    np.testing.assert_allclose(again.feature_weights_, fit.feature_weights_, rtol=1e-5, atol=1e-7)


def test_weights_count_in_the_last_run_as_copies_would():
    X, weights = overlapping(), np.random.default_rng(2).integers(1, 5, 90)
    fit = SparseKMeans(3, random_state=0).fit(X, sample_weight=weights)
    z = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    rows = np.repeat(np.arange(90), weights)
    own = {"sparsity": fit.sparsity_, "init": fit.labels_[rows]}
    copies = L0KMeans(3, search="alternate", n_init=1, **own).fit(z[rows])
    assert classification_error_rate(fit.labels_[rows], copies.labels_) == 0
    np.testing.assert_array_equal(copies.feature_weights_, fit.feature_weights_)
    np.testing.assert_allclose(copies.feature_scores_, fit.feature_scores_, rtol=1e-9)


def test_samples_without_missing_values_are_predicted_as_they_are_labelled():
    X = overlapping()
    holes = np.random.default_rng(3).random(X.shape) < 0.1
    holes[::2] = False
    X[holes] = np.nan
    fit = SparseKMeans(3, missing="impute", random_state=0).fit(X)
    np.testing.assert_array_equal(fit.predict(X)[::2], fit.labels_[::2])
