"""The search along a path: pools of partitions, their children, and what is handed out."""

from functools import cache

import numpy as np
import pytest
from sklearn.base import clone

from sparsekm import L0KMeans, L1KMeans, classification_error_rate
from sparsekm.cluster import memetic_search, partition_step
from sparsekm.cluster.matrices.matrix import CentredMatrix
from sparsekm.cluster.memetic_search import CAPACITY, Pool, Search, cross
from sparsekm.cluster.partition_step import KMeansPartition, canonical_labels
from sparsekm.cluster.weight_step import PENALTIES, TopFeatures
from sparsekm.tuning.references import permuted_reference

GRIDS = {L0KMeans: [2, 4, 8, 15, 30, 40], L1KMeans: [1.2, 1.8, 2.7, 4.0, 5.5]}


def draw(n_samples):
    """Clusters that few features show, and modules of features that do not follow them."""
    rng = np.random.default_rng(3)
    labels = rng.integers(6, size=n_samples)
    X = rng.standard_normal((n_samples, 40))
    X[:, :10] += rng.normal(scale=1.5, size=(6, 10))[labels]
    X[:, 10:25] += rng.standard_normal((n_samples, 3)) @ rng.normal(scale=0.9, size=(3, 15))
    return X


@pytest.fixture(scope="module")
def path_of():
    """Give the function that fits a path by one thread, once."""

    @cache
    def fit(kind, n_samples):
        return kind(6, n_init=1, random_state=0, n_jobs=1).path(draw(n_samples), GRIDS[kind])

    return fit


@pytest.mark.parametrize(
    ("kind", "n_samples"), [(L0KMeans, 500), (L0KMeans, 5000), (L1KMeans, 5000)]
)
def test_objectives_rise_with_the_sparsity_and_no_labels_of_another_are_better(
    path_of, kind, n_samples
):
    path = path_of(kind, n_samples)
    assert path.search == "global"
    assert np.all(np.diff(path.objectives) >= 0)
    for sparsity, objective in zip(path.sparsities, path.objectives, strict=True):
        step = PENALTIES[kind().penalty](sparsity)
        values = [np.sum(step.weigh(scores) * scores) for scores in path.scores]
        assert np.all(np.array(values) <= objective * (1 + 1e-9))


@pytest.mark.parametrize(("kind", "grid"), [(L0KMeans, [8, 20, 40]), (L1KMeans, [2, 4, 6])])
def test_labels_of_a_path_are_of_the_nearest_centres_and_weights_the_best_for_them(kind, grid):
    # Samples everywhere between the centres: k-means gains little for a long time.
    rng = np.random.default_rng(1)
    many = rng.standard_normal((6000, 3)) @ rng.standard_normal((3, 40))
    many += rng.standard_normal((6000, 40)) * np.linspace(0.5, 2, 40)
    estimator = kind(12, n_init=2, random_state=0)
    path = estimator.path(many, grid)
    for index, labels in enumerate(path.labels):
        estimator.adopt(many, path, index)
        np.testing.assert_array_equal(estimator.predict(many), labels)
        weight_step = PENALTIES[estimator.penalty](path.sparsities[index])
        np.testing.assert_array_equal(weight_step.weigh(path.scores[index]), path.weights[index])


@pytest.mark.parametrize("kind", [L0KMeans, L1KMeans])
def test_fits_of_a_path_side_by_side_are_those_one_after_the_other(path_of, kind):
    one = path_of(kind, 5000)
    several = kind(6, n_init=1, random_state=0, n_jobs=3).path(draw(5000), GRIDS[kind])
    for attribute in ("labels", "weights", "objectives", "first_objectives"):
        assert getattr(one, attribute).tobytes() == getattr(several, attribute).tobytes()


@pytest.mark.parametrize("n_samples", [250, 5000])
def test_a_fit_is_about_as_good_as_the_path(n_samples):
    X = draw(n_samples)
    estimator = L0KMeans(6, n_init=3, random_state=0)
    path = clone(estimator).path(X, [4, 15, 40])
    fits = [clone(estimator).set_params(sparsity=count).fit(X) for count in (4, 15, 40)]
    assert np.mean([fit.objective_ for fit in fits] / path.objectives) > 0.999


