"""The paper's designs: shapes and means worked by hand, correlations, and seeds."""

import numpy as np
import pytest

from sparsekm.simulation import (
    EXPERIMENTS,
    draw_replicate,
    experiment_1,
    experiment_2,
    experiment_3,
    experiment_4,
    gaussian_clusters,
    replicate_seed,
)
from sparsekm.studies import EXPERIMENT_ARGUMENTS

# Five standard errors: a false alarm once in two million draws, and the seeds are fixed.
WIDTH = 5.0


def test_the_arguments_that_a_configuration_may_name_are_those_of_the_functions():
    known = {name: {*draw.defaults, "standardise"} for name, draw in EXPERIMENTS.items()}
    assert known == {name: set(arguments) for name, arguments in EXPERIMENT_ARGUMENTS.items()}
    for name, draw in EXPERIMENTS.items():
        with pytest.raises(TypeError, match=rf"{name}: arguments \['n_sample'\] should be among"):
            draw(n_sample=3, random_state=0)


@pytest.mark.parametrize(
    ("draw", "arguments", "size", "shape", "n_relevant", "means"),
    [
        (experiment_1, {}, 20, (120, 2000), 200, [0.5, 1.0, 1.5, 2.0, 2.5, 3.0]),
        (experiment_2, {"mu": 0.7, "n_features": 500}, 20, (60, 500), 50, [0.7, -0.7, 0.0]),
        (experiment_3, {"n_features": 25}, 10, (30, 25), 5, [1.0, -1.0, 0.0]),
        (experiment_3, {"n_features": 500}, 20, (60, 500), 50, [0.7, -0.7, 0.0]),
        (experiment_4, {"rho": 0.3}, 20, (120, 2000), 200, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
    ],
)
def test_shapes_and_raw_means_are_the_papers(draw, arguments, size, shape, n_relevant, means):
    data = draw(**arguments, standardise=False, random_state=1)
    assert (data.X.shape, data.X.dtype) == (shape, np.float64)
    assert np.bincount(data.labels).tolist() == [size] * len(means)
    assert data.n_clusters == len(means)
    assert data.relevant.nonzero()[0].tolist() == list(range(n_relevant))
    rho = arguments.get("rho", 0.0)
    # A mean over m neighbouring AR(1) features has at most (1 + rho) / (1 - rho) the variance.
    inflation = np.sqrt((1 + rho) / (1 - rho))
    for cluster, mean in enumerate(means):
        for features, expected in ((data.relevant, mean), (~data.relevant, 0.0)):
            error = inflation / np.sqrt(size * np.count_nonzero(features))
            found = data.X[data.labels == cluster][:, features].mean()
            assert abs(found - expected) < WIDTH * error


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_columns_are_standardised_and_the_same_seed_gives_the_same_bits(experiment):
    X, again, other = (EXPERIMENTS[experiment](random_state=s).X for s in (0, 0, 1))
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(X.std(axis=0, ddof=1), 1, rtol=1e-12)
    assert X.tobytes() == again.tobytes() != other.tobytes()


@pytest.mark.parametrize("rho", [-0.6, 0.95])
def test_features_correlate_as_powers_of_rho(rho):
    n, p = 400, 300
    X = gaussian_clusters(
        np.zeros((1, 0)), n, p, correlation=rho, standardise=False, random_state=5
    ).X
    np.testing.assert_allclose(X.var(axis=0).mean(), 1, atol=0.05 / np.sqrt(1 - rho**2))
    for lag in (1, 2, 5):
        products = (X[:, :-lag] * X[:, lag:]).mean(axis=1)
        error = products.std(ddof=1) / np.sqrt(n)
        assert 0 < error < 0.06
        assert abs(products.mean() - rho**lag) < WIDTH * error


def test_root_experiment_setting_and_replicate_each_change_the_seed():
    def state(root=0, experiment="experiment_2", setting=None, replicate=0):
        seed = replicate_seed(root, experiment, setting or {"mu": 0.6}, replicate)
        return seed.generate_state(4).tobytes()

    changes = [{}, {"root": 1}, {"experiment": "experiment_3"}, {"setting": "mu=0.6"}]
    changes += [{"setting": {"mu": 0.7}}, {"setting": {"mu": 0.6, "n_features": 500}}]
    changes += [{"replicate": replicate} for replicate in range(1, 20)]
    assert len({state(**change) for change in changes}) == len(changes)
    assert state(setting={"mu": np.float64(0.6), "n": 500.0}) == state(
        setting={"n": 500, "mu": 0.6}
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: experiment_3(n_features=26, random_state=0), r"n_features=26 .*\[25, 500\]"),
        (lambda: experiment_4(rho=1.0, random_state=0), "correlation=1.0 should be > -1 and < 1"),
        (lambda: experiment_2(n_features=49, random_state=0), "n_features=49 .*n_relevant=50"),
        (
            lambda: gaussian_clusters([[0.0], [1.0]], [3, 2, 1], 5, random_state=0),
            r"cluster_sizes=\[3, 2, 1\] should be 2 integers",
        ),
        (lambda: gaussian_clusters([[np.nan]], 3, 5, random_state=0), "means should be finite"),
        (lambda: draw_replicate("experiment_5", {}, root=0, replicate=0), "'experiment_5' should"),
        (lambda: experiment_2(n_relevant=-1, random_state=0), "n_relevant=-1 should be >= 0"),
    ],
)
def test_designs_that_cannot_be_drawn_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
