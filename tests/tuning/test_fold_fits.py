"""The fits of folds: which samples are left out, in blocks, and what a fit may not know."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from sparsekm import L0KMeans, SparseKMeans, classification_error_rate
from sparsekm.annotation.stability import draw_half
from sparsekm.cluster.matrices.scaled_data import ScaledData
from sparsekm.tuning import fold_fits
from sparsekm.tuning.candidates import Candidate, first_start
from sparsekm.tuning.fold_fits import (
    N_FOLDS,
    N_REPEATS,
    Folds,
    check_groups,
    draw_folds,
    space_blocks,
)

TRUTH = np.repeat([0, 1, 2], 15)


@pytest.fixture(scope="module", name="X")
def three_clusters():
    X = np.random.default_rng(0).standard_normal((45, 130))
    X[:, :24] += 4 * (TRUTH[:, None] == np.arange(24) % 3)
    return X


def test_each_sample_is_left_out_once_in_each_repeat():
    folds = draw_folds(np.arange(47), seed=3)
    assert len(folds) == N_REPEATS * N_FOLDS
    for repeat in range(N_REPEATS):
        own = folds[repeat * N_FOLDS : (repeat + 1) * N_FOLDS]
        assert sorted(np.concatenate(own)) == list(range(47))
        sizes = [len(fold) for fold in own]
        assert max(sizes) - min(sizes) <= 1
    assert any((folds[0].tolist() != other.tolist()) for other in folds[N_FOLDS:])
    # The first repeat is that of the first folds, of whole blocks too.
    for blocks, n_first in ((None, N_FOLDS), (np.arange(47) % 4, 4)):
        left_out = draw_folds(np.arange(47), seed=3, blocks=blocks)
        assert Folds(None, None, "all", np.arange(47), left_out).n_first_repeat == n_first


@pytest.mark.parametrize("n_blocks", [4, 13])
def test_blocks_are_left_out_as_a_whole(n_blocks):
    blocks = np.random.default_rng(0).permutation(np.arange(60) % n_blocks)
    folds = draw_folds(np.arange(60), seed=3, blocks=blocks)
    assert len(folds) == N_REPEATS * min(N_FOLDS, n_blocks)
    assert sorted(np.concatenate(folds)) == sorted(np.tile(np.arange(60), N_REPEATS))
    for fold in folds:
        assert not set(blocks[fold]) & set(np.delete(blocks, fold))


def folds_of(data, n_jobs=1, screening="variance"):
    """Leave each of 45 samples out once."""
    estimator = L0KMeans(3, random_state=1, n_jobs=n_jobs)
    left_out = draw_folds(np.arange(45), seed=1)[:N_FOLDS]
    return Folds(data, estimator, screening, np.arange(45), left_out)


@pytest.mark.parametrize("container", [np.asarray, csr_array])
def test_fits_do_not_depend_on_jobs_and_find_clear_clusters(X, container):
    data, done = ScaledData.standardise(container(X)), []
    one, two = (
        folds_of(data, n_jobs).repeat(range(10), progress=lambda: done.append(1))
        for n_jobs in (1, 2)
    )
    assert len(done) == 20
    assert {name.start for name in one[0]} == {"components", "marginals"}
    for first, second in zip(one, two, strict=True):
        assert first.keys() == second.keys()
        for name, fold in first.items():
            np.testing.assert_array_equal(fold.labels, second[name].labels)
            np.testing.assert_array_equal(fold.kept, second[name].kept)
            assert sorted([*fold.drawn, *fold.left_out]) == list(range(45))
            assert fold.labels.shape == (45,)
            if name.n_features >= 50:
                assert set(range(24)) <= set(fold.kept)
                assert classification_error_rate(TRUTH, fold.labels) == 0
        # Those that are asked for alone are the same.
        few = folds_of(data).repeat([0], [Candidate("marginals", 2)])[0]
        ((name, fold),) = few.items()
        np.testing.assert_array_equal(fold.labels, one[0][name].labels)


def test_samples_that_are_left_out_have_no_part_in_a_fit(X):
    def fit(data):
        folds = folds_of(data)
        return [*folds.repeat([0])[0].values(), *folds.repeat_optima()[0]]

    # The other half of a fit, its z-scores, is that of all samples.
    data = ScaledData.standardise(X)
    before, values = fit(data), data.X.copy()
    left_out = before[0].left_out
    values[left_out] = np.random.default_rng(1).normal(scale=9, size=(len(left_out), 130))
    after = fit(ScaledData(values, data.location, data.scale))
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(other.labels[one.drawn], one.labels[one.drawn])
        np.testing.assert_array_equal(other.kept, one.kept)


def test_a_fold_has_its_share_of_the_guard_on_the_size_of_clusters(X, monkeypatch):
    guards = []
    starts = {"all": lambda samples: guards.append(samples.estimator.min_cluster_size) or []}
    monkeypatch.setattr(fold_fits, "STARTS", starts)
    estimator, left_out = (
        L0KMeans(3, min_cluster_size=10, random_state=1),
        draw_folds(np.arange(45), seed=1),
    )
    Folds(ScaledData.standardise(X), estimator, "all", np.arange(45), left_out).repeat([0])
    # Five of the 45 are left out.
    assert (len(left_out[0]), guards) == (5, [8])


def test_a_start_looks_at_the_features_that_rank_first(X):
    rng = np.random.default_rng(0)
    # Features of little variance share a factor, which k-means on all z-scores would follow.
    factor = 0.1 * (rng.normal(size=(45, 1)) + 0.2 * rng.normal(size=(45, 250)))
    data = ScaledData.standardise(np.hstack([factor, 3 * X, 3 * rng.normal(size=(45, 90))]))
    rates = {
        screening: classification_error_rate(
            TRUTH, first_start(folds_of(data, screening=screening).whole)
        )
        for screening in ("variance", "all")
    }
    assert rates["variance"] == 0
    assert rates["all"] > 0.2


@pytest.mark.parametrize(
    ("n_samples", "n_clusters", "guard", "smallest"),
    [(45, 3, 1, 3), (45, 3, 4, 4), (45, 2, 1, 5), (9, 3, 1, 1), (7, 3, 1, 1)],
)
def test_starts_have_no_cluster_of_fewer_than_five_or_a_quarter_of_the_mean(
    X, n_samples, n_clusters, guard, smallest
):
    estimator = L0KMeans(n_clusters, min_cluster_size=guard, random_state=1)
    data = ScaledData.standardise(X[-n_samples:])
    samples = Folds(data, estimator, "all", np.arange(n_samples), []).whole
    assert max(1, samples.smallest_cluster) == smallest


def test_space_is_cut_across_its_longest_side_into_equal_blocks():
    positions = np.array([[x, y] for x in range(8) for y in range(2)], dtype=float)
    assert space_blocks(positions, 4).tolist() == np.repeat([0, 1, 2, 3], 4).tolist()
    # Half of four by three is longest the other way.
    across = np.array([[x, y] for x in range(4) for y in range(3)], dtype=float)
    assert space_blocks(across, 4).tolist() == [0, 0, 1, 0, 1, 1, 2, 2, 3, 2, 3, 3]
    # The power of two below, and no more than there are samples.
    assert space_blocks(positions, 7).max() == 3
    assert sorted(space_blocks(positions[:2], 16)) == [0, 1]


def test_blocks_stay_whole_in_halves():
    sizes = [3, 1, 5, 2, 2, 4, 3]
    blocks = np.repeat(np.arange(7), sizes)
    for number in range(4):
        part = draw_half(20, number, 1, blocks)
        assert np.isin(blocks, blocks[part]).sum() == len(part)
        # The cut nearest to a half.
        assert abs(len(part) - 10) <= max(sizes) // 2
        # In whatever order: 9 or 12 of 21, asked for 11.
        assert len(draw_half(21, number, 1, np.repeat(np.arange(7), 3))) == 12
    assert len(draw_half(21, 0, 1)) == 11


@pytest.mark.usefixtures("one_repeat")
def test_sparse_k_means_takes_groups_whatever_their_names():
    X = np.random.default_rng(0).standard_normal((48, 12))
    X[:24, :4] += 4
    numbers = np.arange(48) % 6
    found, renamed, without = (
        SparseKMeans(2, random_state=0).fit(X, groups=groups)
        for groups in (numbers, [f"donor {5 - number}" for number in numbers], None)
    )
    for one, other, same in ((found, renamed, True), (found, without, False)):
        agree = [
            np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True)
            for name in ("sample_reproducibility_", "selection_frequency_")
        ]
        assert (all(agree) and one.search_results_.equals(other.search_results_)) == same


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([0, 1], r"groups: shape=\(2,\) should be \(3,\)"),
        ([0, 0, 0], r"groups=\[0\] should be at least two"),
        ([0.0, 1.0, np.nan], r"no missing value, got 1 \(the first at position 2\)"),
        (["a", None, "b"], r"no missing value, got 1 \(the first at position 1\)"),
    ],
)
def test_groups_that_are_none_are_refused(groups, message):
    with pytest.raises(ValueError, match=message):
        check_groups(groups, 3)
