"""The page of a whole atlas stays small enough to be sent around."""

import dataclasses
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sound_files import ATTRIBUTES

from sparsekm.annotation.clusters import tabulate_overlap
from sparsekm.annotation.enrichment import ENRICHMENT
from sparsekm.annotation.gene_table import gene_table
from sparsekm.atlas.phantom import FULL_COUNTS, get_size
from sparsekm.atlas.phantom.anatomy import TISSUE, UPPER, build_geometry
from sparsekm.io.normalised_file import write_normalised
from sparsekm.io.store import TunedFit, write_fit
from sparsekm.reporting.ages_section import view_ages
from sparsekm.reporting.report import load_dataset_result, write_report

N_GENES = 1724
N_SPARSITIES = 15
KEPT = (N_GENES, 1400, 700)
AGE = "P28"  # the age of the most voxels
LARGEST = 15e6
SIMULATIONS = 2e6  # what their section, which does not grow with the atlas, may take of it


@pytest.fixture(scope="module")
def atlas_age(brain_result):
    """An age on the atlas' own grid, with every gene and every column that the workflow gives."""
    rng = np.random.default_rng(0)
    plan = get_size("full").ages[AGE]
    geometry = build_geometry(AGE, plan)
    tissue = geometry.kind == TISSUE
    grid, regions = geometry.coordinates[tissue], geometry.region[tissue].astype(object)
    names, codes = np.unique(regions, return_inverse=True)
    n = len(regions)
    obs = pd.DataFrame({"region": regions, **dict(zip("xyz", grid.T, strict=True))})
    scores = np.sort(rng.gamma(1, 500, N_GENES))[::-1]
    steps = np.linspace(2, 700, N_SPARSITIES)
    columns = brain_result.methods["l0"].gap
    gap = pd.DataFrame({name: steps + rng.normal(size=N_SPARSITIES) for name in columns})
    methods = {
        name: dataclasses.replace(
            method,
            labels=np.where(rng.random(n) < 0.1, rng.integers(len(names), size=n), codes),
            scores=scores,
            weights=(np.arange(N_GENES) < n_kept) * rng.random(N_GENES),
            centers=rng.normal(size=(len(names), N_GENES)),
            gap=None if method.gap is None else gap.assign(sparsity=steps, n_selected=2),
        )
        for (name, method), n_kept in zip(brain_result.methods.items(), KEPT, strict=True)
    }
    var = pd.DataFrame(
        {"entrez_id": 10**5, "gene_id": 10**5}, [f"Gene{j}rik" for j in range(N_GENES)]
    )
    var["name"] = [f"a gene's descriptive name of about fifty letters {name}" for name in var.index]
    stability = {name: rng.integers(21, size=N_GENES) / 20 for name in methods}
    further = pd.DataFrame(
        {
            "highest_cluster": rng.integers(20, size=N_GENES),
            "effect_cluster": rng.random(N_GENES),
            "highest_label": "CSP",
            "effect_label": rng.random(N_GENES),
            "terms": "; ".join(f"regulation of an invented process, part {k}" for k in range(5)),
        }
    )
    acronyms = {"acronym": names, "name": names, "color": [UPPER[region][2] for region in names]}
    tests = [
        [group, f"GO:{t:07d}", f"term {t}", N_GENES, 700, 90, 60, 40.0, 1.5, 1e-5, 1e-3, 0.01]
        for group in ("kept", "dropped", "only l1")
        for t in range(1500)
    ]
    genes = ";".join(rng.choice(var.index, 60))
    clusters = {name: method.labels for name, method in methods.items()}
    return dataclasses.replace(
        brain_result,
        name=AGE,
        obs=obs,
        spatial=grid * plan.spacing / 1000,
        var=var,
        methods=methods,
        genes=gene_table(var, methods, stability=stability, further=further, is_atlas=True),
        regions=pd.DataFrame(acronyms),
        enrichment=pd.DataFrame([[*test, genes] for test in tests], columns=[*ENRICHMENT.columns]),
        contingency=tabulate_overlap(clusters, regions),
    )


@pytest.mark.release
def test_seven_ages_of_the_real_size_make_a_page_of_at_most_15_mb(tmp_path, atlas_age):
    assert atlas_age.n_samples == sum(FULL_COUNTS[AGE]) > 28_000
    # In place of the file of the matrix, of which figures ask a few columns.
    values = np.random.default_rng(1)
    n = atlas_age.n_samples
    object.__setattr__(
        atlas_age, "read_features", lambda which: values.normal(size=(n, len(which)))
    )
    ages = [f"age {number}" for number in range(7)]
    kept = pd.DataFrame(
        {"symbol": atlas_age.genes["symbol"], **dict.fromkeys(ages, "kept by both")}
    ).assign(n_analysed=7, n_kept=7, first=ages[0], last=ages[-1])
    listed = ";".join(atlas_age.genes["symbol"])
    changes = pd.DataFrame(
        [
            {"earlier": a, "later": b} | {f"n_{k}": N_GENES for k in ("enter", "leave", "stay")}
            | dict.fromkeys(("enter", "leave", "stay"), listed)
            for a, b in pairwise(ages)
        ]
    )  # fmt: skip
    page = tmp_path / "report.html"
    write_report([atlas_age], page, ages=view_ages(kept, ages, changes, simulated=False))
    assert 7 * page.stat().st_size < LARGEST - SIMULATIONS


def test_500_samples_of_20_000_features_make_a_page_of_at_most_3_mb(tmp_path):
    rng = np.random.default_rng(0)
    n_samples, n_features, n_kept = 500, 20_000, 900
    labels = rng.integers(4, size=n_samples).astype(np.int32)
    X = rng.standard_normal((n_samples, n_features), dtype=np.float32)
    X[:, :n_kept] += 2 * labels[:, None]
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    obs = pd.DataFrame(index=[f"TCGA-{number:04d}-01A" for number in range(n_samples)])
    obs["label"] = np.array(["basal", "luminal A", "luminal B", "her2"])[labels]
    var = pd.DataFrame(index=[f"ENSG{number:011d}" for number in range(n_features)])
    file = tmp_path / "normalised.h5ad"
    write_normalised(file, X, obs, var, {"source": "matrix", "normalisation": "zscore"})
    centers = np.array([X[labels == k].mean(axis=0) for k in range(4)]).astype(np.float64)
    scores = (np.bincount(labels)[:, None] * centers**2).sum(axis=0)
    weights = (np.arange(n_features) < n_kept).astype(float)
    fits, more = {}, {"centers": centers, "scores": scores, "labels": labels}
    for method in ("kmeans", "l1", "l0", "sparse"):
        own = np.ones(n_features) if method == "kmeans" else weights
        extra = {}
        if method == "sparse":
            extra["reproducibility"] = rng.random(n_samples)
            extra["partitions"] = np.array([labels] * 50).astype(np.int16)
            extra["selection_frequency"] = weights
        about = {**ATTRIBUTES, "method": method, "n_clusters": 4}
        fits[method] = tmp_path / f"{method}.h5"
        write_fit(
            fits[method], TunedFit(900.0, 1.0, weights=own, attributes=about, **more, **extra)
        )
    result = load_dataset_result("mine", file, fits=fits)
    assert len(result.genes) == n_features
    write_report([result], tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size < 3e6
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert all(
        f"<title>{name}, cluster {k}" in html for name, k in zip(obs.index, labels, strict=True)
    )
