"""The structure tree and the roll-up to regions."""

import copy
import json

import numpy as np
import pytest

from sparsekm.atlas.envelope import EnvelopeError, open_envelope, parse_json
from sparsekm.atlas.ontology import OntologyError, parse_ontology, read_ontology
from sparsekm.atlas.regions import assign_region, map_regions


def test_envelope_and_bare_list_give_the_same_tree(tree, wrap, tmp_path):
    (tmp_path / "a.json").write_bytes(wrap(tree))
    (tmp_path / "b.json").write_text(json.dumps(tree))
    wrapped, bare = read_ontology(tmp_path / "a.json"), read_ontology(tmp_path / "b.json")
    assert list(wrapped) == list(bare)
    assert len(wrapped) == 17


def test_roots_whose_parent_is_not_in_the_file_are_roots(tree):
    plate = {**tree[0]["children"][0], "parent_structure_id": 15564}
    assert parse_ontology([plate])[15565].parent_id is None


def test_flat_rows_are_linked_by_parent_structure_id():
    rows = [
        {"id": 15568, "acronym": "one", "st_level": 3, "parent_structure_id": 15565},
        {"id": 15565, "acronym": "NP", "st_level": 0, "parent_structure_id": None},
    ]
    assert [node.acronym for node in parse_ontology(rows).path(15568)] == ["NP", "one"]


@pytest.mark.parametrize("bad", [15568.0, "15568", True, 0, 2**63])
def test_ids_that_are_not_positive_integers_are_refused(bad):
    with pytest.raises(EnvelopeError, match=r"tree.json: id=.* should be"):
        parse_ontology([{"id": bad}], "tree.json")


def test_ids_written_as_floats_are_refused_even_when_whole():
    document = parse_json(b'[{"id": 1.26651558e8}]', "tree.json")
    with pytest.raises(EnvelopeError, match=r"id=126651558.0 should be an integer, not float"):
        parse_ontology(document)


def test_duplicate_ids_are_refused(tree):
    twice = copy.deepcopy(tree)
    twice[0]["children"].append({"id": 15568})
    with pytest.raises(OntologyError, match="id=15568 should occur once"):
        parse_ontology(twice)


def test_cycles_are_refused():
    rows = [{"id": 1, "parent_structure_id": 2}, {"id": 2, "parent_structure_id": 1}]
    with pytest.raises(OntologyError, match="should not be its own ancestor"):
        parse_ontology(rows)


def test_a_parent_that_contradicts_the_nesting_is_refused():
    rows = [{"id": 1, "children": [{"id": 2, "parent_structure_id": 7}]}]
    with pytest.raises(OntologyError, match="parent_structure_id=7 of id=2 should be 1"):
        parse_ontology(rows)


def test_depth_is_capped():
    node = {"id": 1}
    for number in range(2, 150):
        node = {"id": number, "children": [node]}
    with pytest.raises(OntologyError, match=r"depth=101 .* should be <= 100"):
        parse_ontology([node])
    with pytest.raises(EnvelopeError, match="nested too deeply"):
        parse_json("[" * 200_000, "tree.json")


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


def test_an_empty_page_may_be_an_empty_object():
    assert open_envelope({"success": True, "msg": {}}, "answer.json") == []


def test_html_instead_of_json_is_named():
    with pytest.raises(EnvelopeError, match=r"answer.json: should be JSON, begins b'<html>"):
        parse_json(b"<html>busy</html>", "answer.json")


@pytest.mark.parametrize(
    ("structure_id", "tissue", "acronym"),
    [
        (15568, "brain", "one"),
        (900_000_001, "brain", "one"),
        (126652053, "brain", "two"),
        (15566, "unassigned", None),
        (41, "unassigned", None),
        (17653, "spinal_cord", "SpC"),
        (126651570, "ventricle", "v_one"),
        (126651558, "ventricle", "ventricles"),
        (17736, "tract", "tracts"),
        (15564, "unassigned", None),
        (123, "unassigned", None),
    ],
)
def test_each_structure_rolls_up_to_its_level_3_region(tree, structure_id, tissue, acronym):
    region = assign_region(parse_ontology(tree), structure_id)
    assert region.tissue == tissue
    assert (region.structure.acronym if region.structure else None) == acronym


def test_the_level_is_a_parameter(tree):
    ontology = parse_ontology(tree)
    assert assign_region(ontology, 900_000_001, 1).structure.acronym == "F"
    assert assign_region(ontology, 900_000_001, 9).structure.acronym == "deep"
    assert assign_region(ontology, 15568, 9).tissue == "unassigned"
    assert assign_region(ontology, 17653, 5).structure.acronym == "SpA"
    assert assign_region(ontology, 17651, 5).structure.acronym == "SpC"


@pytest.fixture
def annotation():
    ids = [0, 15568, 900_000_001, 126652053, 17651, 126651570, 17736, 15566, 123, 0, 0, 31]
    return np.array(ids, dtype=np.uint32).reshape(2, 2, 3)


def test_every_voxel_is_kept_or_counted(tree, annotation):
    mapped = map_regions(annotation, parse_ontology(tree))
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
        "unknown_ids": 1,
    }
    assert sum(mapped.counts.values()) - mapped.counts["unknown_ids"] == annotation.size


def test_tissue_chooses_the_rows(tree, annotation):
    ontology = parse_ontology(tree)
    assert map_regions(annotation, ontology, tissue=["brain"]).index.tolist() == [1, 2, 3, 11]
    mapped = map_regions(annotation, ontology, tissue=["ventricle"])
    assert mapped.table["acronym"].tolist() == ["v_one"]
    with pytest.raises(ValueError, match="tissue='skull' should be one of brain"):
        map_regions(annotation, ontology, tissue=["skull"])
    with pytest.raises(ValueError, match="should name at least one"):
        map_regions(annotation, ontology, tissue=[])
    with pytest.raises(ValueError, match="has no voxel of tissue=brain"):
        map_regions(np.zeros((1, 1, 2), np.uint32), ontology, tissue=["brain"])


def test_annotations_read_as_floats_are_refused(tree, annotation):
    with pytest.raises(TypeError, match="dtype=float32 should be an integer type"):
        map_regions(annotation.astype(np.float32), parse_ontology(tree))
