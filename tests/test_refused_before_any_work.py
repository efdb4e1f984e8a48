"""What names, numbers of clusters and parameters decide is refused before anything is fitted."""

import numpy as np
import pandas as pd
import pytest
from anndata import AnnData
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.cluster import AgglomerativeClustering
from small_estimators import ESTIMATORS

import sparsekm
from sparsekm import GapSearch, L0KMeans, SparseClustering
from sparsekm.tuning.references import REFERENCES

FITTED = {
    **ESTIMATORS,
    "framework": SparseClustering(AgglomerativeClustering(3), sparsity=4),
    "gap of a framework": GapSearch(SparseClustering(AgglomerativeClustering(3)), n_references=2),
}
WORK = [
    "cluster.path_estimator.KMeansPartition.run",
    "cluster.estimators.search_path",
    "cluster.estimators.propose_starts",
    "cluster.estimators.alternate_everywhere",
    "cluster.sparse_clustering.alternate_everywhere",
    "baselines.spectral.principal_axes",
    "baselines.spectral.marginal_scores",
    "baselines.penalised_gaussian_mixture.KMeansPartition.start",
    "baselines.penalised_gaussian_mixture.fit_penalties",
    "tuning.chosen_fit.Judge",
    "tuning.gap_search.reference_objectives",
]


class WorkedError(Exception):
    """Something was fitted, or was made to be."""


@pytest.fixture(name="idle")
def engine_that_must_not_start(monkeypatch):
    def work(*args, **kwargs):
        raise WorkedError

    for place in WORK:
        monkeypatch.setattr(f"sparsekm.{place}", work)
    for kind in REFERENCES:
        monkeypatch.setitem(REFERENCES, kind, work)


@pytest.fixture(scope="module", name="X")
def samples():
    X = np.random.default_rng(2).normal(size=(24, 12))
    X[:12, :4] += 4
    return X


def with_clusters(estimator, n_clusters):
    """Ask for a number of clusters, wherever an estimator has it."""
    found = clone(estimator)
    names = ("n_clusters", "estimator__n_clusters", "clusterer__n_clusters")
    names += ("estimator__clusterer__n_clusters",)
    name = next(name for name in names if name in found.get_params())
    return found.set_params(**{name: n_clusters})


@pytest.mark.parametrize("name", FITTED)
def test_the_engine_of_every_estimator_is_watched(name, X, idle):
    with pytest.raises(WorkedError):
        FITTED[name].fit(X)


@pytest.mark.parametrize("name", FITTED)
def test_names_that_are_no_strings_throughout_are_refused_first(name, X, idle):
    columns = [0, "one", *range(2, 12)]
    with pytest.raises(TypeError, match=r"your input has \['int', 'str'\]"):
        FITTED[name].fit(pd.DataFrame(X, columns=columns))


@pytest.mark.parametrize("name", FITTED)
@pytest.mark.parametrize(
    ("n_clusters", "message"),
    [
        (0, "=0 should be >= 1"),
        (2.5, "=2.5.* should .*(integer|number)"),
        (25, "n_samples=24 should be >= n_clusters=25"),
        (5, "n_clusters=5 should be <= the number of distinct samples, 4"),
    ],
)
def test_impossible_numbers_of_clusters_are_refused_first(name, n_clusters, message, X, idle):
    X = np.repeat(X[[0, 6, 12, 18]], 6, axis=0) if n_clusters == 5 else X
    with pytest.raises((ValueError, TypeError), match=message):
        with_clusters(FITTED[name], n_clusters).fit(X)


TUNED = [name for name in FITTED if name.startswith(("gap", "sparse"))]


@pytest.mark.parametrize("name", TUNED)
def test_one_cluster_is_refused_first_by_whatever_chooses_a_sparsity(name, X, idle):
    with pytest.raises(ValueError, match="n_clusters=1 should be >= 2; with one cluster every obj"):
        with_clusters(FITTED[name], 1).fit(X)


@pytest.mark.parametrize("name", sorted(set(FITTED) - set(TUNED)))
def test_one_cluster_is_all_samples_to_the_others(name, X):
    fit = with_clusters(FITTED[name], 1).set_params(random_state=0).fit(X)
    assert set(fit.labels_) == {0}
    np.testing.assert_allclose(fit.feature_scores_, 0, atol=1e-9)


