"""Listings, the choice among replicates, the manifest, the structure tree and its regions."""

import copy
import json

import numpy as np
import pytest
from hand_made import TREE, section_row, wrap

from sparsekm.atlas.listing import (
    EnvelopeError,
    OntologyError,
    assign_region,
    choose_replicates,
    map_regions,
    open_envelope,
    parse_listing,
    parse_ontology,
    read_rows,
    select_candidates,
)
from sparsekm.atlas.retrieval import read_manifest


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
    assert excluded == {
        "failed": 1,
        "other_age": 2,
        "other_plane": 1,
        "other_treatment": 1,
        "without_gene": 1,
        "several_genes": 1,
    }


def test_data_sets_are_sorted_by_symbol_and_a_gene_has_the_names_of_its_first():
    def gene(number, symbol):
        return [{"id": number, "acronym": symbol, "entrez_id": number}]

    rows = [
        section_row(1, genes=gene(12, "Ccc")),
        section_row(2, genes=gene(11, "Bbb")),
        section_row(3, genes=gene(12, "Aaa")),
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
    (tmp_path / "a.json").write_bytes(wrap(TREE))
    (tmp_path / "b.json").write_text(json.dumps(TREE))
    wrapped, bare = (parse_ontology(*read_rows(tmp_path / f"{name}.json")) for name in "ab")
    assert wrapped == bare
    assert len(wrapped) == 17


@pytest.mark.parametrize("bad", [15568.0, "15568", True, 0, 2**63])
def test_ids_that_are_not_positive_integers_are_refused(bad):
    with pytest.raises(EnvelopeError, match=r"tree.json: id=.* should be"):
        parse_ontology([{"id": bad}], "tree.json")


TWICE = copy.deepcopy(TREE)
TWICE[0]["children"].append({"id": 15568})


@pytest.mark.parametrize(
    ("rows", "message"),
    [([], "n_structures=0 should be >= 1"), (TWICE, "id=15568 should occur once")],
)
def test_a_tree_that_is_none_is_refused(rows, message):
    with pytest.raises(OntologyError, match=message):
        parse_ontology(rows)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"success": False, "msg": "Error in query: line 1"}, "Error in query"),
        ({"msg": []}, "success=None should be true"),
        ({"success": True, "msg": "text"}, "msg should be a list"),
        (7, "msg should be a list"),
    ],
)
def test_answers_that_report_failure_are_errors(document, message):
    with pytest.raises(EnvelopeError, match=message):
        open_envelope(document, "answer.json")


@pytest.mark.parametrize(
    ("structure_id", "level", "tissue", "acronym"),
    [
        (15568, 3, "brain", "one"),
        (900_000_001, 3, "brain", "one"),
        (126652053, 3, "brain", "two"),
        (15566, 3, "unassigned", None),
        (41, 3, "unassigned", None),
        (17653, 3, "spinal_cord", "SpC"),
        (126651570, 3, "ventricle", "v_one"),
        (126651558, 3, "ventricle", "ventricles"),
        (126652042, 3, "ventricle", "v_SpC"),
        (17736, 3, "tract", "tracts"),
        (15564, 3, "unassigned", None),
        (123, 3, "unassigned", None),
        (900_000_001, 1, "brain", "F"),
        (900_000_001, 9, "brain", "deep"),
        (15568, 9, "unassigned", None),
        (17653, 5, "spinal_cord", "SpA"),
        (17651, 5, "spinal_cord", "SpC"),
    ],
)
def test_each_structure_rolls_up_to_its_region_of_the_level(structure_id, level, tissue, acronym):
    found, region = assign_region(parse_ontology(TREE), structure_id, level)
    assert (found, region.acronym if region else None) == (tissue, acronym)


IDS = [0, 15568, 900_000_001, 126652053, 17651, 126651570, 17736, 15566, 123, 0, 0, 31]
ANNOTATION = np.array(IDS, dtype=np.uint32).reshape(2, 2, 3)


def test_every_voxel_is_kept_or_counted():
    mapped = map_regions(ANNOTATION, parse_ontology(TREE))
    assert mapped.index.tolist() == [1, 2, 3, 4, 11]
    assert mapped.table["acronym"].tolist() == ["one", "two", "SpC"]
    assert mapped.table["id"].tolist() == [15568, 15738, 17651]
    assert mapped.table["n_voxels"].tolist() == [3, 1, 1]
    assert mapped.region.tolist() == [0, 0, 1, 2, 0]
    assert mapped.counts == {
        "brain": 4,
        "spinal_cord": 1,
        "ventricle": 1,
        "tract": 1,
        "unassigned": 2,
        "unannotated": 3,
    }
    assert sum(mapped.counts.values()) == ANNOTATION.size


def test_tissue_chooses_the_rows():
    ontology = parse_ontology(TREE)
    assert map_regions(ANNOTATION, ontology, tissue=["brain"]).index.tolist() == [1, 2, 3, 11]
    mapped = map_regions(ANNOTATION, ontology, tissue=["ventricle"])
    assert mapped.table["acronym"].tolist() == ["v_one"]
    with pytest.raises(ValueError, match="has no voxel of tissue=brain"):
        map_regions(np.zeros((1, 1, 2), np.uint32), ontology, tissue=["brain"])
