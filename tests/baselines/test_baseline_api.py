"""The baselines keep scikit-learn's contract and the package's."""

import numpy as np
import pytest
from sklearn.base import clone

import sparsekm
from sparsekm import IFPCA, SCFS, KMeans, PCAKMeans, PenalizedGaussianMixture
from sparsekm.io.store import read_path, write_path


# Clusters on a line are no task for IF-PCA and SC-FS: they cluster K - 1 and K singular vectors of
# equal weight, and only the first of them would hold the clusters.
@pytest.mark.parametrize(
    ("Estimator", "clear"),
    [
        (PCAKMeans, "easy_data"),
        (PenalizedGaussianMixture, "easy_data"),
        (IFPCA, "triangle_data"),
        (SCFS, "triangle_data"),
    ],
)
def test_clear_clusters_are_found_and_predicted(Estimator, clear, request):
    data = request.getfixturevalue(clear)
    fit = Estimator(3, random_state=0).fit(data.X)
    assert sparsekm.classification_error_rate(data.labels, fit.labels_) == 0
    np.testing.assert_array_equal(fit.predict(data.X), fit.labels_)
    np.testing.assert_array_equal(fit.predict(data.X[7:9]), fit.labels_[7:9])


@pytest.mark.parametrize("Estimator", [KMeans, PCAKMeans, PenalizedGaussianMixture, IFPCA, SCFS])
def test_a_path_holds_the_one_fit_and_goes_through_a_file(Estimator, easy_data, tmp_path):
    X = easy_data.X.astype(np.float32)
    steps = []
    estimator = Estimator(3, random_state=0)
    path = estimator.path(X, None, progress=lambda *step: steps.append(step))
    fit = clone(estimator).fit(X)
    assert not hasattr(estimator, "labels_")
    assert steps == [(1, 1)]
    assert path.sparsities.tolist() == [np.count_nonzero(fit.feature_weights_)]
    np.testing.assert_array_equal(path.labels, [fit.labels_])
    np.testing.assert_array_equal(path.weights, [fit.feature_weights_])
    np.testing.assert_array_equal(path.scores, [fit.feature_scores_])
    assert path.objectives.tolist() == [fit.objective_]
    names = ("method", "dataset", "input_digest", "code_digest", "search")
    numbers = {"seed": 1, "n_clusters": 3}
    about = dict.fromkeys(names, "x") | numbers | {"parameters": {}, "versions": {}}
    write_path(tmp_path / "path.h5", path, about)
    stored, about = read_path(tmp_path / "path.h5")
    np.testing.assert_array_equal(stored.labels, path.labels)
    assert about["search"] == path.search
