"""Digests of code and inputs, seeds, and the record of what jobs make."""

import importlib
import os
from pathlib import Path

import pytest

from sparsekm.pipeline import provenance
from sparsekm.pipeline import provenance as module
from sparsekm.pipeline.provenance import derive_seed, file_digest, input_digest
from sparsekm.pipeline.workflow_files import record_files, recorded_files, replace_recorded

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
def package(tmp_path, monkeypatch):
    # Where digests are noted.
    monkeypatch.chdir(tmp_path)
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


def test_a_damaged_note_of_a_digest_costs_time_alone(package, script):
    before = source_digest(script, package)
    notes = [*Path(".snakemake").rglob("source-*")]
    # Of the script, and of the rooms first, inner and alone.
    assert len(notes) == 4
    for note, text in zip(notes, ("", "no digest", "0", "\ufeff"), strict=True):
        note.write_text(text)
    assert source_digest(script, package) == before


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


def test_seeds_differ_with_root_and_names_and_with_nothing_else():
    seeds = [
        derive_seed(1, "a"),
        derive_seed(2, "a"),
        derive_seed(1, "b"),
        derive_seed(1, "a", 0),
        derive_seed(1, "a", 1),
        derive_seed(1, "a", "1"),
    ]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= value < 2**31 for value in seeds)


def test_the_digest_of_a_file_is_its_sha256(tmp_path):
    (tmp_path / "abc").write_bytes(b"abc")
    assert file_digest(tmp_path / "abc").startswith("ba7816bf8f01cfea414140de5dae2223")


@pytest.fixture
def taken(monkeypatch):
    """The files of which digests are taken; every file is large."""
    taken = []

    def take(file):
        # The digest of a folder takes those of what is in it.
        if not any(file != other and file.is_relative_to(other) for other in taken):
            taken.append(file)
        return file_digest(file)

    monkeypatch.setattr(module, "_LARGE", 0)
    monkeypatch.setattr(module, "file_digest", take)
    return taken


@pytest.fixture(params=["a file", "a folder"])
def file(request, tmp_path):
    file = tmp_path / "matrix"
    if request.param == "a file":
        file.write_bytes(b"abc")
        return file, file
    part = file / "X" / "0.0"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"abc")
    return file, part


def test_a_large_file_is_read_once_until_it_changes(file, taken, tmp_path):
    (file, part), kept = file, tmp_path / "kept"
    digest = input_digest(file, kept)
    assert input_digest(file, kept) == digest == file_digest(file)
    assert taken == [file]
    part.write_bytes(b"abcd")
    assert input_digest(file, kept) == file_digest(file) != digest
    assert taken == [file, file]


def test_another_file_of_the_same_size_with_the_same_time_stamp_is_noticed(file, taken, tmp_path):
    (file, part), kept = file, tmp_path / "kept"
    before, stamps = input_digest(file, kept), part.stat()
    other = tmp_path / "other"
    other.write_bytes(b"xyz")
    os.utime(other, ns=(stamps.st_atime_ns, stamps.st_mtime_ns))
    other.replace(part)
    assert input_digest(file, kept) == file_digest(file) != before
    assert len(taken) == 2


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


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


def test_of_a_folder_only_what_the_job_made_before_and_makes_no_longer_is_removed(here):
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


def test_a_negative_seed_is_refused():
    with pytest.raises(ValueError, match="seed=-1 should be >= 0"):
        derive_seed(-1, "a")
