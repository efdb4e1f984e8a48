"""Blocks of space, and groups of samples that stay together."""

import numpy as np
import pytest

from sparsekm import SparseKMeans
from sparsekm.annotation.stability import draw_half
from sparsekm.tuning.fold_fits import check_groups, space_blocks

pytestmark = pytest.mark.usefixtures("one_repeat")


def test_space_is_cut_across_its_longest_side_into_equal_blocks():
    positions = np.array([[x, y] for x in range(8) for y in range(2)], dtype=float)
    blocks = space_blocks(positions, 4)
    assert blocks.tolist() == np.repeat([0, 1, 2, 3], 4).tolist()
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
