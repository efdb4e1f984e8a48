"""What jobs ask for follows from shapes and stored values, not from compressed files."""

import math
import os
import zipfile
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import anndata
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, csr_matrix

from sparsekm.io.normalised_file import write_normalised

N_SAMPLES, N_FEATURES = 6000, 100


@pytest.fixture(name="rules")
def resources_of_the_workflow(project_root, tmp_path):
    """Run the file of the rules as what it is, Python, with what the others define."""

    def load(max_memory_gb=None, max_samples=30_000, file="cells.h5ad"):
        config = {"max_memory_gb": max_memory_gb, "tuning": {"max_samples": max_samples}}
        names = {"config": config, "ATLAS": {"ages": []}}
        names |= {"MATRICES": {"cells": {"path": str(tmp_path / file)}}, "math": math}
        names["run_bounded"] = lambda file, work: work()
        names |= {"workflow": SimpleNamespace(global_resources={"downloads": 1})}
        names |= {"os": os, "zipfile": zipfile, "cache": cache, "Path": Path, "DATASETS": ["cells"]}
        exec((project_root / "workflow" / "rules" / "resources.smk").read_text(), names)
        return SimpleNamespace(**names)

    return load


@pytest.fixture(name="X")
def mostly_zero():
    rng = np.random.default_rng(0)
    X = rng.random((N_SAMPLES, N_FEATURES), dtype=np.float32)
    return np.where(X < 0.1, X, 0).astype(np.float32)


def write(file, X):
    obs, var = (pd.DataFrame(index=[f"{i}" for i in range(length)]) for length in X.shape)
    write_normalised(file, X, obs, var.assign(center=0.0), {})
    return file


WILDCARDS = {"dataset": "cells"}


def test_sparse_data_ask_for_less_than_an_array(rules, tmp_path, X):
    ask = rules().needs((600, 6), (10, 0))["mem_mb"]
    dense, sparse = tmp_path / "dense", tmp_path / "sparse"
    asked = {}
    for folder, values in ((dense, X), (sparse, csr_array(X))):
        folder.mkdir()
        file = write(folder / "normalised.h5ad", values)
        asked[folder.name] = ask(WILDCARDS, [file], 1)
        size = file.stat().st_size / 2**20
        sample = 4096 * N_FEATURES * 4 / 2**20
        held = size if folder is dense else size / 2 + sample
        assert asked[folder.name] == int(600 + 6 * held)
        assert ask(WILDCARDS, [file], 2) == int(2 * (600 + 6 * held))
    assert asked["sparse"] < asked["dense"]


def test_a_matrix_that_stays_on_disk_is_not_asked_for(rules, tmp_path, X):
    file = write(tmp_path / "normalised.h5ad", X)
    assert (
        rules(max_memory_gb=1 / 1024).needs((600, 6), (10, 0))["mem_mb"](WILDCARDS, [file], 1)
        == 606
    )


TUNED = ((None, 1), (30_000, 1), (N_SAMPLES, 1), (N_SAMPLES // 2, 0.5))


def test_of_sparse_data_no_more_than_the_samples_of_the_tuning_is_asked_for(rules, tmp_path, X):
    file = write(tmp_path / "normalised.h5ad", csr_array(X))
    stored = file.stat().st_size / 2**20 / 2
    for max_samples, share in TUNED:
        ask = rules(max_samples=max_samples).needs((600, 6), (10, 0), tunes=True)["mem_mb"]
        searched = min(N_SAMPLES * share, 4096) * N_FEATURES * 4 / 2**20
        expected = 600 + 6 * (share * stored + searched)
        assert ask(WILDCARDS, [file], 1) == pytest.approx(expected, abs=1)


def ask_to_read(rules, file):
    wildcards = SimpleNamespace(**WILDCARDS, get=WILDCARDS.get)
    return rules(file=file.name).reading_memory(wildcards, [file], 1)


def test_compression_changes_nothing(rules, tmp_path, X):
    asked = []
    for options in ({}, {"compression": "gzip"}):
        file = tmp_path / "cells.h5ad"
        anndata.AnnData(csr_matrix(X)).write_h5ad(file, **options)
        asked.append(ask_to_read(rules, file))
    assert asked[0] == asked[1] > 600


def test_a_workbook_asks_for_what_its_sheets_take(rules, tmp_path):
    asked = []
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        with zipfile.ZipFile(tmp_path / "cells.xlsx", "w", method) as archive:
            archive.writestr("xl/worksheets/sheet1.xml", "<c><v>0</v></c>" * 200_000)
        asked.append(ask_to_read(rules, tmp_path / "cells.xlsx"))
    assert asked[0] == asked[1] == int(600 + 10 * 15 * 200_000 / 2**20)
    (tmp_path / "cells.xlsx").write_bytes(bytes(2**20))
    assert ask_to_read(rules, tmp_path / "cells.xlsx") == 610
