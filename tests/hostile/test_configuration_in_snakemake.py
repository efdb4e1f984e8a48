"""Hostile configurations are refused by the checks, and by a run, in a line and at once."""

import re

import pytest
import yaml
from configuration_reader import configuration_check, read_configuration
from small_project import make_project

from sparsekm.io.input_error import InputError
from sparsekm.io.readers.reader import SUFFIXES

pytestmark = pytest.mark.xdist_group("hostile")

ESCAPED = "matrices: {../../escaped: {path: a.csv}}\n"
# Braces, and what else Snakemake could give a meaning to in a text.
FORMATTED = "{1} {dataset} {{x}} {} <a> %s $HOME // ~"
REFUSED = [
    (ESCAPED, "matrices: '../../escaped' should match ^[A-Za-z0-9_.-]{1,100}$ and not be the name"),
    ("tuning: {sparsities: {l1: [.nan, 2]}}\n", "tuning.sparsities.l1.0=nan: a number should be f"),
    ('matrices: {"b\\n": {path: a.csv}}\n', "matrices: keys ['b\\n'] should be printable text."),
    (
        "atlas: {source: allen, allen: {http: {contact: me, tries: 3}}}\n",
        "atlas.allen.http was removed: use atlas.allen.contact for the contact",
    ),
]
GENE_SETS = [
    ("source: gmt, path: 'http://a.org/a.gmt'", "path: an address should begin with https:// and"),
    ("source: gmt, path: 'https://me:se cret@a.org/a.gmt'", "path: an address should begin with"),
    ("source: gaf", "source=gaf was removed: use source: gmt with a GMT file"),
    (
        "source: gmt, path: a.gmt, ontology: b",
        "ontology was removed: use source: gmt with a GMT file",
    ),
]
for sets, told in GENE_SETS:
    text = f"matrices: {{a: {{path: a.csv}}}}\nannotation: {{gene_sets: {{{sets}}}}}\n"
    REFUSED.append((text, f"annotation.gene_sets.{told}"))
# What is not even YAML, or more than YAML: bytes, and what is said after the name of the file.
UNREADABLE = [
    (b"seed: 1\nmethods: [l0\nn_init: 2}\n", ", line 3, column 7: expected ',' or ']'"),
    (b"report:\n\ttitle: a\n", ", line 2, column 1: found character '\\t' that cannot start"),
    (b"report: {title: Sieve: a study}\n", ", line 1, column 22: "),
    (b"report: {title: !mine a}\n", ", line 1, column 17: the tag !mine has no meaning here."),
    (b"seed: !!python/name:os.system\n", ", line 1, column 7: the tag tag:yaml.org,2002:python"),
    (b"seed: 1\nn_init: 2\nseed: 3\n", ", line 3, column 1: the key 'seed' occurs twice."),
    (b"? [1]\n: 2\n", ", line 1, column 3: found unhashable key"),
    (b"report: {title: caf\xe9}\n", ": byte 20 is not UTF-8. Save the file as UTF-8."),
    (b"report: {title: a\0b}\n", ": unacceptable character #x0000"),
    (b"- seed\n", ": type=list should be a mapping"),
    (b"seed: 1\n---\nseed: 2\n", ", line 2, column 1: but found another document."),
    (b"seed: 2001-13-01\n", ", line 1, column 7: month must be in 1..12."),
    (b"seed: " + b"9" * 5000, ", line 1, column 7: a text should have at most 3,000 letters."),
    (b"seed: " + b"[" * 5000, ", line 1, column 56: settings should not nest deeper than 50."),
    (b"a: &a {b: 1}\nc: {<<: *a}\n", ", line 2, column 9: *a is an alias; write out what it"),
    (b"seed: 1\na: &a [*a]\n", ", line 2, column 8: *a is an alias; write out what it"),
    (b"# \n" * 2**19, ": should be a file of at most 1,048,576 bytes."),
    (b"__use_yte__: true\n?print('ran'): 1\n", ": __use_yte__ should be left out"),
]


