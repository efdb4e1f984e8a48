"""The digest changes with the meaning of the code that a script can run, and with nothing else."""

import os

import pytest

from sparsekm.pipeline.provenance import source_digest, source_files

FILES = {
    "__init__.py": "from sparsekm.unused import nothing\n",
    "unused.py": "",
    "first.py": "from sparsekm.inner import deep\nfrom sparsekm import alone\n",
    "alone.py": "import numpy\n",
    "inner/__init__.py": "from sparsekm.inner.other import thing\n",
    "inner/deep.py": "def f():\n    import sparsekm.inner.deeper\n",
    "inner/deeper.py": "",
    "inner/other.py": "thing = 1\n",
    "inner/page.html": "<p>",
    "apart/__init__.py": "from sparsekm.apart.one import name\n",
    "apart/one.py": "name = 1\n",
    "apart/two.py": "",
    "circle/a.py": "from sparsekm.circle import b\n",
    "circle/b.py": "from sparsekm.circle.a import x\n",
}


@pytest.fixture
def package(tmp_path):
    for name, content in FILES.items():
        file = tmp_path / "sparsekm" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    return tmp_path / "sparsekm"


@pytest.fixture
def script(tmp_path):
    file = tmp_path / "script.py"
    file.write_text("def main():\n    from sparsekm.first import f\n")
    return file


def names(script, package):
    return {file.relative_to(package).as_posix() for file in source_files(script, package)}


def edit(file):
    rewrite(file, file.read_text() + "edited = True\n")


def rewrite(file, text):
    file.write_text(text)
    # Some file systems keep time in coarse steps.
    os.utime(file, ns=(1, file.stat().st_mtime_ns + 1))


@pytest.mark.parametrize(
    "block",
    [
        "if x:\n    pass\nelse:\n    {}",
        "while x:\n    pass\nelse:\n    {}",
        "class A:\n    def f(self):\n        {}",
        "try:\n    pass\nexcept ValueError:\n    {}",
        "match 1:\n    case 1:\n        {}",
    ],
)
def test_imports_are_found_in_every_kind_of_block(package, script, block):
    script.write_text(block.format("import sparsekm.alone") + "\n")
    assert names(script, package) == {"alone.py"}


def test_a_neighbour_of_the_script_counts_with_what_it_imports(package, script):
    script.write_text("import numpy\nfrom neighbour import help\n")
    neighbour = script.with_name("neighbour.py")
    neighbour.write_text("from sparsekm.alone import thing\n")
    assert source_files(script, package) == sorted([neighbour, package / "alone.py"])
    before = source_digest(script, package)
    edit(neighbour)
    assert source_digest(script, package) != before


@pytest.mark.parametrize("name", ["first.py", "inner/deeper.py", "inner/page.html"])
def test_an_edit_of_what_the_script_uses_changes_the_digest(package, script, name):
    before = source_digest(script, package)
    edit(package / name)
    assert source_digest(script, package) != before


@pytest.mark.parametrize("name", ["unused.py", "inner/other.py"])
def test_an_edit_of_anything_else_changes_nothing(package, script, name):
    before = source_digest(script, package)
    edit(package / name)
    assert source_digest(script, package) == before


DOCUMENTED = '''"""A module."""

LIMIT = 3
"""A constant."""


class Thing:
    """A class."""

    def f(self, x):
        """Do it."""
        # Because.
        return x + LIMIT, "text"  # whatever
'''


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""A module."""', '"""A mended module,\nin two lines."""'),
        ('"""A constant."""\n', ""),
        ('"""Do it."""', '"""Do # it, "quoted"."""'),
        ("# Because.", "# For a reason.\n\n"),
        ("return x + LIMIT, ", "return (\n            x + LIMIT\n        ), "),
    ],
)
def test_mending_a_comment_or_docstring_reruns_nothing(package, script, old, new):
    assert DOCUMENTED.count(old) == 1
    rewrite(package / "first.py", DOCUMENTED)
    rewrite(script, DOCUMENTED + "from sparsekm.first import Thing\n")
    before = source_digest(script, package)
    for file in (package / "first.py", script):
        rewrite(file, file.read_text().replace(old, new))
    assert source_digest(script, package) == before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"text"', '"# text"'),
        ("def f", "def g"),
        ('"""Do it."""', 'print("""Do it.""")'),
        ("# Because.", "x = -x"),
    ],
)
def test_any_change_of_code_changes_the_digest(package, script, old, new):
    assert DOCUMENTED.count(old) == 1
    rewrite(package / "first.py", DOCUMENTED)
    before = source_digest(script, package)
    rewrite(package / "first.py", DOCUMENTED.replace(old, new))
    assert source_digest(script, package) != before


def test_the_projects_own_scripts_use_what_they_should(project_root):
    def used(script):
        files = source_files(project_root / "scripts" / f"{script}.py")
        return {file.relative_to(project_root).as_posix() for file in files}

    assert "scripts/rule_problem.py" in used("cluster_path")
    assert "src/sparsekm/cluster/estimators.py" in used("cluster_path")
    assert "src/sparsekm/tuning/selection.py" not in used("cluster_path")
    assert "src/sparsekm/tuning/selection.py" in used("tune_sparsity")
    assert "src/sparsekm/cluster/path.py" not in used("normalise_expression")
    assert "src/sparsekm/reporting/report.py" in used("report")
    assert not any(name.startswith("src/sparsekm/reporting/") for name in used("reference_path"))