# Given labels are the only start of the alternation: nothing is searched.
@pytest.mark.parametrize(
    ("n_samples", "given", "trim", "total"),
    [(500, False, 0, 5), (5000, False, 0, 8), (500, True, 0, 3), (120, False, 0.1, 5)],
)
def test_progress_counts_every_step_once(n_samples, given, trim, total):
    steps = []
    init = np.random.default_rng(0).integers(6, size=n_samples) if given else None
    estimator = L0KMeans(6, n_init=2, max_iter=5, init=init, trim=trim, random_state=0)
    estimator.path(draw(n_samples), [4, 15, 40], progress=lambda *step: steps.append(step))
    assert steps == [(done, total) for done in range(1, total + 1)]


def test_a_pool_keeps_the_best_distinct_partitions_whatever_their_names():
    pool, partitions = Pool(3), np.random.default_rng(0).integers(3, size=(8, 12)).astype(np.int32)
    for labels, objective in zip(partitions, [3, 7, 1, 8, 2, 6, 5, 4], strict=True):
        pool.add(labels, objective)
        pool.add((labels + 1) % 3, objective)
    best = [canonical_labels(partitions[place], 3) for place in (3, 1, 5, 6, 7)]
    assert CAPACITY == len(best)
    np.testing.assert_array_equal(pool.members, best)
    assert pool.is_new_start(partitions[0], remember=True)
    assert not pool.is_new_start((partitions[0] + 2) % 3)
    assert pool.is_new_start(partitions[1])


def test_a_child_has_clusters_of_one_parent_each_and_the_rest_by_chance_worked_by_hand():
    # Clusters 0 and 1 are the mother's, 2 and 3 the father's, to whom they have other names.
    alike = np.repeat(range(4), 3)
    mother = np.r_[alike, 0, 2, 0, 0, 2, 2].astype(np.int32)
    father = np.array([2, 3, 1, 0], np.int32)[np.r_[alike, 1, 3, 2, 2, 0, 0]]
    draws = np.r_[np.full(12, 0.5), [0.9, 0.1, 0.1, 0.9, 0.1, 0.9], [0.1, 0.2, 0.7, 0.8]]
    child = np.empty(18, np.int32)
    cross(mother, father, 4, draws, child)
    np.testing.assert_array_equal(child[:12], mother[:12])
    # One parent alone claims the first two; both claim the next two, and neither the last two.
    assert child[12:].tolist() == [0, 3, 0, 2, 2, 0]


