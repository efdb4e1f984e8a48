"""Rows from pages, listings, the choice among replicates, manifests, and the structure tree."""

import copy
import json

import numpy as np
import pytest
from hand_made import TREE, section_row

from sparsekm.atlas.allen import collect_rows, page_url, section_data_sets_of
from sparsekm.atlas.listing import (
    EnvelopeError,
    OntologyError,
    assign_region,
    choose_replicates,
    map_regions,
    parse_listing,
    parse_ontology,
    read_rows,
    select_candidates,
    write_envelope,
)
from sparsekm.atlas.retrieval import read_manifest
from sparsekm.network import UnavailableError


def test_of_repeated_rows_the_first_counts():
    rows = [section_row(9), section_row(4), section_row(9, delegate=False)]
    assert parse_listing(rows)[["id", "delegate"]].values.tolist() == [[4, True], [9, True]]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"failed": "no"}, "id=1: failed='no' should be true, false or null"),
        ({"genes": [{"id": 3, "entrez_id": 5.0}]}, "entrez_id='5.0' should be an integer"),
        ({"genes": "Aaa"}, "genes='Aaa' should be a list of objects"),
        ({"specimen": []}, "specimen='.*' should be an object"),
    ],
)
def test_fields_of_the_wrong_type_are_refused(changes, message):
    with pytest.raises(EnvelopeError, match=message):
        parse_listing([{**section_row(1), **changes}], "listing.json")


def test_what_is_left_out_is_counted_by_reason():
    two = [{"id": 11, "acronym": "Aaa"}, {"id": 12, "acronym": "Bbb"}]
    rows = [
        section_row(1),
        section_row(2, failed=True),
        section_row(3, plane_of_section={"id": 1, "name": "coronal"}),
        section_row(4, reference_space_id=10),
        section_row(5, specimen={"donor": {"age": {"name": "P56"}}}),
        section_row(6, treatments=[{"name": "NISSL"}]),
        section_row(7, genes=[]),
        section_row(8, genes=two),
        section_row(9, specimen=None, treatments=None, reference_space_id=None),
    ]
    usable, excluded = select_candidates(parse_listing(rows), "E11.5")
    assert usable["id"].tolist() == [1, 9]
    once = ("failed", "other_plane", "other_treatment", "without_gene", "several_genes")
    assert excluded == {"other_age": 2, **dict.fromkeys(once, 1)}


def test_data_sets_are_sorted_by_symbol_and_a_gene_has_the_names_of_its_first():
    genes = [(12, "Ccc"), (11, "Bbb"), (12, "Aaa")]
    rows = [
        section_row(at, genes=[{"id": number, "acronym": symbol, "entrez_id": number}])
        for at, (number, symbol) in enumerate(genes, start=1)
    ]
    usable, _ = select_candidates(parse_listing(rows), "E11.5")
    names = [[2, 11, "Bbb"], [1, 12, "Ccc"], [3, 12, "Ccc"]]
    assert usable[["id", "gene_id", "symbol"]].values.tolist() == names


@pytest.mark.parametrize(
    ("rows", "rule", "chosen"),
    [
        ([(1, False, "2009-01-01"), (2, True, "2008-01-01")], "delegate", [2]),
        ([(1, False, "2009-01-01"), (2, False, "2010-01-01")], "delegate", [2]),
        ([(1, True, "2009-01-01"), (2, True, "2010-01-01"), (3, False, "2011-01-01")],
         "delegate", [2]),
        ([(1, True, "2009-01-01"), (2, False, "2010-01-01")], "latest", [2]),
        ([(5, False, None), (4, False, None)], "latest", [4]),
        ([(5, False, None), (4, True, None)], "mean", [4, 5]),
    ],
)  # fmt: skip
def test_the_rule_decides_among_replicates(rows, rule, chosen):
    for given in (rows, rows[::-1]):
        items = parse_listing([section_row(i, delegate=d, qc_date=q) for i, d, q in given])
        assert choose_replicates(items, rule)["id"].tolist() == chosen


def test_a_manifest_that_is_not_one_is_refused(phantom_files, tmp_path):
    path = tmp_path / "manifest.csv"
    path.write_text("role,file\nenergy,a.zip\n")
    with pytest.raises(ValueError, match=r"columns=\['role', 'file'\] should be \['role', "):
        read_manifest(path)
    text = (phantom_files / "E11.5" / "manifest.csv").read_text()
    path.write_text(text.replace(",ok,", ",perhaps,"))
    with pytest.raises(ValueError, match="status='perhaps' should be one of ok"):
        read_manifest(path)


