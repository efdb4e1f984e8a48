"""The comparison that the tests of survival rest on sees every change of content and no other."""

import os
import zipfile

import anndata
import h5py
import numpy as np
import pytest
from artifact_content import content_digest, contents


def write_hdf5(file, value=1.0, attribute="x", compression=None):
    with h5py.File(file, "w") as opened:
        opened.create_group("a").create_dataset(
            "values", data=np.full((20, 3), value), compression=compression
        )
        opened["a"].attrs["said"] = attribute


def write_h5ad(file, name="g1"):
    data = anndata.AnnData(np.eye(2, dtype=np.float32))
    data.var_names = ["g0", name]
    data.write_h5ad(file)


def write_zip(file, text="a", year=2000):
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(zipfile.ZipInfo("member", (year, 1, 1, 0, 0, 0)), text)


@pytest.mark.parametrize(
    ("suffix", "write", "same", "other"),
    [
        (".h5", write_hdf5, {"compression": "gzip"}, {"value": np.nextafter(1, 2)}),
        (".h5", write_hdf5, {}, {"attribute": "y"}),
        (".h5ad", write_h5ad, {}, {"name": "g2"}),
        (".zip", write_zip, {"year": 2001}, {"text": "b"}),
        (".csv", lambda file, text="a,b\n": file.write_text(text), {}, {"text": "a,c\n"}),
    ],
)
def test_content_is_compared_and_time_stamps_are_not(tmp_path, suffix, write, same, other):
    files = [tmp_path / f"{number}{suffix}" for number in range(3)]
    for file, arguments in zip(files, ({}, same, other), strict=True):
        write(file, **arguments)
    os.utime(files[0], (1, 1))
    first, second, third = map(content_digest, files)
    assert first == second
    assert first != third


def test_a_file_more_or_less_is_seen_and_the_papers_tables_are_left_out(tmp_path):
    for name in ("results/a.csv", "data/paper/b.csv", "data/raw/c.csv", "logs/d.log"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1")
    assert sorted(contents(tmp_path)) == ["data/raw/c.csv", "results/a.csv"]
    assert sorted(contents(tmp_path, without=("data/raw",))) == ["results/a.csv"]
