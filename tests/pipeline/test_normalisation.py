"""From a table to a matrix to cluster: missing values, scales, and the file normalised.h5ad."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy.sparse import csr_array, issparse
from test_raw_counts import draw_counts

from sparsekm import KMeans, SparseKMeans
from sparsekm.cluster.description import Description
from sparsekm.cluster.estimator_input import read_data
from sparsekm.cluster.imputation import fill_missing
from sparsekm.cluster.matrices.dense_parts import variance_beyond_trend
from sparsekm.cluster.raw_counts import Judgement
from sparsekm.io.known_classes import count_clusters
from sparsekm.io.readers.messages import MatrixError, say
from sparsekm.io.readers.raw_matrix import RawMatrix
from sparsekm.io.readers.reader import read_matrix
from sparsekm.pipeline import normalisation
from sparsekm.pipeline.normalisation import (
    NORMALISATIONS,
    normalise,
    read_normalised_table,
    settle_doubts,
    settle_missing,
)
from sparsekm.pipeline.scales import (
    doubted_for,
    judge,
    log_counts,
    most_variable_counts,
    remark_on_scale,
    settings_of_counts,
    standardise,
)


def named(X):
    return Description(features=[f"g{j}" for j in range(X.shape[1])])


def raw(X, offset=0.0):
    """Give a matrix as it is read: values in single precision, less an offset."""
    X = np.asarray(X, dtype=np.float64)
    shift = np.broadcast_to(offset, X.shape[1]).astype(np.float64)
    return RawMatrix.of((X - shift).astype(np.float32), shift, about=named(X))


def raw_sparse(X):
    X = csr_array(np.asarray(X, dtype=np.float32))
    return RawMatrix.of(X, about=named(X))


def remarks(X, normalise):
    matrix = raw(X)
    return "".join(remark_on_scale(matrix, judge(matrix), normalise))


def values(matrix):
    return matrix.collect() + matrix.offset


def test_z_scores_have_mean_zero_and_deviation_one(seed):
    X = np.random.default_rng(seed).gamma(2, 50, size=(3000, 700)).astype(np.float32)
    reference = X.astype(np.float64)
    reference = (reference - reference.mean(axis=0)) / reference.std(axis=0, ddof=1)
    assert standardise(X)[1].all()
    np.testing.assert_allclose(X, reference, atol=2e-6)
    # Mean 2, squares 4 + 0 + 4 over n - 1 = 2: the deviation is 2.
    np.testing.assert_array_equal(normalise(raw([[0], [2], [4]])).collect(), [[-1], [0], [1]])


def test_constant_features_are_dropped_and_listed():
    matrix = normalise(raw([[1, 5, 0], [2, 5, 0], [4, 5, 0]]))
    assert matrix.dropped == ["g1", "g2"]
    assert matrix.about.features == ["g0"]
    assert matrix.shape == (3, 1)
    kept = normalise(raw([[11, 5, 3], [12, 5, 3], [14, 5, 0]], offset=[10, 0, 0]), "none")
    np.testing.assert_array_equal(kept.collect(), [[11, 3], [12, 3], [14, 0]])
    assert kept.dropped == ["g1"]


def test_rounding_is_not_variation():
    # 0.1 + 0.2 and 0.3 differ in the last place only; so do stored values.
    assert normalise(raw([[0.3, 1], [0.1 + 0.2, 2], [0.3, 3]], offset=[0.3, 0])).dropped == ["g0"]
    tenth = np.float32(0.1)
    stored = raw_sparse([[tenth, 1], [np.nextafter(tenth, 1), 2], [tenth, 3]])
    assert normalise(stored).dropped == ["g0"]


def test_a_matrix_without_any_variation_and_an_unknown_normalisation_are_refused():
    for how in ("zscore", "none"):
        with pytest.raises(MatrixError, match="all n_features=2 are constant; at least one should"):
            normalise(raw(np.ones((4, 2))), how)
    known = r"\['zscore', 'counts', 'log2', 'none'\]"
    with pytest.raises(ValueError, match=f"normalise='l2' should be one of {known}"):
        normalise(raw(np.eye(3)), "l2")


def test_the_number_of_clusters_is_the_configured_or_that_of_named_classes():
    assert count_clusters("a", 4, None, 10) == 4
    assert count_clusters("a", 4, ["x", "y"] * 5, 10) == 4
    assert count_clusters("a", "regions", ["x", "y", "z", "x", ""], 5) == 3
    with pytest.raises(MatrixError, match="'mine' has no labels. In the section `matrices: mine`"):
        count_clusters("mine", "regions", None, 10)
    with pytest.raises(MatrixError, match=r"n_clusters=10 .* less than n_samples=10"):
        count_clusters("mine", 10, None, 10)
    with pytest.raises(MatrixError, match=r"n_clusters=1 \(its number of classes\) .* at least 2"):
        count_clusters("mine", "regions", ["x"] * 5, 5)


@pytest.mark.parametrize("how", NORMALISATIONS)
def test_sparse_data_are_normalised_as_dense_ones_but_for_their_centre(seed, how):
    counts = np.random.default_rng(seed).poisson(0.4, size=(300, 30))
    counts[:, 0] += 1
    counts[:, [3, 4]] = 0, 2
    dense, found = normalise(raw(counts), how), normalise(raw_sparse(counts), how)
    assert issparse(found.collect())
    assert found.dropped == dense.dropped
    assert found.about.features == dense.about.features
    np.testing.assert_allclose(found.collect().toarray() - found.center, dense.collect(), atol=2e-5)


def test_samples_without_counts_are_numbered_and_named():
    counts = raw([[1, 2], [0, 0], [3, 1], [0, 0]])
    with pytest.raises(MatrixError, match=r"total of 2 of 4 samples is 0; .* is sample 2\. Rem"):
        normalise(counts, "counts")
    counts.about = replace(counts.about, samples=["AAC", "AAG", "AAT", "ACA"])
    with pytest.raises(MatrixError, match=r"is sample 2 \('AAG'\)\. .*filter_cells\(adata, min_"):
        normalise(counts, "counts")


@pytest.fixture(name="counts")
def counts_of_two_groups(seed):
    rng = np.random.default_rng(seed)
    rates = np.tile(10 ** rng.uniform(-1, 1.3, 400), (150, 1))
    rates[:, 40:50] = 3
    rates[:75, 40:50] *= 4
    return rng.poisson(rates)


def test_features_that_differ_between_groups_come_first_and_counts_are_logged(counts):
    assert set(most_variable_counts(raw(counts), 12)) >= set(range(40, 50))
    same = raw(np.tile([[1], [2], [4]], 5) + np.array([[1], [2], [0]]))
    assert most_variable_counts(same, 2).tolist() == [0, 1]
    assert most_variable_counts(raw(counts), 10_000).tolist() == list(range(400))
    # The totals are 4, 4 and 8, their median 4: the last sample counts half.
    found = log_counts(raw([[1, 3], [2, 2], [0, 8]]))[0].collect()
    np.testing.assert_allclose(found, np.log1p([[1, 3], [2, 2], [0, 4]]), rtol=1e-6)
    # Or the size that another table had.
    found, size = log_counts(raw([[1, 3], [2, 2], [0, 8]]), 8.0)
    np.testing.assert_allclose(found.collect(), np.log1p([[2, 6], [4, 4], [0, 8]]), rtol=1e-6)
    assert size == 8


def test_features_are_chosen_by_their_variance_beyond_the_trend_of_their_mean(counts):
    totals = counts.sum(axis=1, keepdims=True)
    logs = np.log1p(counts / totals * np.median(totals))
    variances = logs.var(axis=0, ddof=1)
    first = np.argsort(-variance_beyond_trend(logs.mean(axis=0), variances))[:50]
    assert set(first) != set(np.argsort(-variances)[:50])
    assert most_variable_counts(raw(counts), 50).tolist() == sorted(first)


def test_the_chosen_features_are_normalised_with_the_totals_of_all(counts):
    chosen = most_variable_counts(raw(counts), 20)
    found, everything = normalise(raw(counts), "counts", 20), normalise(raw(counts), "counts")
    assert found.about.features == [f"g{feature}" for feature in chosen]
    np.testing.assert_array_equal(found.collect(), everything.collect()[:, chosen])
    assert (found.n_filtered, everything.n_filtered) == (380, 0)
    stored = normalise(raw_sparse(counts), "counts", 20)
    assert stored.about.features == found.about.features
    assert stored.shape == (150, 20)


@pytest.mark.parametrize(("value", "n_features"), [(0.5, 20), (-1.0, 500)])
def test_what_is_no_count_is_refused_however_many_features_are_kept(
    tmp_path, counts, value, n_features
):
    X = counts.astype(float)
    X[3, 4] = value
    pd.DataFrame(X).add_prefix("f").to_csv(tmp_path / "no.csv")
    settings = {"normalise": "zscore", "n_top_features": n_features}
    with pytest.raises(MatrixError, match="`n_top_features` requires raw counts"):
        read_normalised_table(tmp_path / "no.csv", settings)


def test_a_remark_on_one_feature_is_singular():
    one, two = (say("constant", n=n, names=["g"]) for n in (1, 2))
    assert one.startswith("1 feature is constant and is dropped, because it cannot separate")
    assert two.startswith("2 features are constant and are dropped, because they cannot separate")
    assert "1 sample " in say("unnamed", n=1, kind="sample")


@pytest.mark.parametrize(
    ("n_features", "given", "expected"),
    [
        (400, (None, None), {"normalise": "counts"}),
        (400, ("zscore", None), {}),
        (5001, (None, None), {"normalise": "counts", "n_top_features": 2000}),
        (5001, ("counts", None), {"n_top_features": 2000}),
        (5001, (None, 300), {"normalise": "counts"}),
        (5001, (None, "all"), {"normalise": "counts"}),
        (5001, ("zscore", None), {}),
    ],
)
def test_what_settings_leave_open_is_chosen_for_raw_counts(n_features, given, expected, seed):
    X = raw(draw_counts(np.random.default_rng(seed), shape=(20, n_features)))
    assert settings_of_counts(X, judge(X), *given) == expected


@pytest.mark.parametrize("normalise", [None, "counts"])
def test_values_that_are_not_whole_are_not_cut_to_a_number_of_features(normalise, seed):
    X = raw(draw_counts(np.random.default_rng(seed), shape=(20, 5001)) + 0.5)
    assert settings_of_counts(X, judge(X), normalise, None) == {}


@pytest.mark.parametrize(
    ("are_counts", "is_sure", "normalise_by", "expected"),
    [
        (True, True, "counts", ""),
        (True, True, "zscore", "counts"),
        (True, False, "counts", "zscore"),
        (False, False, "zscore", "counts"),
        (False, False, "counts", "zscore"),
        (False, True, "zscore", ""),
        (False, True, "counts", ""),
        (True, True, "log2", ""),
    ],
)
def test_the_other_normalisation_is_named_where_it_may_be_right(
    are_counts, is_sure, normalise_by, expected
):
    assert doubted_for(Judgement(are_counts, is_sure), normalise_by) == expected


def test_a_run_takes_what_its_summary_chose_and_can_take_all(tmp_path, seed):
    X = draw_counts(np.random.default_rng(seed), shape=(20, 5100))
    pd.DataFrame(X).add_prefix("f").to_csv(tmp_path / "counts.csv")
    _, summary = read_normalised_table(tmp_path / "counts.csv", {"transpose": False}, quick=True)
    assert summary.shape == (20, 2000)
    settings = {"transpose": False, **summary.chosen}
    _, found = read_normalised_table(tmp_path / "counts.csv", settings)
    np.testing.assert_array_equal(found.collect(), summary.collect())
    settings["n_top_features"] = "all"
    _, everything = read_normalised_table(tmp_path / "counts.csv", settings)
    assert everything.n_filtered == 0
    # Without settings, a configuration that someone wrote is run as it was.
    _, plain = read_normalised_table(tmp_path / "counts.csv", {"transpose": False})
    assert (plain.chosen, plain.doubted_for) == ({}, "counts")


def test_reading_a_table_loads_no_compiler():
    # Numba takes a second and 100 MB, which the job that reads does not ask for.
    code = "import sys, sparsekm.pipeline.normalisation; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


FAR = [(9.9, 1, False), (10.1, 1, True), (15, 2, False)]


@pytest.mark.parametrize(("far", "others", "said"), FAR)
def test_a_sample_is_called_far_that_is_ten_times_as_far_as_the_next(far, others, said):
    # Median 0, and half of the values within 1 of it; each sample is 1 from the medians, at half of
    # the features, but for the last and the one before.
    X = (np.arange(21)[:, None] + np.arange(10)) % 5 - 2.0
    X[19] *= others
    X[20] = far
    told = remarks(X, "zscore")
    assert ("sample 'sample 21' is far from all others" in told) == said


@pytest.mark.parametrize(
    ("spread", "level", "normalise", "said"),
    [
        (2.0, 3, "zscore", True),
        # Not of logarithms, nor where the largest are less than twenty times the median.
        (2.0, 3, "log2", False),
        (0.5, 6, "zscore", False),
        # Up to a hundred, values may be logarithms.
        (2.0, -2, "zscore", False),
    ],
)
def test_values_over_orders_of_magnitude_look_like_intensities(
    seed, spread, level, normalise, said
):
    X = np.exp(level + spread * np.random.default_rng(seed).standard_normal((40, 20)))
    told = remarks(X, normalise)
    assert ("look like intensities" in told) == said
    for other in (X - X.mean(), X[:5], X[:, :11]):
        assert not remarks(other, normalise)


@pytest.mark.parametrize(("n_others", "said"), [(1, True), (3, False)])
def test_features_of_mean_0_and_deviation_1_are_z_scores_but_for_a_tenth(seed, n_others, said):
    X = np.random.default_rng(seed).standard_normal((40, 20))
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    X[:, :n_others] *= 2
    assert ("z-scores already" in remarks(X, "zscore")) == said


@pytest.fixture(name="whole")
def values_without_gaps(seed):
    return np.random.default_rng(seed).gamma(9, 1, size=(12, 8))


@pytest.fixture
def holes(whole):
    holed = whole.copy()
    for gap in [(0, 1), (3, 1), (4, 5), (7, 2)]:
        holed[gap] = np.nan
    return holed


@pytest.fixture
def correlated(seed):
    """Give positive values of one factor, a tenth of which are missing; in some rows none are."""
    rng = np.random.default_rng(seed)
    factor = 0.5 * rng.normal(size=(60, 1)) * rng.uniform(0.5, 1, 20)
    X = np.exp(factor + rng.normal(3, 0.2, (60, 20)))
    lost = rng.random(X.shape) < 0.1
    lost[::4] = False
    return np.where(lost, np.nan, X)


@pytest.mark.parametrize("how", ["zscore", "none", "log2"])
def test_the_command_and_the_estimators_see_the_same_filled_values(tmp_path, correlated, how):
    pd.DataFrame(correlated).add_prefix("f").to_csv(tmp_path / "holes.csv")
    _, found = read_normalised_table(tmp_path / "holes.csv", {"normalise": how})
    # Values that were made z-scores are brought back.
    moments = (1, 0) if how == "none" else (found.deviations, found.means)
    given = np.log2(1 + correlated) if how == "log2" else correlated
    expected = read_data(SparseKMeans(missing="impute"), given)
    assert not np.allclose(np.isnan(given) * expected, np.isnan(given) * np.nanmean(given, axis=0))
    np.testing.assert_allclose(found.collect() * moments[0] + moments[1], expected, rtol=2e-5)


def test_the_same_numbers_are_filled_to_the_last_bit(correlated):
    single = correlated.astype(np.float32)
    expected = read_data(KMeans(missing="impute"), single)
    assert expected.dtype == np.float32
    np.testing.assert_array_equal(settle_missing(raw(single)).collect(), expected)


def test_no_negative_values_are_filled_in_where_logarithms_are_taken():
    # A line through few small values would go below zero.
    level = np.linspace(0, 1, 30)[:, np.newaxis]
    X = np.rint(1000 * np.maximum(level - np.linspace(0, 0.3, 12), 0))
    X[:4, ::2] = np.nan
    plain = values(settle_missing(raw(X)))
    filled = values(settle_missing(raw(X), on_logs=True))
    assert plain.min() < 0
    assert filled.min() >= 0
    assert np.isfinite(normalise(settle_missing(raw(X), on_logs=True), "log2").collect()).all()


def test_filled_counts_are_not_whole_and_features_are_still_chosen(tmp_path, counts):
    X = counts.astype(float)
    X[3, 4] = np.nan
    pd.DataFrame(X).add_prefix("f").to_csv(tmp_path / "counts.csv")
    settings = {"normalise": "counts", "n_top_features": 20}
    _, found = read_normalised_table(tmp_path / "counts.csv", settings)
    assert found.shape == (150, 20)


@pytest.mark.parametrize("offset", [0, 1000])
def test_what_was_filled_is_said(holes, offset):
    matrix = settle_missing(raw(holes + offset, offset))
    [remark] = matrix.remarks
    assert remark.startswith("4 values (4.2 %) are missing, in 3 features and 4 samples; 4 are")
    assert "set impute: median (or half_minimum, drop), or a share other than" in remark
    # A summary has the same shape and the same words.
    quick = settle_missing(raw(holes + offset, offset), quick=True)
    assert (quick.remarks, quick.about.features) == (matrix.remarks, matrix.about.features)


def test_other_ways_to_fill_and_nothing_happens_where_nothing_is_missing(holes, whole):
    lacking = np.isnan(holes)
    fills = {"median": np.nanmedian(holes, axis=0), "half_minimum": np.nanmin(holes, axis=0) / 2}
    for impute, fill in fills.items():
        found = values(settle_missing(raw(holes, 1.0), impute))
        np.testing.assert_allclose(found, np.where(lacking, fill, holes), rtol=1e-5)
    matrix = settle_missing(raw(whole))
    np.testing.assert_allclose(values(matrix), whole, rtol=1e-6)
    assert matrix.remarks == []
    low_rank = values(settle_missing(raw(holes + 1000, 1000), "low_rank"))
    np.testing.assert_allclose(low_rank, fill_missing(holes) + 1000, rtol=1e-6)
    dropped = settle_missing(raw(holes), "drop")
    assert dropped.about.features == ["g0", "g3", "g4", "g6", "g7"]
    np.testing.assert_allclose(values(dropped), holes[:, [0, 3, 4, 6, 7]], rtol=1e-6)


def test_what_lacks_too_much_is_dropped_features_first_and_aloud(whole):
    whole[:7, 2] = np.nan
    # Half of all, but more of the features that are left.
    whole[5, 3:7] = np.nan
    matrix = raw(whole)
    known = {"samples": [f"s{i}" for i in range(12)], "labels": np.array([*"ab"] * 6, dtype=object)}
    matrix.about = replace(matrix.about, **known)
    matrix = settle_missing(matrix)
    assert matrix.about.features == ["g0", "g1", "g3", "g4", "g5", "g6", "g7"]
    assert matrix.about.samples == [f"s{i}" for i in range(12) if i != 5]
    assert len(matrix.about.labels) == 11
    [remark] = matrix.remarks
    assert "1 feature has too few values (max_missing: 0.5) and is dropped: g2" in remark
    assert "1 sample has too few values (max_missing: 0.5) and is dropped: s5" in remark
    assert settle_missing(raw(whole), max_missing=0.9).shape == (12, 8)


def test_a_feature_whose_last_values_are_in_dropped_samples_is_dropped_aloud(whole):
    # Feature 2 has values in the first half of the samples, which lack most other values.
    whole[6:, 2] = np.nan
    whole[:6, 3:] = np.nan
    matrix = settle_missing(raw(whole))
    assert matrix.shape == (6, 7)
    [remark] = matrix.remarks
    assert "1 feature has too few values (max_missing: 0.5) and is dropped: g2" in remark
    assert "6 samples have too few values (max_missing: 0.5) and are dropped: sample 1," in remark


def test_what_lacks_as_much_as_the_limit_is_kept_but_nothing_that_lacks_all(whole):
    whole[:6, 2] = np.nan
    whole[0, 4:] = np.nan
    whole[0, 2] = 1
    assert settle_missing(raw(whole)).shape == (12, 8)
    whole[:, 2] = np.nan
    matrix = settle_missing(raw(whole), max_missing=1)
    assert matrix.shape == (12, 7)
    assert "dropped: g2" in matrix.remarks[0]


def test_half_of_a_negative_minimum_and_too_little_left_are_refused(holes):
    message = "half_minimum` requires values > 0.* Set impute: low_rank"
    with pytest.raises(MatrixError, match=message):
        settle_missing(raw(holes - 20), "half_minimum")
    holes[:, 1:] = np.nan
    holes[2:, 0] = np.nan
    with pytest.raises(MatrixError, match="at least 3 samples and 1 feature. Set max_missing"):
        settle_missing(raw(holes), max_missing=0)
    with pytest.raises(ValueError, match="impute='mean' should be one of"):
        settle_missing(raw(holes), "mean")


def test_every_table_in_doubt_gets_the_settings_that_settle_it(tmp_path):
    tables = {}
    for name, heading in {"a": "age", "b": "year", "c": "u"}.items():
        lines = [f"patient{at},{at * at}.5,{40 + at % 3}" for at in range(6)]
        (tmp_path / name).write_text("\n".join([f"patient,v,{heading}", *lines]))
        tables[name] = {"path": tmp_path / name, "normalise": "zscore", "ignore": None}
    lines = settle_doubts(tables | {"d": {"path": tmp_path / "none"}})
    added = yaml.safe_load("\n".join(["matrices:", *lines]))["matrices"]
    assert added == {
        "a": {"transpose": False, "ignore": ["age"]},
        "b": {"transpose": False, "ignore": ["year"]},
    }
    assert sum("# keep: [" in line for line in lines) == 2
    assert settle_doubts({name: tables[name] | added[name] for name in added}) == []


def test_a_table_that_grows_while_it_is_read_is_refused(tmp_path, monkeypatch):
    table = tmp_path / "tumours.csv"
    table.write_text("id,A1,A2\ns1,0.5,1.5\ns2,2.5,0.25\ns3,1.5,3.5\n")
    whole, _ = read_normalised_table(table, {"transpose": False})
    assert whole.shape == (3, 2)

    def read_slowly(file, **reading):
        raw = read_matrix(file, **reading)
        with table.open("a") as opened:
            opened.write("s4,4.5,0.5\n")
        return raw

    monkeypatch.setattr(normalisation, "read_matrix", read_slowly)
    with pytest.raises(MatrixError, match="tumours.csv: changed while it was read"):
        read_normalised_table(table, {"transpose": False})
