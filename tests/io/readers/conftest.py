"""A small matrix written in every format that is read."""

from contextlib import contextmanager
from dataclasses import replace

import anndata
import numpy as np
import pandas as pd
import pytest
from reading import GENES, KINDS, STORED, follow

from sparsekm.io.readers import reader
from sparsekm.io.readers.messages import MatrixError


@contextmanager
def too_few_samples_aside():
    """Pass over the refusal of one measure of two samples, to which no option adds any."""
    try:
        yield
    except MatrixError as error:
        if not str(error).startswith("n_samples=2 should be >= 3"):
            raise


@pytest.fixture(autouse=True)
def every_printed_option_leads_to_a_reading(monkeypatch):
    """Follow each way out of a refusal, and each option of a remark, for all tables of the tests.

    So advice that does not work fails the test of the table for which it is printed.
    """
    read = reader._read

    def read_and_follow(file, settings):
        raw, refused = None, None
        try:
            raw = read(file, settings)
        except MatrixError as error:
            refused = error
        for way in (way for said in (raw.remarks if raw else [refused]) for way in follow(said)):
            with too_few_samples_aside():
                read(file, replace(settings, **way))
        if refused:
            raise refused
        return raw

    monkeypatch.setattr(reader, "_read", read_and_follow)


@pytest.fixture
def frame(X):
    return pd.DataFrame(X, columns=STORED, index=[f"cell{i}" for i in range(6)])


@pytest.fixture
def npz(tmp_path, X):
    def write(**arrays):
        arrays = {"X": X, "y": np.array(KINDS), "genes": np.array(STORED), **arrays}
        np.savez(tmp_path / "m.npz", **{k: v for k, v in arrays.items() if v is not None})
        return tmp_path / "m.npz"

    return write


@pytest.fixture
def h5ad(tmp_path, X, frame):
    def write(X=X, obs=None, **parts):
        obs = pd.DataFrame({"kind": pd.Categorical(KINDS)}, frame.index) if obs is None else obs
        var = pd.DataFrame(index=STORED)
        anndata.AnnData(X, obs=obs, var=var, **parts).write_h5ad(tmp_path / "m.h5ad")
        return tmp_path / "m.h5ad"

    return write


@pytest.fixture
def table(X):
    """Samples in lines, with names for them that are nobody's convention."""
    index = pd.Index(["ann", "bob", "cyd", "dan", "eve", "flo"], name="who")
    return pd.DataFrame(X.astype(np.float64).round(3), index=index, columns=GENES)


@pytest.fixture
def save(tmp_path):
    def write(frame, name="m.csv", **options):
        frame.to_csv(tmp_path / name, sep="," if ".csv" in name else "\t", **options)
        return tmp_path / name

    return write


@pytest.fixture
def put(tmp_path):
    def write(content, name="m.csv"):
        content = content.encode() if isinstance(content, str) else content
        (tmp_path / name).write_bytes(content)
        return tmp_path / name

    return write
