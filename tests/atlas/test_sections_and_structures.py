"""Listings, the choice among replicates, the manifest, the structure tree and its regions."""

import copy
import json

import numpy as np
import pytest

from sparsekm.atlas.listing import (
    EnvelopeError,
    choose_replicates,
    open_envelope,
    parse_listing,
    read_rows,
    select_candidates,
)
from sparsekm.atlas.ontology import (
    OntologyError,
    assign_region,
    map_regions,
    parse_ontology,
)
from sparsekm.atlas.retrieval import ManifestEntry, read_manifest, write_manifest


def test_repeated_rows_count_once(section_row):
    assert [s.id for s in parse_listing([section_row(9), section_row(4), section_row(9)])] == [4, 9]


def test_a_row_without_genes_takes_those_of_its_probes(section_row):
    probe = {"id": 2, "gene": {"id": 12, "acronym": "Bbb", "entrez_id": 6}}
    (item,) = parse_listing([section_row(1, genes=[], probes=[probe, probe])])
    assert [gene.symbol for gene in item.genes] == ["Bbb"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"id": 1.0}, "id=1.0 should be an integer, not float"),
        ({"failed": "no"}, "failed='no' should be true, false or null"),
        ({"qc_date": "yesterday"}, "qc_date='yesterday' should be an ISO 8601 date"),
        ({"genes": [{"id": 3, "entrez_id": 5.0}]}, "entrez_id=5.0 should be an integer"),
        ({"genes": "Aaa"}, "genes should be a list of objects"),
    ],
)
def test_fields_of_the_wrong_type_are_refused(section_row, changes, message):
    with pytest.raises(EnvelopeError, match=message):
        parse_listing([{**section_row(1), **changes}], "listing.json")


def test_what_is_left_out_is_counted_by_reason(section_row):
    coronal = {"id": 1, "name": "coronal"}
    two = [{"id": 11, "acronym": "Aaa"}, {"id": 12, "acronym": "Bbb"}]
    rows = [
        section_row(1),
        section_row(2, failed=True),
        section_row(3, plane_of_section=coronal),
        section_row(4, reference_space_id=10),
        section_row(5, specimen={"donor": {"age": {"name": "P56"}}}),
        section_row(6, treatments=[{"name": "NISSL"}]),
        section_row(7, genes=[]),
        section_row(8, genes=two),
        section_row(9, specimen=None, treatments=None, reference_space_id=None),
    ]
    candidates, excluded = select_candidates(parse_listing(rows), "E11.5")
    assert [[s.id for s in found] for found in candidates.values()] == [[1, 9]]
    assert excluded == {
        "failed": 1,
        "other_age": 2,
        "other_plane": 1,
        "other_treatment": 1,
        "without_gene": 1,
        "several_genes": 1,
    }


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
def test_the_rule_decides_among_replicates(section_row, rows, rule, chosen):
    items = parse_listing([section_row(i, delegate=d, qc_date=q) for i, d, q in rows])
    assert [item.id for item in choose_replicates(items, rule)] == chosen
    assert [item.id for item in choose_replicates(items[::-1], rule)] == chosen


def test_unknown_rules_are_refused(section_row):
    with pytest.raises(ValueError, match="replicates='best' should be one of delegate, latest"):
        choose_replicates(parse_listing([section_row(1)]), "best")
    with pytest.raises(ValueError, match="n_candidates=0"):
        choose_replicates([], "mean")


def test_a_manifest_reads_back_as_written(tmp_path):
    entries = [
        ManifestEntry("listing", "listing.json", "phantom:x", 12, "ab", "ok"),
        ManifestEntry("energy", "energy/7.zip", "u", 3, "cd", "ok", 990_000_001, 2**40 + 1, "NaN"),
        ManifestEntry("energy", "", "u", 0, "", "missing", 8, 9, "Phm1*"),
    ]
    write_manifest(tmp_path / "manifest.csv", entries)
    assert read_manifest(tmp_path / "manifest.csv") == entries


def test_a_manifest_that_is_not_one_is_refused(tmp_path):
    path = tmp_path / "manifest.csv"
    path.write_text("role,file\nenergy,a.zip\n")
    with pytest.raises(ValueError, match=r"columns=\['role', 'file'\] should be \['role', "):
        read_manifest(path)
    write_manifest(path, [ManifestEntry("listing", "a", "u", 1, "ab", "perhaps")])
    with pytest.raises(ValueError, match="status='perhaps' should be one of ok"):
        read_manifest(path)


def test_envelope_and_bare_list_give_the_same_tree(tree, wrap, tmp_path):
    (tmp_path / "a.json").write_bytes(wrap(tree))
    (tmp_path / "b.json").write_text(json.dumps(tree))
    files = (tmp_path / "a.json", tmp_path / "b.json")
    wrapped, bare = (parse_ontology(*read_rows(file)) for file in files)
    assert wrapped == bare
    assert len(wrapped) == 17


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
