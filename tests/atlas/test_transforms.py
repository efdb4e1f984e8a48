"""The scaled robust sigmoid, on values worked by hand."""

import anndata
import numpy as np
import pandas as pd

from sparsekm.atlas.normalisation import normalise_age, scaled_robust_sigmoid, transform_energies

NAN = np.nan


def transformed(*genes):
    X = np.array(genes, dtype=np.float32).T.copy()
    transform_energies(X, "robust_sigmoid")
    return X.T


def test_a_gene_worked_by_hand():
    # Median 2, quartiles 1 and 3: x is scaled by 2 / 1.35, so z is 1 / (1 + exp(1.35 (2 - x) / 2)),
    # that is 1 / (1 + 3.857426), 1 / (1 + 1.964033), 1/2 and their mirror images.
    z = np.array([0.205870, 0.337378, 0.5, 0.662622, 0.794130])
    expected = (z - z[0]) / (z[4] - z[0])
    np.testing.assert_allclose(transformed([0, 1, 2, 3, 4])[0], expected, atol=2e-6)


def test_an_outlier_weighs_no_more_than_saturation():
    near, far = transformed([0, 1, 2, 3, 30], [0, 1, 2, 3, 3e6])
    np.testing.assert_allclose(near, far, atol=1e-6)
    assert near[3] > 0.5


def test_gaps_stay_and_do_not_enter():
    values = transformed([0, NAN, 1, 2, NAN, 3, 4])[0]
    assert np.isnan(values[[1, 4]]).all()
    np.testing.assert_array_equal(values[[0, 2, 3, 5, 6]], transformed([0, 1, 2, 3, 4])[0])


def test_without_an_interquartile_range_mean_and_deviation_stand_in():
    # Seven zeros, 3 and 6: the mean is 1, the squares are 7 + 4 + 25 over n - 1 = 8, that is 4.5.
    z = 1 / (1 + np.exp(-np.array([-1, 2, 5]) / np.sqrt(4.5)))
    values = transformed([0, 0, 0, 0, 0, 0, 0, 3, 6])[0]
    assert values[[0, 6, 8]].tolist() == [0, 0, 1]
    np.testing.assert_allclose(values[7], (z[1] - z[0]) / (z[2] - z[0]), atol=1e-6)


def test_constant_and_empty_genes_give_no_warning():
    values = transformed([3, 3, 3, NAN], [NAN] * 4)
    np.testing.assert_array_equal(values, [[0, 0, 0, NAN], [NAN] * 4])


def test_the_scale_and_origin_of_a_gene_do_not_matter(seed):
    x = np.random.default_rng(seed).gamma(2, size=(50, 3))
    np.testing.assert_allclose(scaled_robust_sigmoid(1000 * x + 7), scaled_robust_sigmoid(x))


def test_every_gene_of_an_age_spans_the_unit_interval(seed, monkeypatch):
    monkeypatch.setattr("sparsekm.atlas.normalisation._ENERGIES_AT_ONCE", 100)
    X = np.random.default_rng(seed).gamma(2, size=(40, 7)).astype(np.float32)
    whole = scaled_robust_sigmoid(X)
    transform_energies(X, "robust_sigmoid")
    np.testing.assert_array_equal(X, whole.astype(np.float32))
    assert X.min(axis=0).tolist() == [0] * 7
    assert X.max(axis=0).tolist() == [1] * 7


def test_an_age_is_normalised_with_it(seed):
    region = pd.Categorical(["a", "b"] * 20)
    expression = anndata.AnnData(
        np.random.default_rng(seed).gamma(1, size=(40, 3)).astype(np.float32),
        obs=pd.DataFrame({"region": region}, index=[str(i) for i in range(40)]),
        var=pd.DataFrame({"gene_id": [7, 8, 9]}, index=["Phm1", "Phm2", "Phm3"]),
        obsm={"spatial": np.zeros((40, 3))},
        uns={"provenance": {}, "regions": pd.DataFrame({"acronym": ["a", "b"]})},
    )
    data = normalise_age(expression, transform="robust_sigmoid")
    assert data.uns["provenance"]["normalisation"]["transform"] == "robust_sigmoid"
    np.testing.assert_allclose(data.X.mean(axis=0), 0, atol=1e-6)
    assert not np.allclose(data.X, normalise_age(expression).X, atol=0.1)
