"""The estimators keep scikit-learn's contract."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from sparsekm.cluster.estimators import KMeans, L0KMeans, L1KMeans

# These shuffle the samples and compare labels, which are numbered by first appearance.
# `test_a_weight_of_two_is_the_sample_twice` compares what does not depend on the order.
SHUFFLED = {
    f"check_sample_weight_equivalence_on_{kind}_data": "clusters are numbered by first appearance"
    for kind in ("dense", "sparse")
}


@parametrize_with_checks(
    [
        KMeans(n_clusters=2),
        L0KMeans(n_clusters=2, sparsity=0.5),
        L1KMeans(n_clusters=2, sparsity=1.0, search="global"),
    ],
    expected_failed_checks=lambda estimator: SHUFFLED,
)
def test_scikit_learns_own_checks_pass(estimator, check):
    check(estimator)


@pytest.mark.parametrize("Estimator", [KMeans, L0KMeans, L1KMeans])
def test_the_defaults_are_those_of_the_contract(Estimator):
    parameters = Estimator().get_params()
    expected = {
        "n_clusters": 8,
        "n_init": 10,
        "min_cluster_size": 1,
        "random_state": None,
        "n_jobs": None,
        "verbose": 0,
    }
    if Estimator is not KMeans:
        expected |= {"sparsity": None, "search": "auto", "init": None, "tol": 1e-4}
    assert {name: parameters[name] for name in expected} == expected
    assert {"max_iter", "tol"} <= set(parameters)
    with pytest.raises(TypeError):
        Estimator(8, 3)


def test_fits_work_in_a_pipeline(make_sparse_estimator, clear_data):
    X = clear_data.X * 7 + 3
    pipeline = make_pipeline(StandardScaler(), make_sparse_estimator(random_state=0)).fit(X)
    scaled = StandardScaler().fit_transform(X)
    alone = make_sparse_estimator(random_state=0).fit(scaled)
    np.testing.assert_array_equal(pipeline[-1].labels_, alone.labels_)
    np.testing.assert_array_equal(pipeline.predict(X), alone.labels_)
    np.testing.assert_array_equal(pipeline.transform(X), alone.transform(scaled))


def test_pandas_output_names_the_kept_columns(make_sparse_estimator, clear_data):
    names = [f"gene {j}" for j in range(clear_data.X.shape[1])]
    frame = pd.DataFrame(clear_data.X, columns=names, index=np.arange(len(clear_data.X)) + 100)
    estimator = make_sparse_estimator(random_state=0).set_output(transform="pandas")
    kept = estimator.fit_transform(frame)
    assert isinstance(kept, pd.DataFrame)
    assert kept.columns.tolist() == names[:4]
    assert kept.index.tolist() == frame.index.tolist()
    np.testing.assert_array_equal(kept.to_numpy(), clear_data.X[:, :4])
    assert estimator.feature_names_in_.tolist() == names
    assert estimator.get_feature_names_out().tolist() == names[:4]


def test_float32_stays_float32(make_estimator, faint_data):
    fit = make_estimator(random_state=0).fit(faint_data.X.astype(np.float32))
    assert fit.cluster_centers_.dtype == np.float32
    assert fit.transform(faint_data.X.astype(np.float32)).dtype == np.float32
    double = make_estimator(random_state=0).fit(faint_data.X)
    assert double.cluster_centers_.dtype == np.float64
    assert double.transform(faint_data.X).dtype == np.float64


def test_parameters_can_be_searched_over(clear_data):
    def planted_kept(estimator, X, y=None):
        return estimator.get_support()[:4].sum() - estimator.get_support()[4:].sum()

    search = GridSearchCV(
        L0KMeans(3, n_init=2, random_state=0), {"sparsity": [2, 4, 9]}, scoring=planted_kept, cv=2
    ).fit(clear_data.X)
    assert search.best_params_ == {"sparsity": 4}