EVERY = [*((text.encode(), f": {line}") for text, line in REFUSED), *UNREADABLE]
NAMES = [re.sub(r"\W+", " ", line)[:60] for _, line in EVERY]


@pytest.mark.parametrize(("body", "line"), EVERY, ids=NAMES)
def test_what_is_refused_or_cannot_be_read_is_named_in_a_line_with_its_place(tmp_path, body, line):
    file = tmp_path / "config.yaml"
    file.write_bytes(body)
    with pytest.raises(InputError, match="^" + re.escape(f"{file}{line}")) as error:
        read_configuration(file)
    assert "\n" not in str(error.value)


def test_an_empty_file_and_a_byte_order_mark_are_no_mistakes(tmp_path):
    file = tmp_path / "config.yaml"
    for body in (b"", b"# nothing\n", "\ufeffseed: 3\n".encode(), b"seed: 3\r\n"):
        file.write_bytes(body + b"\nmatrices: {a: {path: a.csv}}\n")
        assert read_configuration(file)["seed"] in (3, 20180101)


def free_texts(schema, place=()):
    """List the settings that may be any text."""
    named = schema.get("$ref", "").removeprefix("#/$defs/")
    schema = configuration_check.read_schema()["$defs"].get(named, {}) | schema
    if "enum" in schema or "pattern" in schema or "const" in schema:
        return
    if "string" in schema.get("type", ()):
        yield ".".join(place)
    for key, value in schema.get("properties", {}).items():
        yield from free_texts(value, (*place, key))
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from free_texts(schema[key], (*place, "*"))
    for value in schema.get("anyOf", ()):
        yield from free_texts(value, place)


def test_braces_in_any_text_are_text(tmp_path, project_root):
    matrix = dict.fromkeys(("labels", "layer", "groups", "samples", "weights", "batch"), FORMATTED)
    lists = {key: [FORMATTED] for key in ("ignore", "keep", "missing_values", "annotate")}
    settings = {
        "matrices": {"tumours": {"path": "tumours.csv", **lists, **matrix}},
        "annotation": {"genes_of_interest": [FORMATTED]},
        "report": {"title": FORMATTED},
    }
    # Names that are checked against a list are no free text.
    checked = {"yardstick.folder", "matrices.*.draw.*"}
    checked |= {"matrices.*.path", "matrices.*.feature_groups", "annotation.gene_sets.path"}
    checked |= {"simulation.experiments.*", "simulation.repeated_variants.*"}
    tried = {f"matrices.*.{key}" for key in matrix} | {"report.title"}
    tried |= {f"matrices.*.{key}.*" for key in lists}
    tried.add("annotation.genes_of_interest.*")
    assert set(free_texts(configuration_check.read_schema())) == tried | checked
    project = make_project(tmp_path, project_root)
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(settings))
    project.run("--cores", "1", "--dry-run")


@pytest.mark.parametrize("path", ["a{1}.csv", "s3://a/b.csv"])
def test_paths_that_snakemake_would_change_are_refused_wherever_they_stand(tmp_path, path):
    file = tmp_path / "config.yaml"
    settings = {
        "matrices.m.path": {"matrices": {"m": {"path": path}}},
        "matrices.m.feature_groups": {"matrices": {"m": {"path": "a.csv", "feature_groups": path}}},
        "annotation.gene_sets.path": {"annotation": {"gene_sets": {"source": "gmt", "path": path}}},
        "yardstick.folder": {"yardstick": {"folder": path}},
    }
    for place, setting in settings.items():
        file.write_text(yaml.safe_dump({"atlas": {"ages": ["P14"]}} | setting))
        with pytest.raises(InputError, match=re.escape(f"{place}='") + ".* should have no"):
            read_configuration(file)


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".CSV", ".tumours", ""])
def test_a_file_of_any_ending_passes(suffix):
    config = {"matrices": {"own": {"path": f"m{suffix}"}}}
    assert configuration_check.check_configuration(config) == []
