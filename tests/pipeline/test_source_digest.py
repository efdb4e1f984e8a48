"""Digests of code and inputs, seeds, and the record of what jobs make."""

import ast
import importlib
import os
from pathlib import Path

import pytest

from sparsekm.pipeline import provenance
from sparsekm.pipeline.provenance import derive_seed
from sparsekm.pipeline.registry import METHODS
from sparsekm.pipeline.workflow_files import (
    left_behind,
    record_files,
    recorded_files,
    replace_recorded,
)

FILES = {
    "script.py": "def main():\n    from sparsekm.first.one import f\n",
    "sparsekm/__init__.py": "from sparsekm.unused import nothing\n",
    "sparsekm/unused/one.py": "",
    "sparsekm/first/__init__.py": "",
    "sparsekm/first/one.py": "def f():\n    import sparsekm.inner.deep\n",
    "sparsekm/first/other.py": "from sparsekm.unused import one\n",
    "sparsekm/inner/__init__.py": "",
    "sparsekm/inner/deep.py": "from sparsekm.alone import thing\n",
    "sparsekm/inner/read.py": "NAMES = 'names.csv'",
    "sparsekm/inner/names.csv": "a",
    "sparsekm/inner/templates/page.html": "<p>",
    "sparsekm/inner/further/__init__.py": "",
    "sparsekm/inner/further/deeper.py": "",
    "sparsekm/alone.py": "from sparsekm.first import one\n",
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder to work in, where digests are noted and jobs recorded."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def sources(here):
    """The folder with a script and a small package."""
    for name, content in FILES.items():
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_text(content)
    return here


def digest(root):
    """Digest the script as another process would, which remembers nothing."""
    importlib.reload(provenance)
    return provenance.source_digest(root / "script.py", package_folder=root / "sparsekm")


def used(script, package, *modules):
    """List the script's neighbours, and the modules of the package that it uses."""
    importlib.reload(provenance)
    files = provenance.source_files(script, *modules, package_folder=package)
    places = (script.parent, package)
    return {
        file.relative_to(places[file.is_relative_to(package)]).as_posix()
        for file in files
        if file.name != "__init__.py"
    }


@pytest.mark.parametrize(
    ("name", "is_used"),
    [
        ("script.py", True),
        ("sparsekm/first/__init__.py", True),
        ("sparsekm/alone.py", True),
        ("sparsekm/__init__.py", False),
    ],
)
def test_an_edit_changes_the_digest_of_a_script_that_uses_the_file(sources, name, is_used):
    before = digest(sources)
    with (sources / name).open("a") as file:
        file.write("edited = True\n")
    assert (digest(sources) != before) == is_used


def test_a_neighbour_of_the_script_counts_with_what_it_imports(sources):
    script, package = sources / "script.py", sources / "sparsekm"
    script.write_text("import numpy\nfrom neighbour import help\n")
    (sources / "neighbour.py").write_text("from sparsekm.alone import thing\n")
    # No module says that it reads the page, so that each may.
    deep = {"first/one.py", "inner/deep.py", "inner/templates/page.html", "alone.py"}
    assert used(script, package) == {"neighbour.py", "script.py", *deep}
    before = digest(sources)
    (sources / "neighbour.py").write_text("from sparsekm.alone import other\n")
    assert digest(sources) != before
    # Modules may be imported by their names. Who imports the package itself may use any.
    script.write_text("from sparsekm import __version__, alone as other\n")
    assert used(script, package) == {"script.py", *deep}
    for whole in ("from sparsekm import Estimator\n", "import sparsekm\n"):
        script.write_text(whole)
        assert {"unused/one.py", "first/other.py", "inner/names.csv"} < used(script, package)


def test_a_module_that_a_table_names_counts_with_what_it_imports(sources):
    script, package = sources / "script.py", sources / "sparsekm"
    script.write_text("")
    assert used(script, package) == {"script.py"}
    found = used(script, package, "sparsekm.first.other", "sparsekm.inner.read")
    assert found >= {"first/other.py", "unused/one.py", "inner/read.py", "inner/names.csv"}
    assert "inner/deep.py" not in found


def imported_by_syntax(file):
    """Give the modules that Python's own parser finds, with every name that may be one."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
            yield node.module


def test_what_python_would_import_of_the_package_is_found_in_every_module(project_root):
    package = project_root / "src" / "sparsekm"
    for file in package.rglob("*.py"):
        names = {name for name in imported_by_syntax(file) if name.startswith("sparsekm.")}
        places = {package.joinpath(*name.split(".")[1:]) for name in names}
        modules = {place.with_suffix(".py") for place in places} | {
            p / "__init__.py" for p in places
        }
        assert {m for m in modules if m.is_file()} <= {*provenance.source_files(file)}, file


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
    ("old", "new", "is_code"),
    [
        ('"""A module."""', '"""A mended module,\nin two lines."""', False),
        ('"""A constant."""\n', "", False),
        ('"""Do it."""', '"""Do # it, "quoted"."""', False),
        ("# Because.", "# For a reason.\n\n", False),
        ("return x + LIMIT, ", "return (\n            x + LIMIT\n        ), ", False),
        ('"text"', '"# text"', True),
        ("def f", "def g", True),
        ('"""Do it."""', 'print("""Do it.""")', True),
        ("# Because.", "x = -x", True),
    ],
)
def test_code_changes_the_digest_and_a_comment_or_docstring_does_not(sources, old, new, is_code):
    assert DOCUMENTED.count(old) == 1
    used = {"script.py": "from sparsekm.first.one import Thing\n", "sparsekm/first/one.py": ""}
    digests = []
    for text in (DOCUMENTED, DOCUMENTED.replace(old, new)):
        for name, more in used.items():
            (sources / name).write_text(text + more)
        digests.append(digest(sources))
    assert (digests[0] != digests[1]) == is_code


