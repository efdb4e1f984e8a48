"""Whatever goes wrong with listings and annotations ends well, or with one clear error."""

import pytest
import server_faults as faults
from matrix_comparison import assert_same

from sparsekm.atlas.envelope import EnvelopeError
from sparsekm.atlas.grid import GridError
from sparsekm.network import NotFoundError, RefusedError, UnavailableError


def test_a_refusal_is_final(server, fetch):
    server.fail("query.json", faults.status(403))
    with pytest.raises(RefusedError, match="HTTP status=403 should be 200"):
        fetch()
    assert len(server.requests) == 1


LISTING_PASSES = {
    "a hiccup": faults.with_answer(
        lambda a: {"success": False, "msg": "Informatics service request failed"}
    ),
    "half an answer": faults.with_body(lambda body: body[: len(body) // 2]),
    "an empty object": faults.with_answer(lambda a: {**a, "msg": {}, "num_rows": 0}),
    "another total": faults.with_answer(lambda a: {**a, "total_rows": a["total_rows"] + 3}),
}


@pytest.mark.parametrize("name", LISTING_PASSES)
def test_a_listing_survives_what_passes(server, fetch, planted, name):
    server.fail("query.json", LISTING_PASSES[name], times=1)
    assert_same(fetch(page_rows=4), planted)


def test_a_query_that_the_servers_cannot_read_is_asked_once(server, fetch):
    text = "no viable alternative, line 1, column 9"
    server.fail("query.json", faults.with_answer(lambda a: {"success": False, "msg": text}))
    with pytest.raises(EnvelopeError, match="success=False should be true: no viable alternative"):
        fetch()
    assert len(server.requests) == 1


def test_an_empty_listing_is_an_error_and_not_kept(server, fetch, planted):
    empty = {"msg": [], "num_rows": 0, "total_rows": 0}
    server.fail("query.json", faults.with_answer(lambda a: {**a, **empty}), times=1)
    with pytest.raises(UnavailableError, match="listing of E11.5: n_rows=0 should be >= 1"):
        fetch()
    assert_same(fetch(), planted)


def test_a_listing_without_usable_data_sets_is_an_error(server, fetch):
    def fail_all(answer):
        return {**answer, "msg": [{**row, "failed": True} for row in answer["msg"]]}

    server.fail("query.json", faults.with_answer(fail_all))
    with pytest.raises(EnvelopeError, match=r"n_section_data_sets=0 that are sagittal .*failed: "):
        fetch()


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
