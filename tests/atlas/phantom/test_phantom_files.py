"""What the phantom sends: the same bytes from a seed, in the servers' formats."""

import io
import zipfile
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from sparsekm.atlas.envelope import open_envelope, parse_json
from sparsekm.atlas.grid import MissingGridError, read_energy
from sparsekm.atlas.listing import parse_listing
from sparsekm.atlas.phantom.source import PhantomSource
from sparsekm.network.errors import NotFoundError

AGE = "P14"


@pytest.fixture(scope="module")
def tiny():
    return PhantomSource("tiny", seed=3)


@pytest.fixture(scope="module")
def default():
    return PhantomSource("default", seed=3)


def test_the_same_seed_gives_the_same_bytes_in_any_order(tiny):
    again = PhantomSource("tiny", seed=3)
    ids = list(tiny.sections(AGE))
    backwards = {i: again.energy(AGE, i) for i in reversed(ids)}
    assert all(tiny.energy(AGE, i) == backwards[i] for i in ids)
    for part in ("listing", "annotation", "truth"):
        assert getattr(tiny, part)(AGE) == getattr(again, part)(AGE)
    assert tiny.ontology() == again.ontology()


def test_another_seed_gives_other_energies(tiny):
    other = PhantomSource("tiny", seed=4)
    assert tiny.listing(AGE) != other.listing(AGE)
    assert tiny.annotation(AGE) == other.annotation(AGE)


def test_energies_look_like_measured_ones(default):
    sections = [s for s in default.sections(AGE).values() if s.has_grid][:60]
    values = np.concatenate(
        [read_energy(default.energy(AGE, s.id)).values.ravel() for s in sections]
    )
    outside = len(default.canvas(AGE).geometry.index)
    assert (values == -1).mean() > 1 - outside / np.prod(default.size.ages[AGE].dims)
    measured = values[values != -1]
    assert measured.min() == 0
    assert 0.01 < (measured == 0).mean() < 0.2
    assert 0.1 < np.median(measured) < 1
    assert 5 < measured.max() <= 50


def test_archives_come_in_all_shapes(default):
    names = Counter()
    for section in list(default.sections(AGE).values())[:24]:
        with zipfile.ZipFile(io.BytesIO(default.energy(AGE, section.id))) as archive:
            members = archive.namelist()
        names["folder" if "/" in members[0] else "flat"] += 1
        names["xml" if any(name.endswith(".xml") for name in members) else "no xml"] += 1
    assert min(names[kind] for kind in ("folder", "flat", "xml", "no xml")) > 0


def test_every_oddity_of_the_listing_is_there(default):
    rows = open_envelope(parse_json(default.listing(AGE), "listing"), "listing")
    items = parse_listing(rows)
    assert len(rows) == len(items) + 1
    by_gene: dict[int, list] = {}
    for item in items:
        by_gene.setdefault(item.genes[0].id, []).append(item)
    patterns = {
        tuple(sorted(s.delegate for s in found if not s.failed and s.plane == "sagittal"))
        for found in by_gene.values()
    }
    assert {(True,), (False, True), (False, False), (True, True), ()} <= patterns
    genes = [item.genes[0] for item in items]
    assert any(gene.entrez_id is None for gene in genes)
    assert any(gene.symbol.endswith("*") for gene in genes)
    assert any(not row["probes"] for row in rows)
    assert all(gene.symbol.startswith("Phm") and "phantom" in gene.name for gene in genes)
    assert all(all(s.failed for s in found) for found in by_gene.values() if found[0].failed
               and len(found) == 1)  # fmt: skip


def test_one_delegate_has_no_grid(default):
    gridless = [s for s in default.sections(AGE).values() if not s.has_grid]
    assert len(gridless) == 1
    with pytest.raises(MissingGridError):
        read_energy(default.energy(AGE, gridless[0].id))


def test_a_minority_of_genes_are_markers_and_every_region_has_some(default):
    truth = pd.read_csv(io.BytesIO(default.truth(AGE)), keep_default_na=False)
    usable = truth[truth["kind"].isin(["marker", "gradient", "module", "housekeeping", "noise"])]
    assert 0.15 < (usable["relevant"] == True).mean() < 0.35  # noqa: E712
    regions = set(";".join(truth.loc[truth["relevant"], "regions"]).split(";"))
    assert regions == set(default.size.ages[AGE].region_voxels)
    changing = {gene.profile for gene in default.planted if gene.kind == "marker"}
    assert changing == {"steady", "early", "late", "transient", "switching"}


def test_markers_are_raised_where_they_are_planted(default):
    canvas = default.canvas(AGE)
    tissue = canvas.geometry.kind == 0
    higher = []
    for section in default.sections(AGE).values():
        gene = section.gene
        if gene.kind != "marker" or gene.strength(AGE) < 1 or not section.has_grid:
            continue
        values = read_energy(default.energy(AGE, section.id)).values.ravel()[canvas.geometry.index]
        inside = np.isin(canvas.geometry.region, gene.regions_at(AGE))
        known = tissue & (values != -1)
        if (inside & known).any():
            higher.append(values[inside & known].mean() > 1.5 * values[~inside & known].mean())
    assert len(higher) > 20
    assert np.mean(higher) > 0.95


def test_usable_genes_miss_less_and_mostly_missing_ones_more_than_three_tenths(default):
    canvas = default.canvas(AGE)
    index = canvas.geometry.index[canvas.geometry.kind == 0]
    for section in default.sections(AGE).values():
        if not section.has_grid:
            continue
        values = read_energy(default.energy(AGE, section.id)).values.ravel()[index]
        mostly = section.gene.kind == "mostly_missing"
        assert ((values == -1).mean() >= 0.3) == mostly


def test_unknown_section_data_sets_are_not_found(tiny):
    with pytest.raises(NotFoundError, match="section_data_set_id=5 is not of age P14"):
        tiny.energy(AGE, 5)


def test_negative_seeds_are_refused():
    with pytest.raises(ValueError, match="seed=-1 should be >= 0"):
        PhantomSource("tiny", seed=-1)