# Of every estimator that has the parameter: a value, and the rule that the refusal states with it.
OUT_OF_RANGE = [
    ("n_init", 0, ">= 1"),
    ("max_iter", -3, ">= 1"),
    ("tol", -1.0, ">= 0"),
    ("min_cluster_size", 9, ("n_samples=24 should be >= n_clusters * min_cluster_size = 27",)),
    ("min_cluster_size", -3, ">= 1"),
    ("sparsity", 0, ">= 1"),
    ("sparsity", True, "number"),
    ("sparsity", np.nan, "finite"),
    ("sparsities", [], ("one-dimensional with >= 1 value",)),
    ("sparsities", [4, 0], ("sparsity=0", "should be >= 1")),
    ("sparsities", [4, 13], ("sparsity=13", "should be <= n_features=12")),
    ("search", "quick", "should be one of ['auto', 'alternate', 'global']"),
    ("init", "best", "should be None, one of ['random', 'screened'] or labels of shape (24,)"),
    ("init", [0, 1], ("init of shape (2,)", "(24,)")),
    ("init", [k % 4 for k in range(24)], ("init", "4", "n_clusters=3")),
    ("penalty", "l3", "should be "),
    ("selection", "few", "should be one of"),
    ("screening", "most", "should be one of"),
    ("n_references", 1, ">= 2"),
    ("reference", "noise", "should be one of ['permutation', "),
    ("rule", "least", "should be one of ['max', 'one-se', 'auto']"),
    ("n_refined", -1, ">= 0"),
    ("max_samples", 2, ("=2 should be >= n_clusters",)),
    ("n_components", 13, "<= min"),
    ("n_penalties", 0, ">= 1"),
    ("random_state", "seven", ("seven",)),
    ("n_jobs", 0, ("n_jobs=0 should be None, >= 1",)),
    ("n_jobs", "2", "None or an integer"),
]


def faulty_estimators():
    for name, estimator in FITTED.items():
        for parameter, value, rule in OUT_OF_RANGE:
            inner = f"estimator__{parameter}"
            known = estimator.get_params()
            # A search sets the seed of its estimator, and tunes its sparsity.
            passed_on = inner in known and parameter not in ("sparsity", "random_state", "n_jobs")
            if parameter in known or passed_on:
                full = inner if passed_on else parameter
                label = f"{name}, {full}={value}"
                faulty = clone(estimator).set_params(**{full: value})
                said = rule if isinstance(rule, tuple) else (f"{parameter}={value!r}", rule)
                yield pytest.param(faulty, said, id=label)


@pytest.mark.parametrize(("estimator", "said"), list(faulty_estimators()))
def test_parameters_out_of_range_are_refused_with_the_value_and_the_rule(estimator, said, X, idle):
    with pytest.raises((ValueError, TypeError)) as caught:
        estimator.fit(X)
    assert [part for part in said if part not in str(caught.value)] == []
    assert not hasattr(estimator, "labels_")


def test_references_that_are_dense_are_refused_of_sparse_data_first(X, idle):
    for reference in ("gaussian", "shrunk"):
        told = f"reference='{reference}' makes a dense matrix .* should be 'permutation'"
        with pytest.raises(ValueError, match=told):
            GapSearch(L0KMeans(3), reference=reference).fit(csr_array(X))


FAULTS = {"n_clusters": 2.5, "penalty": "l3", "max_samples": 0, "groups": "donor"}
FAULTS |= {"layer": "scaled", "key_added": 7, "mask": "what"}


@pytest.mark.parametrize(("name", "value"), FAULTS.items())
def test_an_anndata_is_not_read_before_the_parameters_are(name, value, X, idle, monkeypatch):
    def read(*args):
        raise WorkedError

    if name != "layer":
        monkeypatch.setattr("sparsekm.tl.read_values", read)
    adata = AnnData(X)
    with pytest.raises((ValueError, TypeError), match=name):
        sparsekm.tl.sparse_kmeans(adata, **{"n_clusters": 3, name: value})
    assert list(adata.obs) + list(adata.var) + list(adata.uns) == []
