"""What jobs ask for follows from shapes and stored values, not from compressed files."""

import gzip
import math
import os
import re
import zipfile
import zlib
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import anndata
import h5py
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, csr_matrix
from written_files import save_matrix

from sparsekm.io.readers.raw_matrix import RawMatrix
from sparsekm.pipeline import input_sizes

N_SAMPLES, N_FEATURES = 6000, 100
WILDCARDS = {"dataset": "cells"}
# Of the samples on which a sparse matrix is tuned, a part is an array.
SAMPLE = 4096 * N_FEATURES * 4 / 2**20


@pytest.fixture(name="rules")
def resources_of_the_workflow(project_root, tmp_path):
    """Run the file of the rules as what it is, Python, with what the others define."""
    libraries = {"os": os, "math": math, "cache": cache, "Path": Path}
    used = ("array_megabytes", "bytes_of", "held_megabytes")
    libraries |= {name: getattr(input_sizes, name) for name in used}
    workflow = SimpleNamespace(global_resources={"downloads": 1})

    def load(max_memory_gb=None, max_samples=30_000, file="cells.h5ad"):
        config = {"max_memory_gb": max_memory_gb, "tuning": {"max_samples": max_samples}}
        names = {"config": config, "ATLAS": {"ages": []}, "DATASETS": ["cells"]} | libraries
        names["UNTUNED"] = ["kmeans"]
        names |= {"MATRICES": {"cells": {"path": str(tmp_path / file)}}, "workflow": workflow}
        names |= {"run_bounded": lambda file, work: work()}
        exec((project_root / "workflow" / "rules" / "resources.smk").read_text(), names)
        return SimpleNamespace(**names)

    return load


@pytest.fixture(name="X", scope="module")
def mostly_zero():
    X = np.random.default_rng(0).random((N_SAMPLES, N_FEATURES), dtype=np.float32)
    return np.where(X < 0.1, X, 0).astype(np.float32)


@pytest.fixture
def write(tmp_path):
    def write(X, **parts):
        var = {"center": np.zeros(X.shape[1])}
        file = save_matrix(tmp_path / "normalised.h5ad", X, var=var, **parts)
        return file, file.stat().st_size / 2**20

    return write


def test_sparse_data_ask_for_less_than_an_array_and_a_matrix_on_disk_for_nothing(rules, write, X):
    def asked(file, attempt=1, **settings):
        return rules(**settings).needs((600, 6), (10, 0))["mem_mb"](WILDCARDS, [file], attempt)

    file, size = write(X)
    assert asked(file) == int(600 + 6 * size)
    assert asked(file, 2) == int(2 * (600 + 6 * size))
    assert asked(file, max_memory_gb=1 / 1024) == 606
    file, stored = write(csr_array(X))
    assert asked(file) == int(600 + 6 * (stored / 2 + SAMPLE)) < 600 + 6 * size


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_features_that_were_not_clustered_ask_for_nothing(rules, write, X, kind):
    ask = rules().needs((600, 6), (10, 0))["mem_mb"]
    few, everything = kind(X[:, :20]), RawMatrix.of(kind(X))
    var = pd.DataFrame({"center": np.zeros(N_FEATURES)}, [f"g{j}" for j in range(N_FEATURES)])
    asked = [
        ask(WILDCARDS, [write(few, **parts)[0]], 1) for parts in ({}, {"whole": (everything, var)})
    ]
    # A few kB of names.
    assert asked[1] == pytest.approx(asked[0], abs=2)


