"""Rows from pages: joins that repeat, pages that lie, queries and their language."""

import pytest

from sparsekm.atlas.allen import collect_rows, page_url, section_data_sets_of
from sparsekm.atlas.listing import EnvelopeError
from sparsekm.network import UnavailableError


class Pages:
    """A server of numbered rows; `change` may falsify each page before it is sent."""

    def __init__(self, ids, change=lambda pages, envelope: envelope, most=25_000):
        self.ids, self.change, self.most = list(ids), change, most
        self.asked = []

    def __call__(self, start, num_rows):
        self.asked.append((start, num_rows))
        rows = [{"id": i} for i in self.ids[start : start + min(num_rows, self.most)]]
        counts = {"start_row": start, "num_rows": len(rows), "total_rows": len(self.ids)}
        return self.change(self, {"success": True, **counts, "msg": rows})


def collected(pages, num_rows=50):
    return [row["id"] for row in collect_rows(pages, num_rows=num_rows)]


@pytest.mark.parametrize("n", [0, 49, 50, 101])
def test_every_row_comes_once_at_any_number_of_pages(n):
    pages = Pages(range(1, n + 1))
    assert collected(pages) == list(range(1, n + 1))
    assert len(pages.asked) == max(1, -(-n // 50))


def test_a_server_that_sends_fewer_rows_than_asked_for_is_followed():
    assert collected(Pages(range(1, 121), most=25)) == list(range(1, 121))


REPEATED = [i for i in range(1, 91) for _ in range(1 + (i % 4 == 0))]


def test_rows_that_joins_repeat_count_once_when_two_passes_agree():
    pages = Pages(REPEATED)
    assert collected(pages) == list(range(1, 91))
    assert len({length for _, length in pages.asked}) == 2


def test_rows_that_a_page_makes_one_object_are_followed():
    def collapse(pages, envelope):
        rows = {row["id"]: row for row in envelope["msg"]}
        return {**envelope, "msg": list(rows.values())}

    assert collected(Pages(REPEATED, collapse), num_rows=8) == list(range(1, 91))


def shift_back(by):
    def change(pages, envelope):
        begin = max(0, envelope["start_row"] - by)
        rows = pages.ids[begin : begin + envelope["num_rows"]]
        return {**envelope, "msg": [{"id": i} for i in rows]}

    return change


REPEAT_THE_FIRST_PAGE = shift_back(1000)


def send_fifty_whatever_is_asked(pages, envelope):
    return {**envelope, "num_rows": 50, "msg": [{"id": i} for i in pages.ids[:50]]}


@pytest.mark.parametrize(
    "change", [REPEAT_THE_FIRST_PAGE, shift_back(7), send_fifty_whatever_is_asked]
)
def test_pages_that_always_repeat_or_shift_are_an_error(change):
    with pytest.raises(UnavailableError, match=r"no two of 4 passes over the pages agree"):
        collected(Pages(range(1, 121), change))


@pytest.mark.parametrize("change", [REPEAT_THE_FIRST_PAGE, shift_back(1)])
def test_pages_that_repeat_or_shift_for_a_while_lose_no_row(change):
    def sometimes(pages, envelope):
        return change(pages, envelope) if len(pages.asked) <= 3 else envelope

    assert collected(Pages(range(1, 121), sometimes)) == list(range(1, 121))


def test_a_total_that_changes_between_pages_starts_anew():
    def grow(pages, envelope):
        if len(pages.asked) == 2:
            pages.ids.append(121)
            return {**envelope, "total_rows": 121}
        return envelope

    assert collected(Pages(range(1, 121), grow)) == list(range(1, 122))


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
    url = page_url("https://host", section_data_sets_of("E11.5"), 2000, 1000)
    assert url == (
        "https://host/api/v2/data/query.json?criteria=model::SectionDataSet,rma::criteria,"
        "products%5Babbreviation$eq%27DevMouse%27%5D,"
        "specimen%28donor%28age%5Bname$eq%27E11.5%27%5D%29%29,"
        "rma::include,genes,probes%28gene%29,plane_of_section,reference_space,treatments,"
        "specimen%28donor%28age%29%29,"
        "rma::options%5Border$eq%27data_sets.id%27%5D%5Bstart_row$eq2000%5D%5Bnum_rows$eq1000%5D"
    )
