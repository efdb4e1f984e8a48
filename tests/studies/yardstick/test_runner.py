"""Every method of the registry runs on labelled sets, by how it is tuned."""

import numpy as np
import pytest

from sparsekm import GapSearch
from sparsekm.io.input_error import InputError
from sparsekm.pipeline.registry import METHODS
from sparsekm.studies.yardstick.runner import run_seeds, set_up

EFFORT = {"n_sparsities": 3, "n_references": 2}


def run(file, method, seeds=(1, 2), max_samples=100):
    return run_seeds(file, method, seeds, max_samples=max_samples, effort=EFFORT)


SIZES = {"apart": (24, 11, 2), "three": (30, 12, 3)}
# On so few features the rule auto of l1 and l0 keeps too few of them to tell three classes apart.
FOUND = [*[("apart", name) for name in ("kmeans", "l1", "l0")], ("three", "scfs")]


@pytest.mark.parametrize(("data_set", "name"), FOUND)
def test_classes_far_apart_are_found_by_every_kind_of_method(labelled_folder, data_set, name):
    n_samples, n_features, n_clusters = SIZES[data_set]
    table = run(labelled_folder / f"{data_set}.npz", METHODS[name])
    assert table["seed"].tolist() == [1, 2]
    for row in table.itertuples():
        assert (row.data_set, row.method) == (data_set, name)
        # The constant feature is dropped.
        assert (row.n_samples, row.n_features) == (n_samples, n_features)
        assert (row.n_available, row.n_clusters) == (n_samples, n_clusters)
        assert (row.error, row.cer, row.ari) == (0, 0, 1)
        assert 1 <= row.n_kept <= n_features
        assert row.seconds > 0


def test_only_methods_tuned_by_the_gap_are_searched_with_the_rule_auto():
    for method in METHODS.values():
        estimator = set_up(method, 2, 12, EFFORT, 7)
        assert isinstance(estimator, GapSearch) == (method.tuning == "gap")
        assert estimator.random_state == 7
        if method.tuning == "gap":
            assert (estimator.rule, estimator.n_references) == ("auto", 2)
            assert len(estimator.sparsities) == 3
            assert estimator.estimator.n_clusters == 2


def test_of_a_large_set_every_seed_sees_other_samples_and_every_method_the_same(
    labelled_folder, monkeypatch
):
    seen = []

    def remember(data, method, effort, seed):
        seen.append(data.X)
        return {"error": 0.0}

    monkeypatch.setattr("sparsekm.studies.yardstick.runner.score_method", remember)
    for name in ("kmeans", "l0"):
        table = run(labelled_folder / "three.npz", METHODS[name], max_samples=15)
        assert (table["n_available"] == 30).all()
        assert (table["n_samples"] == 15).all()
    np.testing.assert_array_equal(seen[0], seen[2])
    np.testing.assert_array_equal(seen[1], seen[3])
    assert not np.array_equal(seen[0], seen[1])


def test_a_set_of_one_class_is_refused(tmp_path, seed):
    X = np.random.default_rng(seed).normal(size=(5, 3))
    np.savez(tmp_path / "one.npz", X=X, y=np.zeros(5))
    with pytest.raises(InputError, match=r"one.npz: classes=1 among 5 samples should be >= 2"):
        run(tmp_path / "one.npz", METHODS["kmeans"])
