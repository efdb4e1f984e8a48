"""Missing values of a user's matrix: dropped above the limit, otherwise filled as asked."""

import numpy as np
import pytest
from sklearn.impute import KNNImputer

from sparsekm.cluster.missing import fill_missing
from sparsekm.io.readers.messages import MatrixError
from sparsekm.io.readers.raw_matrix import RawMatrix
from sparsekm.io.row_stream import RowStream
from sparsekm.pipeline.normalisation import settle_missing

GAPS = [(0, 1), (3, 1), (4, 5), (7, 2)]


def raw(X, offset=0.0):
    X = np.asarray(X, dtype=np.float64)
    shift = np.full(X.shape[1], float(offset))
    names = [f"g{j}" for j in range(X.shape[1])]
    samples = [f"s{i}" for i in range(len(X))]
    labels = np.array(["a", "b"] * len(X), dtype=object)[: len(X)]
    return RawMatrix(RowStream.of((X - shift).astype(np.float32)), shift, names, samples, labels)


def values(matrix):
    return matrix.X.collect() + matrix.offset


@pytest.fixture(name="X")
def fixture_of_values(seed):
    return np.random.default_rng(seed).gamma(9, 1, size=(12, 8))


@pytest.fixture
def holes(X):
    holed = X.copy()
    for gap in GAPS:
        holed[gap] = np.nan
    return holed


def test_nothing_happens_where_nothing_is_missing(X):
    matrix = settle_missing(raw(X))
    np.testing.assert_allclose(values(matrix), X, rtol=1e-6)
    assert matrix.remarks == []


@pytest.mark.parametrize("offset", [0, 1000])
def test_by_default_the_nearest_samples_fill_in_as_in_scikit_learn(holes, offset):
    mean, deviation = np.nanmean(holes, axis=0), np.nanstd(holes, axis=0)
    expected = KNNImputer(n_neighbors=5).fit_transform((holes - mean) / deviation)
    matrix = settle_missing(raw(holes + offset, offset))
    np.testing.assert_allclose(values(matrix), expected * deviation + mean + offset, rtol=1e-4)
    [remark] = matrix.remarks
    assert remark.startswith("4 values (4.2 %) are missing, of 3 features and 4 samples; 4 are")
    assert "Set impute: low_rank (or median, half_minimum, drop), or max_missing: 0.5 to" in remark


def test_other_ways_to_fill(holes):
    lacking = np.isnan(holes)
    for impute, fill in (
        ("median", np.nanmedian),
        ("half_minimum", lambda *a, **k: np.nanmin(*a, **k) / 2),
    ):
        expected = np.where(lacking, fill(holes, axis=0), holes)
        np.testing.assert_allclose(values(settle_missing(raw(holes), impute)), expected, rtol=1e-5)
    low_rank = values(settle_missing(raw(holes + 1000, 1000), "low_rank"))
    np.testing.assert_allclose(low_rank, fill_missing(holes) + 1000, rtol=1e-6)
    dropped = settle_missing(raw(holes), "drop")
    assert dropped.features == ["g0", "g3", "g4", "g6", "g7"]
    np.testing.assert_allclose(values(dropped), holes[:, [0, 3, 4, 6, 7]], rtol=1e-6)


def test_what_lacks_too_much_is_dropped_features_first_and_aloud(X):
    X[:7, 2] = np.nan
    X[5, 3:] = np.nan
    matrix = settle_missing(raw(X))
    assert matrix.features == ["g0", "g1", "g3", "g4", "g5", "g6", "g7"]
    assert matrix.samples == [f"s{i}" for i in range(12) if i != 5]
    assert len(matrix.labels) == 11
    [remark] = matrix.remarks
    assert "1 features lack more than 50 % and are dropped: [g2]" in remark
    assert "1 samples lack more than 50 % and are dropped: [s5]" in remark
    assert settle_missing(raw(X), max_missing=0.9).X.shape == (12, 8)


def test_counts_stay_whole(seed):
    counts = np.random.default_rng(seed).poisson(20, size=(12, 8)).astype(float)
    counts[3, 4] = np.nan
    filled = values(settle_missing(raw(counts)))
    assert (filled == np.rint(filled)).all()


def test_a_summary_has_the_same_shape_and_the_same_words(holes):
    quick, full = settle_missing(raw(holes), quick=True), settle_missing(raw(holes))
    assert quick.remarks == full.remarks
    assert quick.features == full.features


def test_half_of_a_negative_minimum_and_too_little_left_are_refused(holes):
    with pytest.raises(MatrixError, match="half_minimum requires values > 0.* Set impute: knn"):
        settle_missing(raw(holes - 20), "half_minimum")
    holes[:, 1:] = np.nan
    holes[2:, 0] = np.nan
    with pytest.raises(MatrixError, match="there should be at least 3 and 1. Set max_missing"):
        settle_missing(raw(holes), max_missing=0)
    with pytest.raises(ValueError, match="impute='mean' should be one of"):
        settle_missing(raw(holes), "mean")
