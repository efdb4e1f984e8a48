"""Whatever goes wrong with the servers, no wrong byte reaches a matrix."""

import re

import hand_made as faults
import numpy as np
import pytest
from hand_made import AGE

from sparsekm.atlas.grid import GridError
from sparsekm.atlas.listing import EnvelopeError
from sparsekm.atlas.retrieval import read_manifest
from sparsekm.network import UnavailableError


def assert_same(matrix, planted, without=None):
    """Same bits, but for the gene of one data set."""
    kept = planted.var["section_data_set_ids"].to_numpy() != str(without)
    assert kept.all() == (without is None)
    assert matrix.var.index.tolist() == planted.var.index[kept].tolist()
    assert matrix.var["gene_id"].tolist() == planted.var["gene_id"][kept].tolist()
    assert matrix.X.tobytes() == np.ascontiguousarray(planted.X[:, kept]).tobytes()
    assert matrix.obs.equals(planted.obs)


@pytest.fixture
def victim(few_sections, planted):
    """A section data set that speaks for its gene, which has no other."""
    for gene, ids in planted.var["section_data_set_ids"].items():
        sections = [s for s in few_sections.sections(AGE).values() if s.gene.symbol == gene]
        if len(sections) == 1:
            return int(ids)
    raise AssertionError("there should be a gene with one section data set")


def left_out(matrix, tmp_path, section_id):
    """Give how many data sets were left out, by reason, and the entry of one in the manifest."""
    table = read_manifest(tmp_path / AGE / "manifest.csv")
    counts = matrix.uns["provenance"]["counts"]["section_data_sets"]
    return counts, table.set_index("section_data_set_id").loc[section_id]


@pytest.mark.parametrize("fault", [faults.html, faults.wrong_crc])
def test_a_fault_that_passes_costs_a_pause(server, fetch, planted, victim, slept, fault):
    server.fail(f"/grid_data/download/{victim}", fault, times=2)
    assert_same(fetch(), planted)
    assert slept == [1, 2]
    assert {r.agent.split("/")[0] for r in server.requests} == {"sparsekm"}
    assert max(r.others for r in server.requests) == 0


def test_a_fault_that_stays_is_one_clear_error(server, fetch, victim, tmp_path):
    server.fail(f"/grid_data/download/{victim}", faults.wrong_crc)
    with pytest.raises(UnavailableError, match=rf"n_not_fetched=1 of \d+ .*{victim}\?include"):
        fetch(tries=3)
    assert len(server.asked(f"download/{victim}")) == 3
    assert not (tmp_path / AGE / "manifest.csv").exists()


def test_a_run_may_do_without_a_grid_that_does_not_come(server, fetch, planted, victim, tmp_path):
    server.fail(f"/grid_data/download/{victim}", faults.status(500))
    matrix = fetch(tries=2, max_not_fetched=1)
    assert_same(matrix, planted, without=victim)
    counts, entry = left_out(matrix, tmp_path, victim)
    assert counts["not_fetched"] == 1
    assert matrix.uns["provenance"]["counts"]["genes"]["without_grid"] == 1
    assert entry["status"] == "not_fetched"
    assert "HTTP status=500" in entry["reason"]
    server.work_well()
    assert_same(fetch(), planted)
    assert len(server.asked("/grid_data/")) == 1


def test_a_server_that_is_down_is_left_alone_after_a_few_grids(server, fetch):
    server.fail("/grid_data/", faults.status(500))
    with pytest.raises(UnavailableError, match="5 consecutive downloads failed, after 0"):
        fetch(tries=2)
    assert len(server.asked("/grid_data/")) < 2 * 9


def test_an_unusual_archive_is_read_all_the_same(server, fetch, planted, victim, tmp_path):
    # With an unknown member that is a bomb; compressed on the way, unasked.
    bomb = {"data_set.xml": bytes(100 * 1024 * 1024)}
    server.fail(f"/grid_data/download/{victim}", faults.with_members(lambda found: found | bomb))
    server.fail(f"/grid_data/download/{victim}", faults.compressed)
    assert_same(fetch(), planted)
    # Nothing is unpacked.
    assert not [path for path in tmp_path.rglob("*") if path.suffix in (".raw", ".mhd", ".xml")]


