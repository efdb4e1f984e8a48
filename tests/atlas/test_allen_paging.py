"""Rows from pages: joins that repeat, pages that lie, queries and their language."""

import pytest

from sparsekm.atlas.allen import collect_rows, page_url, section_data_sets_of
from sparsekm.atlas.listing import EnvelopeError
from sparsekm.network import UnavailableError


class Pages:
    """A server of numbered rows; `change` may falsify each page before it is sent."""

    def __init__(self, ids, change=lambda pages, envelope: envelope, length=50):
        self.ids, self.change, self.length = list(ids), change, length
        self.asked = []

    def __call__(self, start):
        self.asked.append(start)
        rows = [{"id": i} for i in self.ids[start : start + self.length]]
        counts = {"start_row": start, "num_rows": len(rows), "total_rows": len(self.ids)}
        return self.change(self, {"success": True, **counts, "msg": rows})


def collected(pages):
    return [row["id"] for row in collect_rows(pages)]


@pytest.mark.parametrize("n", [0, 49, 50, 51, 101])
def test_every_row_comes_once_at_any_number_of_pages(n):
    pages = Pages(range(1, n + 1))
    assert collected(pages) == list(range(1, n + 1))
    assert len(pages.asked) == max(1, -(-n // 50))


REPEATED = [i for i in range(1, 91) for _ in range(1 + (i % 4 == 0))]


@pytest.mark.parametrize("length", [8, 45, 50, 111])
@pytest.mark.parametrize("is_collapsed", [False, True])
def test_rows_that_joins_repeat_count_once_also_where_a_page_makes_them_one(length, is_collapsed):
    def collapse(pages, envelope):
        rows = {row["id"]: row for row in envelope["msg"]} if is_collapsed else None
        return {**envelope, "msg": list(rows.values())} if rows else envelope

    assert collected(Pages(REPEATED, collapse, length)) == list(range(1, 91))


def test_of_a_row_that_comes_twice_the_first_is_taken():
    def number(pages, envelope):
        rows = [{**row, "place": place} for place, row in enumerate(envelope["msg"])]
        return {**envelope, "msg": rows}

    rows = collect_rows(Pages([1, 1, 2, 2, 3], number, length=3))
    assert [(row["id"], row["place"]) for row in rows] == [(1, 0), (2, 2), (3, 1)]


def shift_back(by):
    def change(pages, envelope):
        begin = max(0, envelope["start_row"] - by)
        rows = pages.ids[begin : begin + envelope["num_rows"]]
        return {**envelope, "msg": [{"id": i} for i in rows]}

    return change


def send_nothing_more(pages, envelope):
    return {**envelope, "msg": [], "num_rows": 0} if envelope["start_row"] else envelope


def grow(pages, envelope):
    return {**envelope, "total_rows": 120 + len(pages.asked)}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (shift_back(1000), "start_row=50 begins with id=1, the one before ends with 50"),
        (shift_back(7), "start_row=50 begins with id=44, the one before ends with 50"),
        (send_nothing_more, "start_row=50 should have rows, total_rows=120"),
        (grow, "start_row=50 announces total_rows=122, the one before 121"),
    ],
)
def test_pages_that_do_not_fit_together_are_an_error(change, message):
    with pytest.raises(UnavailableError, match=message):
        collected(Pages(range(1, 121), change))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"total_rows": None}, r"total_rows=None should be an integer >= 0"),
        ({"num_rows": 2.5}, r"num_rows='2.5' should be an integer >= 0"),
        ({"msg": [{"id": 3.0}]}, r"id='3.0' should be an integer > 0"),
        ({"success": False, "msg": "bad"}, "success=False should be true: bad"),
    ],
)
def test_pages_of_the_wrong_form_are_refused(changes, message):
    with pytest.raises(EnvelopeError, match=message):
        collected(Pages(range(1, 9), lambda pages, envelope: {**envelope, **changes}))


def test_a_listing_is_asked_for_by_product_and_age_with_an_order():
    url = page_url("https://host", section_data_sets_of("E11.5"), 2000)
    assert url == (
        "https://host/api/v2/data/query.json?criteria=model::SectionDataSet,rma::criteria,"
        "products%5Babbreviation$eq%27DevMouse%27%5D,"
        "specimen%28donor%28age%5Bname$eq%27E11.5%27%5D%29%29,"
        "rma::include,genes,plane_of_section,treatments,specimen%28donor%28age%29%29,"
        "rma::options%5Border$eq%27data_sets.id%27%5D%5Bstart_row$eq2000%5D%5Bnum_rows$eq1000%5D"
    )