def test_a_damaged_note_of_a_digest_costs_time_alone(sources):
    before = digest(sources)
    notes = [*Path(".snakemake").rglob("source-*")]
    # Of every file, but that the empty ones share one.
    assert len(notes) == 6
    for note, text in zip(notes, ("", "no digest", "0", "\ufeff", "f" * 63, "f" * 65), strict=True):
        note.write_text(text)
    assert digest(sources) == before


def test_the_projects_own_scripts_use_what_they_should(project_root):
    def rooms(script, *modules):
        place = project_root / "scripts" / f"{script}.py"
        files = used(place, project_root / "src" / "sparsekm", *modules)
        return {*files, *(file.partition("/")[0] for file in files)}

    assert {"rule_problem.py", "workflow_job.py", "cluster", "pipeline"} <= rooms("cluster_path")
    unused = {"atlas", "baselines", "command", "reporting", "studies"}
    assert rooms("cluster_path").isdisjoint(unused)
    assert "baselines/spectral.py" in rooms("cluster_path", METHODS["pca"].module)
    for script in ("retrieve_atlas", "assemble_expression"):
        assert rooms(script).isdisjoint(
            {"annotation", "reporting", "tuning", "cluster/alternation.py"}
        )
    assert {"reporting", "annotation"} <= rooms("report")
    assert "io/readers/messages.json" in rooms("normalise_matrix")


def test_methods_name_the_modules_and_the_search_of_their_estimators():
    for method in METHODS.values():
        assert method.estimator.__module__ == method.module
        known = {"min_cluster_size", "search", "n_init"} & method.estimator().get_params().keys()
        assert {*method.search} == known


def test_versions_that_compute_count_without_their_patch(monkeypatch):
    found = {"python": "3.11.2", "numpy": "2.1.3", "scikit-learn": "1.5.0rc1", "pandas": "2.2.0"}
    monkeypatch.setattr(provenance, "package_versions", lambda: found)
    assert provenance.computing_versions() == "numpy 2.1, scikit-learn 1.5"


