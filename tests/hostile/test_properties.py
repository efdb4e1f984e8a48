"""Text made of any pieces: what the small formats accept is valid, all else names its place."""

import json

import pytest
import yaml
from configuration_reader import check_configuration, read_configuration
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mutations import HOSTILE_NUMBERS, HOSTILE_WORDS
from validity import (
    check_gene_sets,
    check_header,
    check_listing,
    check_matrix,
    check_ontology,
    is_text,
)

from sparsekm.annotation.gmt_reader import read_gmt
from sparsekm.atlas.listing import read_listing
from sparsekm.atlas.ontology import read_ontology
from sparsekm.atlas.volume_header import parse_header
from sparsekm.expression.reader import read_matrix
from sparsekm.storage.checked_table import FLAG, NUMBER, NUMBER_OR_NOTHING, WHOLE, WORD, read_table
from sparsekm.storage.input_error import InputError

pytestmark = pytest.mark.xdist_group("hostile")

# The same examples on every run; their number with those of test_mutants makes some 500.
few = settings(
    max_examples=10,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
words = st.one_of(
    st.sampled_from([word for word in HOSTILE_WORDS if len(word) < 100]),
    st.sampled_from([number for number in HOSTILE_NUMBERS if len(number) < 100]),
    st.text(max_size=8),
)
json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), words),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(words, inside, max_size=3),
    max_leaves=8,
)


def as_bytes(text):
    return text.encode("utf-8", "surrogatepass")


def accepts_or_names(file, read, check):
    """Whatever is returned is valid, whatever is raised is documented and names the file."""
    try:
        found = read(file)
    except InputError as error:
        message = str(error)
    else:
        check(found)
        return
    assert file.name in message
    assert "\n" not in message


header_keys = st.sampled_from(
    ["NDims", "DimSize", "ElementSpacing", "ElementType", "ElementDataFile", "BinaryData"]
)
header_values = st.one_of(
    words, st.sampled_from(["3", "4 3 2", "200 200 200", "MET_FLOAT", "energy.raw", "1 1"])
)


@few
@given(st.lists(st.tuples(header_keys, header_values), max_size=9))
def test_headers(tmp_path, lines):
    file = tmp_path / "energy.mhd"
    file.write_bytes(as_bytes("".join(f"{key} = {value}\n" for key, value in lines)))
    accepts_or_names(file, lambda f: parse_header(f.read_bytes(), str(f)), check_header)


structure_keys = st.sampled_from(
    ["id", "acronym", "name", "st_level", "parent_structure_id", "children", "color_hex_triplet"]
)


@few
@given(st.lists(st.dictionaries(structure_keys, json_values, max_size=5), max_size=3))
def test_ontologies(tmp_path, rows):
    rows = [{"id": number + 1, **row} for number, row in enumerate(rows)]
    file = tmp_path / "ontology.json"
    file.write_text(json.dumps(rows))
    accepts_or_names(file, read_ontology, check_ontology)


listing_keys = st.sampled_from(
    [
        "id",
        "failed",
        "plane_of_section",
        "plane_of_section_id",
        "genes",
        "probes",
        "specimen",
        "reference_space_id",
        "qc_date",
        "treatments",
        "delegate",
    ]
)


@few
@given(st.lists(st.dictionaries(listing_keys, json_values, max_size=5), max_size=3))
def test_listings(tmp_path, rows):
    rows = [{"id": number + 1, **row} for number, row in enumerate(rows)]
    file = tmp_path / "listing.json"
    file.write_text(json.dumps({"success": True, "msg": rows}))
    accepts_or_names(file, read_listing, check_listing)


@few
@given(st.lists(st.lists(words, max_size=5), max_size=4))
def test_gene_sets(tmp_path, lines):
    file = tmp_path / "sets.gmt"
    file.write_bytes(as_bytes("\n".join("\t".join(cells) for cells in lines)))
    accepts_or_names(file, read_gmt, check_gene_sets)


@few
@given(st.lists(st.lists(words, min_size=2, max_size=4), max_size=5), st.booleans())
def test_matrices_as_text(tmp_path, lines, has_header):
    file = tmp_path / "m.csv"
    start = "a,b,c\n1,2,3\n4,5,6\n" if has_header else ""
    file.write_bytes(as_bytes(start + "\n".join(",".join(cells) for cells in lines)))
    accepts_or_names(file, read_matrix, check_matrix)


contract = {"a": WORD, "b": WHOLE, "c": NUMBER, "d": NUMBER_OR_NOTHING, "e": FLAG}
rows = st.lists(st.lists(words, min_size=5, max_size=5) | st.just(["", "1", "2", "", "True"]))


@few
@given(rows.filter(lambda found: len(found) < 6))
def test_tables_of_the_workflow(tmp_path, found):
    file = tmp_path / "table.csv"
    file.write_bytes(as_bytes("a,b,c,d,e\n" + "\n".join(",".join(cells) for cells in found)))

    def check(table):
        assert [table[name].dtype.kind for name in "bcde"] == ["i", "f", "f", "b"]
        assert all(map(is_text, table["a"]))

    accepts_or_names(file, lambda f: read_table(f, contract, "some_rule"), check)


configuration_keys = st.sampled_from(
    ["seed", "atlas", "matrices", "methods", "n_clusters", "tuning", "annotation", "simulation"]
)


@few
@given(st.dictionaries(configuration_keys, json_values, max_size=4))
def test_configurations(tmp_path, config):
    file = tmp_path / "config.yaml"
    file.write_bytes(as_bytes(yaml.safe_dump(config, allow_unicode=False)))
    accepts_or_names(file, read_configuration, check_configuration)
