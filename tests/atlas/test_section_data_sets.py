"""Listings, the choice among replicates, and the manifest."""

import pytest

from sparsekm.atlas.envelope import EnvelopeError
from sparsekm.atlas.listing import choose_replicates, parse_listing, select_candidates
from sparsekm.atlas.manifest import ManifestEntry, read_manifest, write_manifest


def test_repeated_rows_count_once(section_row):
    assert [s.id for s in parse_listing([section_row(9), section_row(4), section_row(9)])] == [4, 9]


def test_null_entrez_and_empty_probes_are_kept(section_row):
    gene = {"id": 11, "acronym": "Aaa*", "name": None, "entrez_id": None}
    (item,) = parse_listing([section_row(1, genes=[gene], probes=[])])
    assert item.genes[0].entrez_id is None
    assert item.genes[0].symbol == "Aaa*"


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