def test_seeds_differ_with_root_and_names_and_with_nothing_else():
    names = [(1, "a", "1"), (1, "a", "b"), (1, "b", "a"), (1, "ab"), (1,)]
    for number in range(1000):
        names += [(number, "a"), (0, f"a{number}"), (1, "a", number)]
    seeds = [derive_seed(*given) for given in names]
    assert seeds == [derive_seed(*given) for given in names]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= value < 2**31 for value in seeds)
    with pytest.raises(ValueError, match="seed=-1 should be >= 0"):
        derive_seed(-1, "a")


@pytest.mark.parametrize("part", ["matrix", "matrix/X/0.0"])
def test_a_large_file_or_folder_is_read_once_until_it_changes(here, monkeypatch, part):
    (here / part).parent.mkdir(parents=True, exist_ok=True)
    (here / part).write_bytes(b"abc")
    taken, take = [], provenance.file_digest

    def count(file):
        # The digest of a folder takes those of what is in it.
        if file == "matrix":
            taken.append(file)
        return take(file)

    monkeypatch.setattr(provenance, "_LARGE", 0)
    monkeypatch.setattr(provenance, "file_digest", count)
    assert take(here / part).startswith("ba7816bf8f01cfea414140de5dae2223")
    digests = [provenance.input_digest("matrix") for _ in range(2)]
    assert digests == [take("matrix")] * 2
    assert len(taken) == 1
    # Another file of the same size with the same time stamp.
    stamps = (here / part).stat()
    (here / "other").write_bytes(b"xyz")
    os.utime(here / "other", ns=(stamps.st_atime_ns, stamps.st_mtime_ns))
    (here / "other").replace(here / part)
    digests.append(provenance.input_digest("matrix"))
    (here / part).write_bytes(b"abcd")
    digests.append(provenance.input_digest("matrix"))
    assert digests[-1] == take("matrix")
    assert len(set(digests)) == len(taken) == 3


def test_a_job_is_recorded_with_its_log_and_its_benchmark_and_nothing_is_forgotten(here):
    log = Path("logs/cluster_path/a/l0.log")
    assert recorded_files(here) == set()
    record_files(log, ["results/a/l0/path.h5"])
    record_files(log, ["results/a/l0/other.h5"])
    record_files(Path("logs/report.log"), [Path("results/report.html")])
    assert recorded_files(here) == {
        *("results/a/l0/path.h5", "results/a/l0/other.h5", "results/report.html"),
        *("logs/cluster_path/a/l0.log", "logs/report.log"),
        *("results/benchmarks/cluster_path/a/l0.tsv", "results/benchmarks/report.tsv"),
    }
    # Of a folder only what the job made before and makes no longer is removed.
    folder, log = Path("results/figures"), Path("logs/report.log")
    folder.mkdir(parents=True)
    Path("results/report.html").touch()
    for name in ("a_gap.svg", "a_scores.svg", "mine.png"):
        (folder / name).touch()
    record_files(log, [folder / "a_gap.svg", folder / "a_scores.svg", "results/report.html"])
    replace_recorded(log, folder, [folder / "a_scores.svg", folder / "b_scores.svg"])
    assert sorted(file.name for file in folder.iterdir()) == ["a_scores.svg", "mine.png"]
    assert Path("results/report.html").exists()
    assert "results/figures/b_scores.svg" in recorded_files(here)
    # What a run with other settings does not make is named: folders of nothing else by their names.
    for name in (
        "b/l0/path.h5",
        "b/l1/gap.csv",
        "b/l1/path.h5",
        "genes/changes.csv",
        "b/genes.csv",
    ):
        (Path("results") / name).parent.mkdir(parents=True, exist_ok=True)
        (Path("results") / name).touch()
        record_files(Path("logs/x.log"), [f"results/{name}", "results/benchmarks/x.tsv"])
    Path("results/b/mine.csv").touch()
    made = {"results/report.html", "results/b/l0/path.h5"}
    assert left_behind(made) == ["results/b/genes.csv", "results/b/l1", "results/genes"]
    # A record that somebody else wrote names nothing outside the folder.
    Path("mine.txt").touch()
    record_files(log, ["results/figures/../../mine.txt", "results/figures/.."])
    replace_recorded(log, folder, [])
    assert Path("mine.txt").exists()
