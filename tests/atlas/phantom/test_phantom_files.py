"""What the phantom sends: the same bytes from a seed, in the servers' formats."""

import io

import pandas as pd
import pytest

from sparsekm.atlas.listing import open_envelope, parse_json, parse_listing
from sparsekm.atlas.phantom.sizes import PLANTED_SHARE
from sparsekm.atlas.phantom.source import PhantomSource

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


@pytest.mark.parametrize(("age", "share"), PLANTED_SHARE.items())
def test_each_age_has_its_share_of_markers(default, age, share):
    truth = pd.read_csv(io.BytesIO(default.truth(age)), keep_default_na=False)
    usable = truth[truth["kind"].isin(["marker", "gradient", "module", "housekeeping", "noise"])]
    # At P14, which has no spinal cord, a marker of the cord alone does not count.
    assert usable["relevant"].mean() == pytest.approx(share, abs=0.01)
    assert set(truth.loc[truth["relevant"], "kind"]) == {"marker"}
    if share > 0.05:
        regions = set(";".join(truth.loc[truth["relevant"], "regions"]).split(";"))
        assert regions == set(default.size.ages[age].region_voxels)
