"""The page about users' own data: each of its blocks is run, in order, in a fresh project."""

import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from configuration_reader import read_configuration
from snakemake_process import run_command

from sparsekm.io.readers.reader import read_matrix


def blocks(page):
    found = re.findall(r"^```(\w+)\n(.*?)^```$", page, re.M | re.S)
    # Every fence is one of a known kind, so that no block goes untried.
    assert 2 * len(found) == len(re.findall(r"^```", page, re.M))
    assert {kind for kind, _ in found} == {"csv", "python", "yaml", "bash"}
    return found


def run_in_shell(commands, folder):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command in commands.splitlines():
        done = run_command(["bash", "-c", command], folder, PATH=path)
        assert done.returncode == 0, (command, done.stdout)


@pytest.mark.release
def test_every_block_of_the_page_runs_and_finds_what_was_planted(fresh, project_root, monkeypatch):
    page = (project_root / "docs" / "own_data.md").read_text(encoding="utf-8")
    root = fresh.root
    (root / "config.yaml").write_bytes((project_root / "config.yaml").read_bytes())
    monkeypatch.chdir(root)
    names, settings, excerpt = {}, {}, None
    for kind, block in blocks(page):
        if kind == "python":
            exec(compile(block, "docs/own_data.md", "exec"), names)
        elif kind == "yaml":
            name = re.match(r"# (\w+\.yaml)\n", block)[1]
            (root / name).write_text(block)
            settings[name] = read_configuration(root / name)
        elif kind == "bash":
            run_in_shell(block, root)
        else:
            excerpt = block
    lines = (root / "tumours.csv").read_text().splitlines()
    for shown, written in zip(excerpt.splitlines(), lines, strict=False):
        assert written.startswith(shown + ",")
    listed = re.findall(r"`(results/[^`]+)`", page)
    assert len(listed) >= 8
    for file in listed:
        assert (root / file).is_file(), file
    check_what_was_found(names)
    check_formats(settings["formats.yaml"]["matrices"])


def check_what_was_found(names):
    planted = {f"gene{j + 1}" for j in range(20)}
    for kept in (set(names["kept"].index), set(names["genes"])):
        assert planted <= kept
        assert len(kept) < 40
    found = names["found"]
    assert found.obs.groupby("label", observed=True)["cluster_l0"].nunique().tolist() == [1, 1, 1]
    assert names["mine"].obs["cluster_l0"].notna().all()
    assert names["mine"].var["kept_l0"].sum() == len(names["kept"])
    # The page says that two clusters are not found again as three are.
    assert names["counted"].n_clusters_ == 3
    assert names["counted"].has_clusters_


def check_formats(matrices):
    read = {
        name: read_matrix(entry["path"], entry.get("labels"), entry.get("layer"))
        for name, entry in matrices.items()
    }
    first = read["text"]
    for name, raw in read.items():
        values, others = (each.X.collect() + each.offset for each in (raw, first))
        np.testing.assert_allclose(values, others, atol=1e-6)
        assert raw.features == first.features
        assert raw.samples == first.samples
        if "n_clusters" in matrices[name]:
            assert raw.labels is None
        else:
            assert raw.labels.tolist() == first.labels.tolist()