def test_neighbouring_sparsities_are_crossed_and_offer_each_other_their_best(monkeypatch):
    monkeypatch.setattr(memetic_search, "RESTARTED", 0.0)
    rng, everyone = np.random.default_rng(0), np.arange(12)
    steps = [TopFeatures(count) for count in (1, 2, 4)]
    search = Search(CentredMatrix(rng.standard_normal((12, 4))), KMeansPartition(3), steps, 1, rng)
    # Each pool has one partition: crossed with itself alone, it has no other child.
    own = [tuple(labels) for labels in (everyone % 3, everyone // 4, np.minimum(everyone // 2, 2))]
    for pool, labels in zip(search.pools, own, strict=True):
        pool.add(np.array(labels, np.int32), 1.0)
    climbed = []

    def climb(pairs):
        for labels, place in pairs:
            climbed.append((tuple(canonical_labels(labels, 3).tolist()), place))

    monkeypatch.setattr(search, "climb", climb)
    search.evolve(1, lambda steps: None)
    offers = [(own[1], 0), (own[0], 1), (own[2], 1), (own[1], 2)]
    assert climbed[-4:] == offers
    for place in range(3):
        assert {labels for labels, at in climbed[:-4] if at == place} - {*own}


@pytest.mark.parametrize(
    ("shape", "n_init", "n_places", "n_climbs"),
    [
        # 32,000 over the root of 40 * 100 * 4, at 16 sparsities twice as many.
        ((40, 100), 1, 1, 252.98),
        ((40, 100), 3, 16, 1517.89),
        # No more than 20 in each of 20 generations.
        ((12, 4), 1, 1, 400),
    ],
)
def test_the_effort_is_divided_by_the_size_and_into_generations(shape, n_init, n_places, n_climbs):
    X = CentredMatrix(np.random.default_rng(0).standard_normal(shape))
    steps = [TopFeatures(1 + place) for place in range(n_places)]
    search = Search(X, KMeansPartition(4), steps, n_init, np.random.default_rng(0))
    assert search.n_climbs == pytest.approx(n_climbs, rel=1e-4)
    assert search.n_children == np.ceil(n_climbs / 20)


def test_half_of_the_children_are_crossed_and_a_fifth_of_the_others_random(monkeypatch):
    rng, crossed, started = np.random.default_rng(0), [], []
    search = Search(
        CentredMatrix(rng.standard_normal((12, 4))), KMeansPartition(3), [TopFeatures(2)], 1, rng
    )
    search.pools[0].add(np.arange(12, dtype=np.int32) % 3, 1.0)
    pack_apart = memetic_search.pack_apart

    def pack(rows, labels, *given):
        started.append(labels.tolist() != (np.arange(12) % 3).tolist())
        return pack_apart(rows, labels, *given)

    monkeypatch.setattr(memetic_search, "cross", lambda *given: crossed.append(given))
    monkeypatch.setattr(memetic_search, "pack_apart", pack)
    monkeypatch.setattr(search, "climb", lambda pairs: None)
    assert search.evolve(20, lambda steps: None) == 20
    assert len(crossed) + len(started) == 20 * search.n_children == 400
    assert 0.4 < len(crossed) / 400 < 0.6
    assert 0.1 < np.mean(started) < 0.3


def test_a_factor_that_many_features_share_hides_clusters_neither_from_fits_nor_from_paths():
    """Four classes with 15 markers each, and 100 features that share one factor."""
    rng = np.random.default_rng(1)
    labels = np.repeat(range(4), [45, 35, 25, 15])
    X = rng.standard_normal((120, 2000))
    X[:, :60] += 2.5 * (labels[:, None] == np.arange(60) % 4)
    X[:, 60:160] += 0.87 * rng.standard_normal((120, 1))
    X -= X.mean(axis=0)
    X /= X.std(axis=0, ddof=1)
    known = L0KMeans(4, sparsity=60, search="alternate", init=labels).fit(X).objective_
    estimator = L0KMeans(4, sparsity=60, min_cluster_size=5, random_state=0)
    found = [clone(estimator).set_params(random_state=s).fit(X).objective_ for s in range(3)]
    assert min(found) >= known * (1 - 1e-9)
    path = estimator.path(X, [22, 37, 60, 100, 165, 271, 447, 737, 1214, 2000])
    assert path.objectives[2] >= known * (1 - 1e-9)


@pytest.mark.parametrize(("n_samples", "drawn"), [(64, []), (65, [32])])
def test_beyond_twice_its_size_a_sample_is_searched_first(monkeypatch, n_samples, drawn):
    monkeypatch.setattr(partition_step, "SEEDING_SAMPLE", 32)
    sizes, draw_samples = [], partition_step.draw_samples

    def remember(n_samples, size, rng):
        sizes.append(size)
        return draw_samples(n_samples, size, rng)

    monkeypatch.setattr(partition_step, "draw_samples", remember)
    L0KMeans(3, sparsity=4, n_init=1, random_state=0).fit(draw(n_samples))
    assert sizes == drawn


def draw_hidden(n_features, apart):
    """Twenty clusters of 3,000 samples, each far from the others in three features."""
    rng = np.random.default_rng(0)
    labels = rng.integers(20, size=3000)
    X = rng.normal(size=(3000, n_features))
    X[:, :60] += apart * (labels[:, None] == np.arange(60) % 20)
    return X, labels


def test_the_gap_finds_clusters_hidden_in_a_sample_of_fewer_samples_than_features(monkeypatch):
    # As 2,048 samples of 16,000 features, in a 250th of the time.
    monkeypatch.setattr(partition_step, "SEEDING_SAMPLE", 128)
    X, labels = draw_hidden(1000, 2.0)
    estimator, grid = L0KMeans(20, n_init=1, random_state=0), [30, 60, 120, 240, 1000]
    path = estimator.path(X, grid)
    reference = permuted_reference(X, index=0, seed=0)
    gap = np.log(path.first_objectives / estimator.search_objectives(reference, grid))
    # In a sample of 128 the gap is .02 at most, and largest anywhere.
    assert gap.argmax() == 1
    assert gap[1] > 0.4
    assert classification_error_rate(labels, path.labels[1]) < 0.03


@pytest.mark.parametrize("groups", [None, np.arange(4000) % 20 + 20 * (np.arange(4000) // 60)])
def test_clusters_that_a_sample_hides_it_shows_among_the_leading_features(monkeypatch, groups):
    monkeypatch.setattr(partition_step, "SEEDING_SAMPLE", 128)
    X, labels = draw_hidden(4000, 2.5)
    sparsity = 60 if groups is None else 20
    estimator = L0KMeans(20, sparsity=sparsity, feature_groups=groups, n_init=1, random_state=0)
    known = clone(estimator).set_params(init=labels, search="alternate").fit(X)
    found = estimator.fit(X)
    assert found.objective_ >= known.objective_ * (1 - 1e-3)
    np.testing.assert_array_equal(found.get_support(indices=True), np.arange(60))