# What else a grid can get wrong, test_reading_grids.py tells.
NO_ENERGY = faults.with_member(".raw", lambda raw: np.full(len(raw) // 4, -1, "<f4").tobytes())
LEFT_OUT = {
    "another age's dimensions": (None, "rejected", "should equal the annotation's"),
    "all -1": (NO_ENERGY, "rejected", "no annotated voxel has a value"),
    "no grid": (faults.without_raw, "no_grid", "^$"),
    "404": (faults.status(404), "missing", "^$"),
}


@pytest.fixture
def other_dimensions(few_sections):
    body = few_sections.energy("P14", next(iter(few_sections.sections("P14"))))
    return faults.with_body(lambda _: body)


@pytest.mark.parametrize("name", LEFT_OUT)
def test_a_wrong_grid_is_left_out(server, fetch, planted, victim, other_dimensions, tmp_path, name):
    fault, status, message = LEFT_OUT[name]
    fault = fault or other_dimensions
    server.fail(f"/grid_data/download/{victim}", fault)
    matrix = fetch()
    assert_same(matrix, planted, without=victim)
    counts, entry = left_out(matrix, tmp_path, victim)
    assert counts[status] == 1
    file = "" if status == "missing" else f"energy/{victim}.zip"
    assert (entry["status"], entry["file"]) == (status, file)
    assert re.search(message, entry["reason"])
    # What is sound and wrong stays so: it is not asked for again.
    n_asked = len(server.requests)
    fetch()
    assert len(server.requests) == n_asked


def test_many_grids_of_other_dimensions_are_an_error(server, fetch, other_dimensions, tmp_path):
    server.fail("/grid_data/", other_dimensions)
    with pytest.raises(GridError, match=r"n_rejected=\d+ of \d+ grids .* should be at most 10%"):
        fetch()
    assert not (tmp_path / AGE / "manifest.csv").exists()


def test_an_empty_listing_is_an_error_and_not_kept(server, fetch, planted):
    empty = {"msg": [], "num_rows": 0, "total_rows": 0}
    server.fail("query.json", faults.with_answer(lambda a: {**a, **empty}), times=1)
    with pytest.raises(UnavailableError, match="listing of E11.5: n_rows=0 should be >= 1"):
        fetch()
    assert_same(fetch(), planted)


IN_FLOATS = faults.with_member(".mhd", lambda head: head.replace(b"MET_UINT", b"MET_FLOAT"))
ENERGIES = faults.with_members(
    lambda m: {n.replace("gridAnnotation", "energy"): content for n, content in m.items()}
)
ANNOTATION_STAYS = {
    "HTML": (faults.html, UnavailableError, "should be a complete zip archive"),
    "energies": (ENERGIES, GridError, "should contain a member named gridAnnotation.mhd"),
    "floats": (IN_FLOATS, GridError, "ElementType=MET_FLOAT"),
}


@pytest.mark.parametrize("name", ANNOTATION_STAYS)
def test_a_wrong_annotation_is_one_clear_error(server, fetch, planted, name):
    fault, error, message = ANNOTATION_STAYS[name]
    server.fail("gridAnnotation.zip", fault)
    with pytest.raises(error, match=message):
        fetch(tries=2)
    assert not server.asked("/grid_data/")
    # A wrong annotation is not kept: the next run asks again.
    server.work_well()
    assert_same(fetch(), planted)


def test_a_query_that_the_servers_cannot_read_is_asked_once(server, fetch):
    text = "no viable alternative, line 1, column 9"
    server.fail("query.json", faults.with_answer(lambda a: {"success": False, "msg": text}))
    with pytest.raises(EnvelopeError, match="success=False should be true: no viable alternative"):
        fetch()
    assert len(server.requests) == 1
