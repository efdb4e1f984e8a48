"""The baselines keep scikit-learn's contract and the package's."""

import numpy as np
import pytest
from sklearn.base import clone

from sparsekm import IFPCA, SCFS, KMeans, PCAKMeans, PenalizedGaussianMixture
from sparsekm.io.store import read_path, write_path


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