@pytest.mark.parametrize(("max_samples", "share"), [(None, 1), (N_SAMPLES // 2, 0.5)])
def test_of_sparse_data_memory_for_samples_tuned_on_is_asked(rules, write, X, max_samples, share):
    file, stored = write(csr_array(X))
    ask = rules(max_samples=max_samples).needs((600, 6), (10, 0), tunes=True)["mem_mb"]
    searched = min(N_SAMPLES * share, 4096) * N_FEATURES * 4 / 2**20
    expected = 600 + 6 * (share * stored / 2 + searched)
    assert ask(WILDCARDS, [file], 1) == pytest.approx(expected, abs=1)


def declare(file, *shape):
    """Add a dense matrix of a shape to a file, which takes no disk."""
    with h5py.File(file, "a") as opened:
        opened.create_dataset("X", shape, "f4", chunks=(1000, shape[1]))


@pytest.fixture
def write_declared(tmp_path):
    """Give the function that writes a dense matrix of a shape, as its file declares it."""

    def write(*shape):
        file = tmp_path / "normalised.h5ad"
        file.unlink(missing_ok=True)
        declare(file, *shape)
        os.truncate(file, math.prod(shape) * 4)
        return file

    return write


@pytest.fixture
def large(write_declared):
    return write_declared(100_000, 30_000)


def test_of_a_large_matrix_a_job_asks_for_the_samples_it_works_on(rules, large):
    asked = rules().needs((700, 6), (10, 0.1), tunes=True)
    tuned, whole = 30_000 * 30_000 * 4 / 2**20, 100_000 * 30_000 * 4 / 2**20
    given = [large], 1
    wildcards = {"dataset": "cells", "method": "l0"}
    assert asked["mem_mb"](wildcards, *given) == int(700 + 6 * tuned)
    assert asked["runtime"](wildcards, *given) == int(10 + 0.1 * tuned)
    # k-means works on all samples, and reads what the machine cannot hold in blocks.
    wildcards["method"] = "kmeans"
    quarter = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 4 / 2**20
    assert asked["mem_mb"](wildcards, *given) == int(700 + 6 * min(whole, quarter))
    assert asked["runtime"](wildcards, *given) == int(10 + 0.1 * whole)
    # Before the file is there, the user's own declares as much.
    anndata.AnnData(shape=(0, 0)).write_h5ad(large.with_name("cells.h5ad"))
    declare(large.with_name("cells.h5ad"), 100_000, 30_000)
    wildcards["method"] = "l0"
    missing = large.with_name("missing.h5ad")
    assert asked["mem_mb"](wildcards, [missing], 1) == int(700 + 6 * tuned)


def test_the_page_states_what_jobs_ask_for_and_used_of_memory_within_a_factor_of_four(
    rules, project_root, write_declared
):
    page = (project_root / "docs" / "performance.md").read_text(encoding="utf-8")
    text = (project_root / "workflow" / "rules" / "cluster.smk").read_text()
    table = page.partition("### Memory requested and used")[2].partition("\n### ")[0]
    cells = r"^\| (.*?) ?\| `(\w+)`.* \| ([\d,]+) / ([\d,]+) \| (\d+) \| (\d+)"
    rows, sizes = re.findall(cells, table.replace(",", ""), re.M), set()
    for shape, rule, *numbers in rows:
        if shape:
            n_samples, n_features = map(int, re.findall(r"\d+", shape)[:2])
            sizes.add(n_samples)
        if rule == "normalise_matrix":
            continue
        file = write_declared(n_samples, n_features)
        block = text.partition(f"\nrule {rule}:")[2]
        asked = re.search(r"needs\(memory=\((.*?), (.*?)\), minutes=\((.*?), (.*?)\)", block)
        memory, more, minutes, longer = map(float, asked.groups())
        needs = rules().needs((memory, more), (minutes, longer), tunes=True)
        megabytes, used, runtime, seconds = map(int, numbers)
        given = {"dataset": "cells", "method": "l0"}, [file], 1
        assert megabytes == pytest.approx(needs["mem_mb"](*given), rel=0.01)
        assert runtime == needs["runtime"](*given)
        assert used <= megabytes <= 4 * used
        assert seconds <= 60 * runtime
    assert len(sizes) >= 3


def test_jobs_of_a_large_data_set_are_submitted_one_by_one(rules, large):
    wildcards = {"dataset": "cells"}
    assert rules(file="absent.h5ad").of_small("sparsekm_fit")(wildcards) == "sparsekm_fit"
    assert rules(file=large.name).of_small("sparsekm_fit")(wildcards) is None


def block_of(text):
    """Compress as bgzip does: a member of gzip that says in its header how long it is."""
    packed = zlib.compress(text)[2:-4]
    ends = zlib.crc32(text).to_bytes(4, "little"), len(text).to_bytes(4, "little")
    size = (18 + len(packed) + 8 - 1).to_bytes(2, "little")
    return b"\x1f\x8b\x08\4" + bytes(6) + b"\6\0BC\2\0" + size + packed + b"".join(ends)


def test_a_compressed_table_has_the_bytes_of_what_it_becomes(tmp_path):
    table, folder = tmp_path / "t.csv.gz", tmp_path / "cells.zarr"
    random = np.random.default_rng(0).bytes(64)
    for content, length in (
        (gzip.compress(bytes(9000)), 9000),
        (b"".join(map(block_of, (bytes(5000), bytes(700), b""))), 5700),
        # No fewer than the file has, and damage is for the job to report.
        (gzip.compress(random), len(gzip.compress(random))),
        (b"ab", 2),
    ):
        table.write_bytes(content)
        assert input_sizes.bytes_of(table) == length
    (folder / "X").mkdir(parents=True)
    (folder / "X" / "0").write_bytes(bytes(300))
    (folder / "zarr.json").write_bytes(bytes(20))
    places = (folder, folder / "X")
    assert input_sizes.bytes_of(folder) == 320 + sum(place.stat().st_size for place in places)


def test_compression_changes_nothing_and_a_workbook_asks_for_its_sheets(rules, tmp_path, X):
    def asked(file):
        wildcards = SimpleNamespace(**WILDCARDS, get=WILDCARDS.get)
        return rules(file=file.name).reading_memory(wildcards, [file], 1)

    stored, book = [], []
    for options in ({}, {"compression": "gzip"}):
        anndata.AnnData(csr_matrix(X)).write_h5ad(tmp_path / "cells.h5ad", **options)
        stored.append(asked(tmp_path / "cells.h5ad"))
    assert stored[0] == stored[1] > 800
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        with zipfile.ZipFile(tmp_path / "cells.xlsx", "w", method) as archive:
            archive.writestr("xl/worksheets/sheet1.xml", "<c><v>0</v></c>" * 200_000)
        book.append(asked(tmp_path / "cells.xlsx"))
    assert book == [int(800 + 10 * 15 * 200_000 / 2**20)] * 2
    (tmp_path / "cells.xlsx").write_bytes(bytes(2**20))
    assert asked(tmp_path / "cells.xlsx") == 810
