"""Hostile configurations are refused by the checks, and by a run, in a line and at once."""

import re

import pytest
from configuration_reader import ConfigurationError, read_configuration
from small_project import make_project

pytestmark = pytest.mark.xdist_group("hostile")


def bomb():
    lines = ["x0: &x0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    for level in range(1, 9):
        lines.append(f"x{level}: &x{level} [{', '.join([f'*x{level - 1}'] * 10)}]")
    return "\n".join(lines)


BOMB = bomb()
ESCAPED = "matrices: {../../escaped: {path: a.csv}}\n"
SETS = "{source: gmt, path: 'https://example.org/'}"
REFUSED = [
    (BOMB, "configuration: values=1234567900 should be <= 100000."),
    (
        ESCAPED,
        "matrices: '../../escaped' should match ^[A-Za-z0-9_.-]+$ and not be the name of an age",
    ),
    ("methods: &m [l0, *m]\n", "methods.1: should not contain itself, nor nest deeper than 50."),
    (
        "tuning: {sparsities: {l1: [.nan, 2]}}\n",
        "tuning.sparsities.l1.0=nan: a number should be finite.",
    ),
    (
        'matrices: {"cells\\n": {path: a.csv}}\n',
        "matrices: keys ['cells\\n'] should be printable text.",
    ),
    (
        f"matrices: {{a: {{path: a.csv}}}}\nannotation: {{gene_sets: {SETS}}}\n",
        "annotation.gene_sets.path: url='https://example.org/' should end in the name of a file.",
    ),
    (
        "matrices: {a: {path: a.csv}}\nannotation: {gene_sets: {source: gaf}}\n",
        "annotation.gene_sets.source=gaf was removed: use source: gmt with a GMT file",
    ),
    (
        "matrices: {a: {path: a.csv}}\nannotation: {gene_sets: {source: gmt, ontology: go.obo}}\n",
        "annotation.gene_sets.ontology was removed: use source: gmt with a GMT file",
    ),
    (
        "atlas: {source: allen, allen: {http: {contact: me, tries: 3}}}\n",
        "atlas.allen.http was removed: atlas.allen.contact is the contact",
    ),
    (
        "matrices: {a: {path: a.csv}}\n"
        "annotation: {gene_sets: {source: gmt, path: 'http://[::bad/a.gmt'}}\n",
        "annotation.gene_sets.path: Invalid IPv6 URL",
    ),
    ("atlas: [1, 2\nmethods: }\n", "Config file is not valid JSON or YAML."),
]


@pytest.mark.parametrize(("text", "line"), REFUSED)
def test_the_checks_refuse_it_in_a_line(tmp_path, text, line):
    file = tmp_path / "config.yaml"
    file.write_text(text)
    with pytest.raises(ConfigurationError, match="^" + re.escape(f"{file}: {line}")) as error:
        read_configuration(file)
    assert "\n" not in str(error.value)


@pytest.fixture(scope="module")
def project(tmp_path_factory, project_root):
    folder = tmp_path_factory.mktemp("hostile") / "project"
    folder.mkdir()
    return make_project(folder, project_root)


@pytest.mark.parametrize(("text", "line"), REFUSED[:2])
def test_snakemake_says_what_the_checks_say(project, text, line):
    (project.root / "config.yaml").write_text(text)
    done = project.snakemake("--cores", "1", "--dry-run")
    assert done.returncode != 0
    assert f"\n{line}" in done.stdout
    assert "Traceback" not in done.stdout
    assert len(done.stdout) < 5000
    assert not list(project.root.parent.glob("**/escaped*"))
