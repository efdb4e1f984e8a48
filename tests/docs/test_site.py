"""The site: it builds without a warning, and has a page for every public name."""

import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import sparsekm
import sparsekm.metrics

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
EXAMPLES = sorted((DOCS / "examples").glob("[0-9]*.py"))


def listed_in_reference():
    text = (DOCS / "api.rst").read_text(encoding="utf-8")
    return re.findall(r"^   ([\w.]+)$", text, re.M)


def test_the_reference_lists_every_public_name_once():
    listed = listed_in_reference()
    assert len(listed) == len(set(listed))
    public = {*sparsekm.__all__} - {"__version__"}
    public |= {f"metrics.{name}" for name in {*sparsekm.metrics.__all__} - public}
    assert public <= set(listed)


@pytest.mark.parametrize("name", listed_in_reference())
def test_the_reference_lists_only_what_is_there_and_documented(name):
    home, _, last = f"sparsekm.{name}".rpartition(".")
    assert getattr(import_module(home), last).__doc__


def test_the_site_needs_nothing_from_the_network():
    written = [file for file in [DOCS / "conf.py", *(DOCS / "_static").iterdir()] if file.is_file()]
    assert not [file.name for file in written if "://" in file.read_text(encoding="utf-8")]
    assert 'html_math_renderer = "mathml"' in (DOCS / "conf.py").read_text(encoding="utf-8")


def test_a_warning_fails_the_build_and_what_it_makes_is_not_in_git():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = re.search(r"^docs: .*\n((?:\t.*\n)+)", makefile, re.M)[1]
    assert "-m sphinx -W " in recipe
    assert "docs/_build/html" in recipe
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert {"/docs/_build/", "/docs/gallery/", "/docs/generated/"} <= set(ignored)
    # The report that the page opens is the one that the recipe makes.
    shown = re.search(r'href="(\w+\.html)"', (DOCS / "example_report.md").read_text())[1]
    assert f"docs/_build/html/{shown}" in recipe


@pytest.mark.release
@pytest.mark.usefixtures("kernels")
def test_every_page_builds_without_a_warning_and_examples_run(tmp_path):
    pytest.importorskip("scanpy", reason="the extra `docs` is not installed")
    made = shutil.ignore_patterns("_build", "gallery", "generated")
    shutil.copytree(DOCS, tmp_path / "docs", ignore=made)
    for page in ("CHANGELOG.md", "README.md"):
        shutil.copy(ROOT / page, tmp_path)
    # `make docs`, which the actions run, executes the two longest examples, too.
    run = r"/0[1-57]_\w+\.py$"
    options = ("-W", "--keep-going", "-q", "-d", "doctrees")
    options += ("-D", f"sphinx_gallery_conf.filename_pattern={run}")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, "docs", "html"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for example in EXAMPLES:
        page = (tmp_path / "html" / "gallery" / f"{example.stem}.html").read_text(encoding="utf-8")
        has_run = re.search(run, str(example)) is not None
        assert (f"sphx_glr_{example.stem}_001.png" in page) == has_run
