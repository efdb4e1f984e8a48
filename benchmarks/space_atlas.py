"""What is overstated on the simulated atlas if neighbouring voxels count as independent.

Atlases of three ages are drawn, with the genes that are planted in regions and without them.
Without them no gene has to do with a region, and only the staining makes clusters, of whole
sections; with the means of the sections subtracted there are none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from benchmarks.space import centre_sections
from sparsekm import L0KMeans, SparseKMeans
from sparsekm.annotation.enrichment import find_enriched, keep_by_chance
from sparsekm.annotation.gene_sets import build_gene_sets, match_features
from sparsekm.annotation.stability import count_kept
from sparsekm.atlas import NO_DATA
from sparsekm.atlas.phantom import get_size
from sparsekm.atlas.phantom.anatomy import TISSUE
from sparsekm.atlas.phantom.genes import PlantedGene, plant_genes
from sparsekm.atlas.phantom.source import PlantedSection, draw_energy, prepare_canvas
from sparsekm.cluster.matrices.matrix import CentredMatrix, feature_scores
from sparsekm.cluster.weight_step import TopFeatures
from sparsekm.tuning.fold_fits import BLOCKS_PER_CLUSTER, space_blocks
from sparsekm.tuning.gap import share_of

AGES = ["E11.5", "E13.5", "P14"]
SEEDS = range(5)
# Whether genes are planted in regions, and whether the means of sections are subtracted.
ATLASES = {
    "no regions, no sections": (False, True),
    "no regions": (False, False),
    "regions": (True, False),
}
SIZE = get_size("default")
KINDS = ("marker", "gradient", "module", "housekeeping", "noise")
# Settings of the workflow, except for the search (there: auto, 10 restarts, 10 sparsities).
SEARCH = {"search": "alternate", "n_init": 2, "min_cluster_size": 5}
N_HALVES, N_BRAINS, LEVEL = 20, 2, 0.05
N_RANDOM, RANDOM_SIZE, LARGEST_SET = 20, 12, 150


@dataclass(frozen=True)
class Atlas:
    """One age of a simulated atlas."""

    X: np.ndarray  # z-scores, (n_voxels, n_genes)
    positions: np.ndarray
    regions: np.ndarray  # (n_voxels,), int
    genes: list[PlantedGene]
    planted: np.ndarray  # (n_genes,), bool: whether regions differ

    @property
    def n_clusters(self) -> int:
        """As many as there are regions."""
        return int(self.regions.max()) + 1

    @property
    def blocks(self) -> np.ndarray:
        """The blocks of space that the workflow takes."""
        return space_blocks(self.positions, BLOCKS_PER_CLUSTER * self.n_clusters)


def benchmark() -> pd.DataFrame:
    """Measure stability, separation and enrichment by voxels and with regard to space."""
    rows = []
    for seed in SEEDS:
        for age in AGES:
            for name, settings in ATLASES.items():
                brains = [draw_atlas(age, seed, brain, *settings) for brain in range(1 + N_BRAINS)]
                found = dict(_measure(*brains, seed=seed))
                rows.append({"age": age, "atlas": name, "seed": seed, **found})
                print(rows[-1], flush=True)
    return pd.DataFrame(rows)


def draw_atlas(age: str, seed: int, brain: int, planted: bool, centred: bool) -> Atlas:
    """Draw an age; brains of one seed have the same genes, with noise and staining of their own."""
    canvas, stained = (
        prepare_canvas(age, SIZE._replace(edge_missing=0.0), seed=each)
        for each in (seed, 1000 * brain + seed)
    )
    canvas, geometry = replace(canvas, staining=stained.staining), canvas.geometry
    tissue = geometry.kind == TISSUE
    names, regions = np.unique(geometry.region[tissue], return_inverse=True)
    genes = [gene for gene in plant_genes(SIZE, seed) if gene.kind in KINDS]
    relevant = np.array([not set(names).isdisjoint(gene.regions_at(age)) for gene in genes])
    if not planted:
        genes = [gene for gene, differs in zip(genes, relevant, strict=True) if not differs]
        relevant = relevant[~relevant]
    sections = [
        PlantedSection(10_000 * brain + gene.number, gene, True, False, "sagittal", "2018-01-01")
        for gene in genes
    ]
    energies = [
        draw_energy(canvas, section, seed).ravel()[geometry.index[tissue]] for section in sections
    ]
    X = np.array(energies, dtype=np.float64).T
    X[X == NO_DATA] = np.nan
    X = np.nan_to_num((X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0, ddof=1))
    positions = geometry.coordinates[tissue] * SIZE.ages[age].spacing
    if centred:
        X = centre_sections(X, positions)
    return Atlas(X.astype(np.float32), positions, regions, genes, relevant)


def _measure(atlas: Atlas, *others: Atlas, seed: int) -> Iterator[tuple[str, float]]:
    n_features = atlas.X.shape[1]
    estimator = L0KMeans(atlas.n_clusters, random_state=seed, **SEARCH)
    quarter = share_of(n_features)
    path = estimator.path(atlas.X, [quarter])
    kept = path.weights[0] > 0

    def stability(X, n_halves, blocks=None):
        counts = count_kept(X, estimator, quarter, n_halves, seed, blocks=blocks)
        return counts[kept].mean() / n_halves

    for name, blocks in (("voxels", None), ("blocks", atlas.blocks)):
        yield f"stability_{name}", stability(atlas.X, N_HALVES, blocks)
    yield "stability_brains", np.mean([stability(o.X, N_HALVES // 4) for o in others])
    again = [
        clone(estimator).set_params(random_state=seed + 1).path(o.X, [quarter]) for o in others
    ]
    yield (
        "brains_agree",
        np.mean(
            [
                adjusted_rand_score(*pair)
                for other in again
                for pair in zip(path.labels, other.labels, strict=True)
            ]
        ),
    )
    for name, blocks in (("voxels", None), ("blocks", atlas.blocks)):
        found = SparseKMeans(atlas.n_clusters, min_cluster_size=5, random_state=seed)
        found.fit(atlas.X, groups=blocks)
        yield f"apart_{name}", found.has_clusters_
        yield f"pairs_apart_{name}", (found.separation_["p_adjusted"] <= LEVEL).mean()
    yield from _enrich(atlas, kept, seed)


def _enrich(atlas: Atlas, kept: np.ndarray, seed: int) -> Iterator[tuple[str, float]]:
    """Test sets of genes among those that tell regions apart, and those that the fit keeps."""
    n_kept = int(kept.sum())
    scores = feature_scores(CentredMatrix(atlas.X), atlas.regions, atlas.n_clusters)
    by_region = TopFeatures(float(n_kept)).weigh(scores) > 0
    by_chance = keep_by_chance(atlas.X, atlas.positions, atlas.n_clusters, n_kept, seed=seed)
    terms = dict(gene_terms(atlas, seed))
    sets = build_gene_sets("symbol", terms, {})
    matched = match_features(pd.DataFrame(index=[gene.symbol for gene in atlas.genes]), sets)
    for group, features in (("regions", by_region), ("fit", kept)):
        table = find_enriched(
            sets, matched, {"kept": features}, by_chance=by_chance, term_size=(5, LARGEST_SET)
        )
        for kind, some in table.groupby(table["term"].str.split(":").str[0]):
            yield f"{group}_{kind}_p", (some["p_value"] <= LEVEL).mean()
            yield f"{group}_{kind}_q", (some["q_value"] <= LEVEL).mean()
            yield f"{group}_{kind}_spatial", (some["p_spatial"] <= LEVEL).mean()


def gene_terms(atlas: Atlas, seed: int) -> Iterator[tuple[str, list[str]]]:
    """List sets of genes: of one pattern in space, planted in regions, at random, and all."""
    symbols = [gene.symbol for gene in atlas.genes]
    kinds = [f"{gene.kind}{'' if gene.module is None else gene.module}" for gene in atlas.genes]
    for kind, some in pd.Series(symbols).groupby(kinds):
        if kind.startswith(("gradient", "module")):
            yield f"patterned:{kind}", some.tolist()
    if atlas.planted.any():
        yield "planted:all", np.array(symbols)[atlas.planted].tolist()
    rng = np.random.default_rng(seed)
    for number in range(N_RANDOM):
        yield f"random:{number}", rng.choice(symbols, RANDOM_SIZE, replace=False).tolist()
    # Not tested, since it is too large, but every gene then has a term.
    yield "every:gene", symbols
