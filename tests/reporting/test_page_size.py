"""The page of a whole atlas stays small enough to be sent around."""

import dataclasses
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from sparsekm.annotation.clusters import tabulate_overlap
from sparsekm.annotation.enrichment import ENRICHMENT
from sparsekm.annotation.gene_table import VERDICTS
from sparsekm.atlas.phantom import FULL_COUNTS, get_size
from sparsekm.atlas.phantom.anatomy import TISSUE, UPPER, build_geometry
from sparsekm.io.normalised_file import write_normalised
from sparsekm.io.store import TunedFit, write_fit
from sparsekm.reporting.ages_section import view_ages
from sparsekm.reporting.report import load_dataset_result, write_report

N_GENES = 1724
N_SPARSITIES = 15
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

    def disturb(share):
        return np.where(rng.random(n) < share, rng.integers(len(names), size=n), codes)

    methods = {}
    for name, method in brain_result.methods.items():
        n_kept = {"kmeans": N_GENES, "l1": 1400, "l0": 700}[name]
        gap = None
        if method.gap is not None:
            steps = np.linspace(2, n_kept, N_SPARSITIES)
            gap = pd.DataFrame({c: steps + rng.normal(size=N_SPARSITIES) for c in method.gap})
            gap = gap.assign(sparsity=steps, n_selected=steps.astype(int))
        labels = disturb(0.1)
        methods[name] = dataclasses.replace(
            method,
            labels=labels,
            scores=scores,
            weights=(np.arange(N_GENES) < n_kept) * rng.random(N_GENES),
            sparsity=float(n_kept),
            centers=rng.normal(size=(len(names), N_GENES)),
            gap=gap,
        )
    symbols = [f"Gene{number}rik" for number in range(N_GENES)]
    return dataclasses.replace(
        brain_result,
        name=AGE,
        obs=obs,
        spatial=grid * plan.spacing / 1000,
        var=pd.DataFrame(index=symbols),
        methods=methods,
        genes=_gene_table(symbols, scores, rng),
        regions=pd.DataFrame(
            {"acronym": names, "name": names, "color": [UPPER[region][2] for region in names]}
        ),
        enrichment=_enrichment(symbols, rng),
        contingency=tabulate_overlap(
            {name: method.labels for name, method in methods.items()}, regions
        ),
    )


def _gene_table(symbols, scores, rng):
    table = pd.DataFrame(
        {
            "symbol": symbols,
            "name": [f"a gene's descriptive name of about fifty letters {s}" for s in symbols],
            "entrez_id": rng.integers(10**4, 10**6, N_GENES),
            "gene_id": rng.integers(10**4, 10**6, N_GENES),
            "verdict": rng.choice(VERDICTS, N_GENES),
        }
    )
    for method in ("l0", "l1", "kmeans"):
        table[f"score_{method}"] = scores
        table[f"rank_{method}"] = np.arange(1, N_GENES + 1)
        table[f"weight_{method}"] = rng.random(N_GENES)
        table[f"stability_{method}"] = rng.integers(21, size=N_GENES) / 20
    return table.assign(
        highest_cluster=rng.integers(20, size=N_GENES),
        effect_cluster=rng.random(N_GENES),
        highest_label="CSP",
        effect_label=rng.random(N_GENES),
        terms="; ".join(f"regulation of an invented process, part {part}" for part in range(5)),
    )


def _enrichment(symbols, rng):
    rows = [
        [group, f"GO:{t:07d}", f"term {t}", N_GENES, 700, 90, 60, 40.0, 1.5, 1e-5, 1e-3, 0.01]
        for group in ("kept", "dropped", "only l1")
        for t in range(1500)
    ]
    genes = ";".join(rng.choice(symbols, 60))
    return pd.DataFrame([[*row, genes] for row in rows], columns=list(ENRICHMENT.columns))


def _values(result):
    """Stand in for the file of the matrix, of which figures ask a few columns."""

    def read_features(indices):
        return np.random.default_rng(1).normal(size=(result.n_samples, len(indices)))

    return read_features


@pytest.mark.release
def test_seven_ages_of_the_real_size_make_a_page_of_at_most_15_mb(tmp_path, atlas_age):
    assert atlas_age.n_samples == sum(FULL_COUNTS[AGE]) > 28_000
    object.__setattr__(atlas_age, "read_features", _values(atlas_age))
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
        about = {"method": method, "dataset": "mine", "n_clusters": 4, "search": "x", "seed": 1}
        about |= {"parameters": {}, "versions": {}, "input_digest": "0" * 64}
        about["code_digest"] = "1" * 64
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
