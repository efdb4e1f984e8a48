"""The digest changes with the meaning of the code that a script can run, and with nothing else."""

import importlib
import os

import pytest

from sparsekm.pipeline import provenance

FILES = {
    "__init__.py": "from sparsekm.unused import nothing\n",
    "unused/one.py": "",
    "first/__init__.py": "",
    "first/one.py": "def f():\n    import sparsekm.inner.deep\n",
    "first/other.py": "",
    "inner/__init__.py": "",
    "inner/deep.py": "from sparsekm.alone import thing\n",
    "inner/page.html": "<p>",
    "inner/further/deeper.py": "",
    "alone.py": "from sparsekm.first import one\n",
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
    file.write_text("def main():\n    from sparsekm.first.one import f\n")
    return file


def source_digest(script, package):
    """Digest as another process would, which remembers nothing."""
    importlib.reload(provenance)
    return provenance.source_digest(script, package)


def parts(script, package):
    importlib.reload(provenance)
    return [part.name for part in provenance.source_parts(script, package)]


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
    assert {"alone.py", "first", "inner"} < {*parts(script, package)}


def test_a_neighbour_of_the_script_counts_with_what_it_imports(package, script):
    script.write_text("import numpy\nfrom neighbour import help\n")
    neighbour = script.with_name("neighbour.py")
    neighbour.write_text("from sparsekm.alone import thing\n")
    assert parts(script, package) == ["neighbour.py", "script.py", "alone.py", "first", "inner"]
    before = source_digest(script, package)
    edit(neighbour)
    assert source_digest(script, package) != before


@pytest.mark.parametrize(
    "name",
    ["first/other.py", "inner/further/deeper.py", "inner/page.html"],
)
def test_an_edit_of_what_the_script_uses_changes_the_digest(package, script, name):
    before = source_digest(script, package)
    edit(package / name)
    assert source_digest(script, package) != before


@pytest.mark.parametrize("name", ["unused/one.py", "__init__.py"])
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
    rewrite(package / "first/one.py", DOCUMENTED)
    rewrite(script, DOCUMENTED + "from sparsekm.first.one import Thing\n")
    before = source_digest(script, package)
    for file in (package / "first/one.py", script):
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
    rewrite(package / "first/one.py", DOCUMENTED)
    before = source_digest(script, package)
    rewrite(package / "first/one.py", DOCUMENTED.replace(old, new))
    assert source_digest(script, package) != before


def test_who_imports_the_package_itself_may_use_any_room(package, script):
    script.write_text("from sparsekm import Estimator\n")
    assert parts(script, package) == ["script.py", "alone.py", "first", "inner", "unused"]


def test_the_projects_own_scripts_use_what_they_should(project_root):
    def used(script):
        return {
            *parts(project_root / "scripts" / f"{script}.py", project_root / "src" / "sparsekm")
        }

    assert {"rule_problem.py", "workflow_job.py", "cluster", "pipeline"} <= used("cluster_path")
    assert used("cluster_path").isdisjoint({"atlas", "command", "reporting", "studies"})
    assert used("retrieve_atlas").isdisjoint({"annotation", "reporting"})
    assert {"reporting", "studies", "annotation"} <= used("report")
