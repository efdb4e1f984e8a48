"""Whatever goes wrong with the servers, no wrong byte reaches a matrix."""

import re
import tempfile
from pathlib import Path

import numpy as np
import pytest
import server_faults as faults
from matrix_comparison import assert_same

from sparsekm.atlas.grid import GridError
from sparsekm.atlas.listing import EnvelopeError
from sparsekm.atlas.retrieval import read_manifest
from sparsekm.network import NotFoundError, UnavailableError

AGE = "E11.5"


@pytest.fixture
def victim(few_sections, planted):
    """A section data set that speaks for its gene, which has no other."""
    alone = ~planted.var["section_data_set_ids"].duplicated()
    for gene, ids in planted.var["section_data_set_ids"][alone].items():
        sections = [s for s in few_sections.sections(AGE).values() if s.gene.symbol == gene]
        if len(sections) == 1:
            return int(ids)
    raise AssertionError("there should be a gene with one section data set")


def entry_of(tmp_path, section_id):
    entries = read_manifest(tmp_path / AGE / "manifest.csv")
    return next(e for e in entries if e.section_data_set_id == section_id)


def test_without_faults_the_matrix_is_the_phantoms_bit_for_bit(fetch, planted, server):
    assert_same(fetch(), planted)
    # Ids of the phantom lie beyond 2**24, where float32 would merge neighbours.
    assert planted.var["gene_id"].min() > 2**24
    assert {r.agent.split("/")[0] for r in server.requests} == {"sparsekm"}
    assert max(r.others for r in server.requests) == 0


PASSING = {
    "500": faults.status(500),
    "503 with Retry-After": faults.status(503, "7"),
    "HTML with 200": faults.html,
    "wrong CRC": faults.wrong_crc,
    "cut archive with the length it has": faults.with_body(lambda body: body[:-100]),
}


@pytest.mark.parametrize("name", PASSING)
def test_a_fault_that_passes_costs_a_pause(server, fetch, planted, victim, slept, name):
    server.fail(f"/grid_data/download/{victim}", PASSING[name], times=2)
    assert_same(fetch(), planted)
    assert len(server.asked(f"download/{victim}")) == 3
    assert slept == ([7, 7] if "Retry-After" in name else [1, 2])


@pytest.mark.parametrize("name", ["500", "wrong CRC"])
def test_a_fault_that_stays_is_one_clear_error(server, fetch, victim, tmp_path, name):
    server.fail(f"/grid_data/download/{victim}", PASSING[name])
    with pytest.raises(UnavailableError, match=rf"n_not_fetched=1 of \d+ .*{victim}\?include"):
        fetch(tries=3)
    assert len(server.asked(f"download/{victim}")) == 3
    assert not (tmp_path / AGE / "manifest.csv").exists()


def test_a_run_may_do_without_a_grid_that_cannot_be_fetched(
    server, fetch, planted, victim, tmp_path
):
    server.fail(f"/grid_data/download/{victim}", faults.status(500))
    matrix = fetch(tries=2, max_not_fetched=1)
    assert_same(matrix, planted, without=victim)
    assert matrix.uns["provenance"]["counts"]["section_data_sets"]["not_fetched"] == 1
    assert matrix.uns["provenance"]["counts"]["genes"]["without_grid"] == 1
    entry = entry_of(tmp_path, victim)
    assert entry.status == "not_fetched"
    assert "HTTP status=500" in entry.reason
    server.work_well()
    assert_same(fetch(), planted)
    assert len(server.asked("/grid_data/")) == 1


def test_a_server_that_is_down_is_left_alone_after_a_few_grids(server, fetch):
    server.fail("/grid_data/", faults.status(500))
    with pytest.raises(UnavailableError, match="5 consecutive downloads failed, after 0"):
        fetch(tries=2)
    assert len(server.asked("/grid_data/")) < 2 * 9


