"""Links, pipes and folders where a file should be written are refused, and stay as they were."""

import ast
import os
import stat
from pathlib import Path

import pytest

from sparsekm.command import main as command
from sparsekm.io.atomic import open_to_append, write_text
from sparsekm.io.input_error import InputError

KINDS = ["named pipe", "symbolic link", "dangling link", "folder", "socket"]


def put(file: Path, kind: str) -> None:
    """Put something there that is not a regular file; a link leads to a file of the user's."""
    file.parent.mkdir(parents=True, exist_ok=True)
    mine = Path.cwd() / "mine.txt"
    mine.write_text("mine")
    match kind:
        case "named pipe":
            os.mkfifo(file)
        case "symbolic link":
            file.symlink_to(mine)
        case "dangling link":
            file.symlink_to(mine.with_name("new.txt"))
        case "folder":
            file.mkdir()
        case "socket":
            os.mknod(file, stat.S_IFSOCK | 0o600)


def is_untouched(file: Path, kind: str) -> bool:
    """Tell whether it is still there, and nothing was written through it."""
    here = Path.cwd()
    tests = {"named pipe": file.is_fifo, "folder": file.is_dir, "socket": file.is_socket}
    is_same = tests.get(kind, file.is_symlink)()
    return is_same and (here / "mine.txt").read_text() == "mine" and not (here / "new.txt").exists()


@pytest.fixture(params=KINDS)
def kind(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return request.param


@pytest.mark.parametrize("write", [lambda file: write_text("new", file), open_to_append])
def test_no_writer_replaces_or_follows_it(kind, write):
    file = Path("folder/target.csv")
    put(file, kind)
    named = kind.replace("dangling", "symbolic")
    with pytest.raises(InputError, match=f"folder/target.csv: is a {named}; only a regular file"):
        write(file)
    assert is_untouched(file, kind)
    assert [file.name for file in Path("folder").iterdir()] == ["target.csv"]


@pytest.mark.parametrize("target", ["new-clusters.csv", "out/found.csv"])
def test_predict_refuses_it_also_with_force(kind, target, capsys):
    Path("new.csv").write_text("sample,a,b\nx,1,2\ny,2,1\n")
    put(Path(target), kind)
    output = ["--output", target] if target.startswith("out") else []
    assert command.main(["predict", "run", "new.csv", "--force", *output]) == 2
    assert (
        f"sparsekm: {target}: is a {kind.replace('dangling', 'symbolic')}; only a regular file"
        in (capsys.readouterr().err)
    )
    assert is_untouched(Path(target), kind)


@pytest.mark.parametrize("output", [".", "..", "out/"])
def test_predict_says_that_a_folder_is_no_file(output, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("out").mkdir()
    Path("new.csv").write_text("sample,a,b\nx,1,2\ny,2,1\n")
    assert command.main(["predict", "run", "new.csv", "--force", "--output", output]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"sparsekm: {output.rstrip('/')}: is a folder; only a regular file")


PLACES = ["results/report.html", "logs/report.log", ".snakemake/sparsekm/turn"]
PLACES += [".snakemake/sparsekm/jobs/logs/report.log"]


# There are folders among the notes.
CASES = [(place, kind) for place in PLACES for kind in KINDS[: 3 if "sparsekm" in place else None]]


@pytest.mark.parametrize(("place", "kind"), CASES)
def test_a_run_refuses_a_folder_with_it_before_writing(place, kind, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("run").mkdir()
    Path("run/config.yaml").write_text("matrices: {a: {path: a.csv}}\n")
    put(Path("run", place), kind)
    before = sorted(Path("run").rglob("*"))
    assert command.main(["run", "run/config.yaml", "--force"]) == 2
    assert f"run/{place}: is a " in capsys.readouterr().err
    assert is_untouched(Path("run", place), kind)
    assert sorted(Path("run").rglob("*")) == before


def test_linked_folders_stay_allowed(tmp_path):
    (tmp_path / "scratch").mkdir()
    (tmp_path / "results").symlink_to("scratch")
    write_text("new", tmp_path / "results" / "a.txt")
    assert (tmp_path / "scratch" / "a.txt").read_text() == "new"


def opened_for_writing(tree):
    """List the lines that open a file for writing, or write one, by its path."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name)):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
        given = [*node.args, *(word.value for word in node.keywords if word.arg == "mode")]
        modes = [word.value for word in given if isinstance(word, ast.Constant)]
        is_open = name == "open" and any(set(str(mode)) & set("wax") for mode in modes)
        of = node.func.value if isinstance(node.func, ast.Attribute) else None
        # Inside `atomic_path`.
        is_temporary = isinstance(of, ast.Name) and of.id == "temporary"
        if is_open or (of and name in ("write_text", "write_bytes") and not is_temporary):
            yield node.lineno


def test_one_module_opens_files_for_writing(project_root):
    found = {}
    for folder in ("src", "scripts"):
        for file in (project_root / folder).rglob("*.py"):
            if lines := [*opened_for_writing(ast.parse(file.read_text()))]:
                found[file.relative_to(project_root).as_posix()] = lines
    assert {*found} == {"src/sparsekm/io/atomic.py"}