def test_envelope_and_bare_list_give_the_same_tree(tmp_path):
    (tmp_path / "a.json").write_bytes(write_envelope(TREE))
    (tmp_path / "b.json").write_text(json.dumps(TREE))
    wrapped, bare = (parse_ontology(*read_rows(tmp_path / f"{name}.json")) for name in "ab")
    assert wrapped == bare
    assert len(wrapped) == 17


@pytest.mark.parametrize("bad", [15568.0, "15568", True, 0, 2**63])
def test_ids_that_are_not_positive_integers_are_refused(bad):
    with pytest.raises(EnvelopeError, match=r"tree.json: id=.* should be"):
        parse_ontology([{"id": bad}], "tree.json")


def test_a_tree_that_is_none_is_refused():
    twice = copy.deepcopy(TREE)
    twice[0]["children"].append({"id": 15568})
    for rows, message in ([], "n_structures=0 should be >= 1"), (twice, "id=15568 should occur on"):
        with pytest.raises(OntologyError, match=message):
            parse_ontology(rows)


@pytest.mark.parametrize(
    ("structure_id", "level", "tissue", "acronym"),
    [
        (17653, 3, "spinal_cord", "SpC"),
        (126651558, 3, "ventricle", "ventricles"),
        (126652042, 3, "ventricle", "v_SpC"),
        (900_000_001, 1, "brain", "F"),
        (900_000_001, 9, "brain", "deep"),
        (17653, 5, "spinal_cord", "SpA"),
        (17651, 5, "spinal_cord", "SpC"),
    ],
)
def test_a_structure_rolls_up_to_its_region_of_any_level(structure_id, level, tissue, acronym):
    found, region = assign_region(parse_ontology(TREE), structure_id, level)
    assert (found, region.acronym) == (tissue, acronym)


IDS = [0, 15568, 900_000_001, 126652053, 17651, 126651570, 17736, 15566, 123, 0, 0, 31]
ANNOTATION = np.array(IDS, dtype=np.uint32).reshape(2, 2, 3)


def test_every_voxel_is_kept_or_counted():
    mapped = map_regions(ANNOTATION, parse_ontology(TREE))
    assert mapped.index.tolist() == [1, 2, 3, 4, 11]
    assert mapped.table["acronym"].tolist() == ["one", "two", "SpC"]
    assert mapped.table["id"].tolist() == [15568, 15738, 17651]
    assert mapped.table["n_voxels"].tolist() == [3, 1, 1]
    assert mapped.region.tolist() == [0, 0, 1, 2, 0]
    once = dict.fromkeys(("spinal_cord", "ventricle", "tract"), 1)
    assert mapped.counts == {"brain": 4, **once, "unassigned": 2, "unannotated": 3}
    assert sum(mapped.counts.values()) == ANNOTATION.size
    # The tissue chooses the rows.
    ontology = parse_ontology(TREE)
    assert map_regions(ANNOTATION, ontology, tissue=["brain"]).index.tolist() == [1, 2, 3, 11]
    mapped = map_regions(ANNOTATION, ontology, tissue=["ventricle"])
    assert mapped.table["acronym"].tolist() == ["v_one"]
    with pytest.raises(ValueError, match="has no voxel of tissue=brain"):
        map_regions(np.zeros((1, 1, 2), np.uint32), ontology, tissue=["brain"])


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


@pytest.mark.parametrize("n", [0, 50, 101])
def test_every_row_comes_once_at_any_number_of_pages(n):
    pages = Pages(range(1, n + 1))
    assert collected(pages) == list(range(1, n + 1))
    assert len(pages.asked) == max(1, -(-n // 50))


REPEATED = [i for i in range(1, 91) for _ in range(1 + (i % 4 == 0))]


@pytest.mark.parametrize("length", [8, 50])
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
        (
            shift_back(1000),
            "start_row=50 begins with id=1, but it should exceed the previous id=50",
        ),
        (shift_back(7), "begins with id=44, but it should exceed the previous id=50"),
        (send_nothing_more, "start_row=50 is empty; it should have rows, because total_rows=120"),
        (grow, "start_row=50 announces total_rows=122, but the previous page announced 121"),
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
        ({"success": None, "msg": []}, "success=None should be true"),
        ({"msg": 7}, "msg should be a list of objects"),
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