HARMLESS = {
    "compressed on the way, unasked": faults.compressed,
    "an unknown member that is a bomb": faults.with_members(
        lambda members: {**members, "data_set.xml": bytes(100 * 1024 * 1024)}
    ),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_an_unusual_archive_is_read_all_the_same(server, fetch, planted, victim, tmp_path, name):
    places = [Path(tempfile.gettempdir()), tmp_path.parent, tmp_path]
    before = [set(place.iterdir()) for place in places]
    server.fail(f"/grid_data/download/{victim}", HARMLESS[name])
    assert_same(fetch(), planted)
    after = [set(place.iterdir()) - old for place, old in zip(places, before, strict=True)]
    assert not {path.name for path in after[0] | after[1]} & {"energy.raw", "energy.mhd"}
    assert {path.name for path in after[2]} == {AGE}


# What else a grid can get wrong, test_reading_grids.py tells.
REJECTED = {
    "another age's dimensions": (None, "should equal the annotation's"),
    "all -1": (
        faults.with_raw(lambda raw: np.full(len(raw) // 4, -1, "<f4").tobytes()),
        "n_valid=0 of",
    ),
    "zip bomb": (faults.bomb, "energy.raw has 209715200 bytes"),
}


@pytest.mark.parametrize("name", REJECTED)
def test_a_grid_that_is_none_of_its_age_is_left_out_and_recorded(
    server, fetch, planted, victim, few_sections, tmp_path, name
):
    fault, message = REJECTED[name]
    if fault is None:
        other = next(iter(few_sections.sections("P14")))
        body = few_sections.energy("P14", other)
        fault = faults.with_body(lambda _: body)
    server.fail(f"/grid_data/download/{victim}", fault)
    matrix = fetch()
    assert_same(matrix, planted, without=victim)
    assert matrix.uns["provenance"]["counts"]["section_data_sets"]["rejected"] == 1
    entry = entry_of(tmp_path, victim)
    assert (entry.status, entry.file) == ("rejected", f"energy/{victim}.zip")
    assert re.search(message, entry.reason)
    # What is sound and wrong stays so: it is not asked for again.
    n_asked = len(server.requests)
    fetch()
    assert len(server.requests) == n_asked


def test_an_archive_without_a_grid_is_recorded_and_not_asked_for_again(
    server, fetch, planted, victim, tmp_path
):
    server.fail(f"/grid_data/download/{victim}", faults.without_raw)
    matrix = fetch()
    assert_same(matrix, planted, without=victim)
    assert matrix.uns["provenance"]["counts"]["section_data_sets"]["no_grid"] == 1
    assert entry_of(tmp_path, victim).status == "no_grid"
    fetch()
    assert len(server.asked(f"download/{victim}")) == 1


def test_many_grids_of_other_dimensions_are_no_matter_of_single_grids(
    server, fetch, few_sections, tmp_path
):
    body = few_sections.energy("P14", next(iter(few_sections.sections("P14"))))
    server.fail("/grid_data/", faults.with_body(lambda _: body))
    with pytest.raises(GridError, match=r"n_rejected=\d+ of \d+ grids should be at most 10%"):
        fetch()
    assert not (tmp_path / AGE / "manifest.csv").exists()


def test_an_empty_listing_is_an_error_and_not_kept(server, fetch, planted):
    empty = {"msg": [], "num_rows": 0, "total_rows": 0}
    server.fail("query.json", faults.with_answer(lambda a: {**a, **empty}), times=1)
    with pytest.raises(UnavailableError, match="listing of E11.5: n_rows=0 should be >= 1"):
        fetch()
    assert_same(fetch(), planted)


ANNOTATION_STAYS = {
    "404": (faults.status(404), NotFoundError, "HTTP status=404"),
    "HTML": (faults.html, UnavailableError, "should be a complete zip archive"),
    "energies": (
        faults.with_members(lambda m: {n.replace("gridAnnotation", "energy"): c
                                       for n, c in m.items()}),
        GridError,
        "should contain a member named gridAnnotation.mhd",
    ),
    "floats": (
        faults.with_header(lambda header: header.replace(b"MET_UINT", b"MET_FLOAT")),
        GridError,
        "ElementType=MET_FLOAT",
    ),
}  # fmt: skip


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
