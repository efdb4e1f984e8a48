"""The paper's procedure on the atlas is a configuration that is read and planned."""

import shutil
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
PROFILE = yaml.safe_load((ROOT / "config" / "paper-procedure.yaml").read_text())


def test_the_profile_asks_for_what_the_paper_did():
    assert PROFILE["atlas"]["source"] == "allen"
    assert PROFILE["atlas"]["genes"] == "common"
    assert PROFILE["n_clusters"] == "regions"
    assert (PROFILE["search"], PROFILE["min_cluster_size"]) == ("alternate", 1)
    assert PROFILE["tuning"] == {"reference": "permutation", "rule": "max"}


def test_every_age_is_planned_and_nothing_else(tmp_path, new_project):
    project = new_project(tmp_path, ROOT)
    shutil.copy(ROOT / "config.yaml", project.root)
    profile = ROOT / "config" / "paper-procedure.yaml"
    done = project.snakemake("--dry-run", "--cores", "1", "--configfile", str(profile))
    assert done.returncode == 0, done.stdout
    for age in PROFILE["atlas"]["ages"]:
        for method in ("kmeans", "l1", "l0"):
            assert f"results/{age}/{method}/path.h5" in done.stdout
    assert "simulate:" not in done.stdout
    assert "results/E11.5/sparse/" not in done.stdout
