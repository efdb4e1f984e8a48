"""The matrix in normalised.h5ad: stored as it was, in memory or mapped, shown centred."""

import anndata
import h5py
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from sparsekm.io import normalised_file
from sparsekm.io.hdf5_format import DamagedFileError
from sparsekm.io.normalised_file import (
    read_anndata,
    read_features,
    read_normalised,
    row_blocks,
    write_normalised,
    write_with_matrix,
)
from sparsekm.pipeline.problem import cluster_means

CENTER = np.array([0.5, 0.0, -1.0, 0.25, 0.0])


@pytest.fixture(name="X")
def mostly_zero(seed):
    X = sparse.random_array(
        (40, 5), density=0.2, rng=np.random.default_rng(seed), format="csr", dtype=np.float32
    )
    X.sum_duplicates()
    return X


OBS = pd.DataFrame({"label": ["a", "b"] * 20}, index=[f"s{i}" for i in range(40)])
VAR = pd.DataFrame(index=[f"g{j}" for j in range(5)])


@pytest.fixture(name="file")
def written(tmp_path, X):
    var = VAR.assign(center=CENTER)
    write_normalised(tmp_path / "normalised.h5ad", X, OBS, var, {"source": "matrix"})
    return tmp_path / "normalised.h5ad"


def test_a_sparse_matrix_stays_sparse_and_its_file_as_it_is(file, X):
    data = read_normalised(file)
    assert data.X.format == "csr"
    assert data.X.dtype == np.float32
    np.testing.assert_array_equal(data.X.toarray(), X.toarray())
    np.testing.assert_array_equal(data.center, CENTER)
    data.X.data[:] = 7
    copy = file.with_name("clusters.h5ad")
    write_with_matrix(copy, read_anndata(file), file)
    for again in (read_normalised(file), anndata.read_h5ad(file), anndata.read_h5ad(copy)):
        np.testing.assert_array_equal(again.X.toarray(), X.toarray())


def test_an_array_is_mapped_only_if_it_is_too_large(tmp_path, X):
    file = tmp_path / "normalised.h5ad"
    write_normalised(file, X.toarray(), OBS, VAR, {})
    for most_bytes, mapped in ((None, False), (4 * 40 * 5, False), (4 * 40 * 5 - 1, True)):
        found = read_normalised(file, most_bytes).X
        assert isinstance(found, np.memmap) == mapped
        np.testing.assert_array_equal(found, X.toarray())


def test_what_is_shown_and_averaged_is_centred(file, X, monkeypatch):
    z = X.toarray() - CENTER
    for numbers_at_once in (normalised_file.NUMBERS_AT_ONCE, 12):
        monkeypatch.setattr(normalised_file, "NUMBERS_AT_ONCE", numbers_at_once)
        whole = np.concatenate([block for _, block in row_blocks(file)])
        np.testing.assert_allclose(whole, z, rtol=1e-6)
        found = read_features(file, [1, 2, 4], np.array([0, 7, 39]))
        np.testing.assert_allclose(found, z[np.ix_([0, 7, 39], [1, 2, 4])], rtol=1e-6)
        # Sums over samples depend on it by rounding.
        assert found.flags.c_contiguous
    labels = np.repeat([0, 1], 20).astype(np.int32)
    np.testing.assert_allclose(
        cluster_means(read_normalised(file), labels, 3),
        [z[:20].mean(axis=0), z[20:].mean(axis=0), z.mean(axis=0)],
        atol=1e-6,
    )


@pytest.mark.parametrize(
    ("part", "place", "value", "message"),
    [
        ("X/indices", 0, 5, "indices must be < 5"),
        ("X/indices", 0, -1, "indices must be >= 0"),
        ("X/data", 1, np.nan, "NaN or infinity"),
        ("X/indptr", 0, 1, "indptr should ascend from 0"),
        ("X/indptr", 1, 1000, "indptr should ascend"),
        ("var/center", 0, np.inf, "center should be finite"),
    ],
)
def test_damage_is_named(file, part, place, value, message):
    with h5py.File(file, "a") as opened:
        opened[part][place] = value
    with pytest.raises(DamagedFileError, match=message):
        read_normalised(file)


def test_columns_out_of_order_and_what_is_cut_are_damage(file, X):
    content = file.read_bytes()
    for part in (100, len(content) // 2, len(content) - 1):
        file.write_bytes(content[:part])
        with pytest.raises(DamagedFileError, match="rule normalise_expression"):
            read_normalised(file)
    file.write_bytes(content)
    row = np.flatnonzero(np.diff(X.indptr) > 1)[0]
    places = slice(X.indptr[row], X.indptr[row + 1])
    with h5py.File(file, "a") as opened:
        opened["X/indices"][places] = opened["X/indices"][places][::-1]
    with pytest.raises(DamagedFileError, match="out of order"):
        read_normalised(file)
    wrong = {"NaN": X.toarray() * np.nan, r"X: shape=\(40, 4\) should be": X.toarray()[:, :4]}
    for message, values in wrong.items():
        with h5py.File(file, "a") as opened:
            del opened["X"]
            opened["X"] = values
        with pytest.raises(DamagedFileError, match=message):
            read_normalised(file)


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("obsm/spatial", np.zeros((39, 2)), "obsm: spatial should have 40 rows"),
        ("obsm/spatial", np.full((40, 2), np.inf), "obsm: spatial should be finite numbers"),
        ("uns/provenance", None, "uns/provenance is missing"),
        ("uns/regions/color", None, "uns is missing or damaged"),
        ("var/relevant", np.ones(5), "var: relevant has dtype=float64"),
        ("obs", None, "obs is missing"),
    ],
)
def test_parts_that_do_not_fit_are_named(tmp_path, X, part, value, message):
    regions = pd.DataFrame({name: ["a", "b"] for name in ("acronym", "name", "id", "color")})
    more = {"obsm": {"spatial": np.zeros((40, 2))}, "uns": {"regions": regions}}
    file = tmp_path / "normalised.h5ad"
    write_normalised(file, X, OBS, VAR.assign(relevant=True), {"source": "matrix"}, **more)
    read = read_normalised(file, values=False)
    assert read.regions.equals(regions)
    assert (read.about.labels.tolist(), read.about.relevant.tolist()) == (
        ["a", "b"] * 20,
        [True] * 5,
    )
    assert (read.about.features, read.provenance["source"]) == (
        [f"g{j}" for j in range(5)],
        "matrix",
    )
    with h5py.File(file, "a") as opened:
        about = dict(opened[part].attrs)
        del opened[part]
        if value is not None:
            opened[part] = value
            opened[part].attrs.update(about)
    with pytest.raises(DamagedFileError, match=message):
        read_normalised(file, values=False)


def test_means_and_deviations_of_features_are_read_back_and_must_be_numbers(tmp_path, X):
    file, moments = tmp_path / "normalised.h5ad", {"mean": CENTER, "deviation": CENTER + 2}
    write_normalised(file, X, OBS, VAR, {})
    assert read_normalised(file).means is read_normalised(file).deviations is None
    write_normalised(file, X, OBS, VAR.assign(**moments), {})
    found = read_normalised(file)
    np.testing.assert_array_equal(found.means, moments["mean"])
    np.testing.assert_array_equal(found.deviations, moments["deviation"])
    for name in moments:
        for wrong in (np.where(CENTER < 0, np.nan, CENTER), np.arange(5)):
            write_normalised(file, X, OBS, VAR.assign(**{**moments, name: wrong}), {})
            with pytest.raises(DamagedFileError, match=f"var: {name} should be finite numbers"):
                read_normalised(file)
