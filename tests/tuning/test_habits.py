"""What users of scikit-learn expect of `SparseKMeans`: a score, names, messages in full."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

from sparsekm import SparseKMeans

pytestmark = pytest.mark.usefixtures("one_repeat")


def draw_groups(seed, n=60, p=40, shift=2.5):
    """Draw three groups of samples, each apart in four features of its own."""
    X = np.random.default_rng(seed).normal(size=(n, p))
    for k in range(3):
        X[k::3, 4 * k : 4 * k + 4] += shift
    return X


# So that the mean of all is not that of the three means.
UNEVEN = draw_groups(0)[(np.arange(60) % 3 > 0) | (np.arange(60) < 30)]


@pytest.fixture(scope="module", name="found")
def fit_of_a_frame():
    X = pd.DataFrame(UNEVEN).add_prefix("gene")
    return SparseKMeans(3, sparsity=12, random_state=0).fit(X)


def test_the_score_is_what_its_docstring_says_computed_sample_by_sample(found):
    X = draw_groups(1, n=9)
    kept = np.flatnonzero(found.feature_weights_)
    scale, middle = UNEVEN.std(axis=0, ddof=1), UNEVEN.mean(axis=0)
    gained = 0
    for x in X:
        for j in kept:
            others = kept[kept != j]
            away = ((x - found.cluster_centers_) / scale)[:, others]
            center = found.cluster_centers_[np.argmin((away**2).sum(axis=1)), j]
            gained += ((x[j] - middle[j]) ** 2 - (x[j] - center) ** 2) / scale[j] ** 2
    assert found.score(pd.DataFrame(X).add_prefix("gene")) == pytest.approx(gained / len(X))
    plain = SparseKMeans(3, sparsity=12, random_state=0).fit(UNEVEN)
    assert plain.score(X) == pytest.approx(gained / len(X))
    assert plain.score(csr_array(X)) == plain.score(X)


def test_a_random_feature_more_does_not_raise_the_score(seed):
    fitted, new = draw_groups(seed), draw_groups(seed + 100, n=300)
    scores = [
        SparseKMeans(3, sparsity=n, random_state=0).fit(fitted).score(new) for n in (12, 13, 20, 40)
    ]
    assert scores == sorted(scores, reverse=True)
    alone = SparseKMeans(3, sparsity=1, random_state=0).fit(fitted)
    assert alone.score(new) == 0


def test_groups_that_are_not_there_score_below_nothing(seed):
    noise = np.random.default_rng(seed).normal(size=(300, 40))
    assert SparseKMeans(3, sparsity=12, random_state=0).fit(noise[:60]).score(noise[60:]) < 0


def test_grid_search_takes_the_features_that_hold_for_other_samples():
    search = GridSearchCV(SparseKMeans(3, random_state=0), {"sparsity": [3, 12, 40]}, cv=3)
    assert search.fit(draw_groups(2)).best_params_ == {"sparsity": 12}
    assert "cannot choose" in " ".join(SparseKMeans.score.__doc__.split())


def test_the_table_of_features_has_their_names_and_all_that_was_learnt(found):
    table = found.feature_table()
    columns = ["name", "selected", "weight", "score", "signature", "frequency"]
    assert list(table.columns) == columns
    assert table["name"].tolist() == [f"gene{j}" for j in range(40)]
    assert table.loc[table["selected"], "name"].tolist() == found.get_feature_names_out().tolist()
    np.testing.assert_array_equal(table["weight"], found.feature_weights_)
    np.testing.assert_array_equal(table["score"], found.feature_scores_)
    np.testing.assert_array_equal(table["frequency"], found.selection_frequency_)
    assert np.flatnonzero(table["signature"]).tolist() == found.signature_.tolist()
    unnamed = SparseKMeans(3, sparsity=12, random_state=0).fit(draw_groups(0)).feature_table()
    assert unnamed["name"].tolist() == list(range(40))
    for method in (SparseKMeans().feature_table, lambda: SparseKMeans().score(draw_groups(0))):
        with pytest.raises(NotFittedError):
            method()


def test_the_conclusion_names_features_where_they_have_names(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 30))
    X[:30, 7] += 12
    for data, name in ((X, "feature 7"), (pd.DataFrame(X).add_prefix("gene"), "feature gene7")):
        assert f"{name} alone" in SparseKMeans(2, random_state=0).fit(data).conclusion_


@pytest.mark.parametrize("given", ["3", "Auto"])
def test_a_number_of_clusters_in_quotation_marks_is_refused_with_all_that_is_allowed(given):
    with pytest.raises(
        ValueError, match=f"n_clusters='{given}' should be 'auto', or an integer >= 2"
    ):
        SparseKMeans(given).fit(draw_groups(0))
