"""Terms planted in the phantom come out of a fit whose sparsity was tuned, controls do not."""

import numpy as np
import pandas as pd
import pytest

from sparsekm import GapSearch, L0KMeans
from sparsekm.annotation.enrichment import find_enriched, group_features
from sparsekm.annotation.gene_matching import match_features
from sparsekm.annotation.gene_sets import read_gene_sets
from sparsekm.atlas.phantom.anatomy import TISSUE, build_geometry
from sparsekm.atlas.phantom.energies import PlantedSection, draw_energy, prepare_canvas
from sparsekm.atlas.phantom.genes import (
    EVERYWHERE,
    FIRST_CONTROL,
    N_CONTROLS,
    PATTERN,
    gene_set_text,
    plant_genes,
    term_id,
)
from sparsekm.atlas.phantom.sizes import get_size
from sparsekm.atlas.vocabulary import NO_DATA

# What the tests look at is made once in each process.
pytestmark = pytest.mark.xdist_group("planted terms")

AGE = "E11.5"  # 40 % of the genes are markers
KINDS = ("marker", "gradient", "module", "housekeeping", "noise")


def draw_age(genes, seed):
    """Draw an age of the default phantom as its files hold it, z-scored as the workflow does."""
    size = get_size("default")
    geometry = build_geometry(AGE, size.ages[AGE])
    canvas = prepare_canvas(AGE, geometry, size.genes.n_modules, edge_missing=0.0, seed=seed)
    tissue = geometry.index[geometry.kind == TISSUE]
    sections = [
        PlantedSection(gene.number, gene, True, False, "sagittal", "2018-01-01") for gene in genes
    ]
    columns = [draw_energy(canvas, section, seed).ravel()[tissue] for section in sections]
    X = np.array(columns, dtype=np.float64).T
    X[X == NO_DATA] = np.nan
    X = (X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0, ddof=1)
    return np.nan_to_num(X), geometry.region[geometry.kind == TISSUE]


N_DRAWS = 40


@pytest.fixture(scope="module", params=[3, 20180101])
def fitted(request):
    """A phantom's genes, and which of them a fit keeps at the sparsity of the workflow's rule."""
    seed = request.param
    genes = [gene for gene in plant_genes(get_size("default").genes, seed) if gene.kind in KINDS]
    X, regions = draw_age(genes, seed)
    search = GapSearch(
        L0KMeans(len(np.unique(regions)), n_init=2, search="alternate", min_cluster_size=5),
        sparsities=[30, 66, 147, 219, 300],
        n_references=2,
        rule="auto",
        random_state=0,
    ).fit(X)
    return genes, search.feature_weights_, seed


def find_terms(folder, genes, weights, seed):
    (folder / "phantom.gmt").write_text(gene_set_text(genes, seed))
    sets = read_gene_sets(folder / "phantom.gmt")
    matched = match_features(pd.DataFrame(index=[gene.symbol for gene in genes]), sets)
    table = find_enriched(sets, matched, group_features({"l0": weights}))
    return table.set_index(["group", "term"])


def test_markers_terms_are_kept_and_what_is_needed_everywhere_is_dropped(fitted, tmp_path):
    table = find_terms(tmp_path, *fitted)
    q, everywhere = table["q_value"], table.loc[("dropped", term_id(EVERYWHERE))]
    assert q["kept", term_id(PATTERN)] < 1e-3
    # Three quarters of the genes are dropped: if all of some 45 with the term are, p is 1e-6.
    assert q["dropped", term_id(EVERYWHERE)] < 1e-2
    assert q["dropped", term_id(PATTERN)] > 0.9
    assert q["kept", term_id(EVERYWHERE)] > 0.9
    assert everywhere["n_shared"] > 0.85 * everywhere["n_term"]


@pytest.mark.parametrize("seed", [3, 20180101])
def test_the_markers_term_needs_an_age_at_which_the_kept_genes_are_mostly_raised(seed, tmp_path):
    size = get_size("default")
    genes = [gene for gene in plant_genes(size.genes, seed) if gene.kind in KINDS]

    def q_value(age, n_kept):
        """Keep raised markers, and others where there are not as many."""
        present = set(size.ages[age].region_voxels)
        raised = np.array([gene.is_relevant(age, present) for gene in genes])
        order = np.random.default_rng(0).permutation(len(genes))
        kept = order[np.argsort(~raised[order], kind="stable")][: n_kept or raised.sum()]
        weights = np.isin(np.arange(len(genes)), kept).astype(float)
        return find_terms(tmp_path, genes, weights, seed)["q_value"]["kept", term_id(PATTERN)]

    for age in ("E11.5", "E13.5", "E15.5"):
        assert q_value(age, None) < 0.005
        assert q_value(age, len(genes)) == 1
    quarter = [q_value(age, len(genes) // 4) for age in ("E11.5", "E13.5", "E15.5")]
    assert max(quarter[:2]) < 1e-5
    assert quarter[2] > 0.1


@pytest.mark.parametrize("group", ["kept", "dropped"])
def test_controls_drawn_anew_show_what_chance_allows(fitted, tmp_path, group):
    genes, weights, _ = fitted
    controls = [term_id(FIRST_CONTROL + rank) for rank in range(N_CONTROLS)]
    p = np.concatenate(
        [
            find_terms(tmp_path, genes, weights, seed)["p_value"][group][controls]
            for seed in range(N_DRAWS)
        ]
    )
    # Of 240 tests at 0.05 more than 23 are small once in 900 times; counts are discrete, so that
    # somewhat fewer than 12 are expected.
    assert (p < 0.05).sum() <= 23
    assert p.min() > 1e-5
