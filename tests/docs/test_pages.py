"""What the pages and the actions tell you to type or lead to is there."""

import re
from pathlib import Path

import numpy as np
import pytest
import yaml

from sparsekm.command.main import main

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def find_python(text):
    (block,) = re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)
    return block


def test_the_lines_of_python_run_and_find_what_was_planted(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(1).normal(size=(45, 60))
    X[:15, :8] += 4
    X[15:30, 8:16] += 4
    header = ",".join(f"gene{j}" for j in range(60))
    np.savetxt("matrix.csv", X, delimiter=",", header=header, comments="")
    names = {}
    exec(compile(find_python(README), "README.md", "exec"), names)
    assert [len(set(names["found"].labels_[k : k + 15])) for k in (0, 15, 30)] == [1, 1, 1]
    kept = set(names["found"].get_support(indices=True))
    assert set(range(16)) <= kept
    # A tenth of what is kept may be noise.
    assert len(kept) <= 18
    assert "All 3 clusters stand apart" in capsys.readouterr().out


def test_the_site_begins_with_the_same_lines():
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    start, end = re.search(r":start-after: (.*)\n:end-before: (.*)\n", index).groups()
    shown = README[README.index(start) : README.index(end)]
    assert find_python(shown) == find_python(README)
    # Links of the README are not those of the site.
    assert find_links(shown) == []


def test_every_make_target_is_there_and_the_command_has_the_options(capsys):
    text = README
    targets = set(re.findall(r"(?:^|`)make ([a-z-]+)", text, re.M))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    known = set(re.findall(r"^([a-z-]+):.*## ", makefile, re.M))
    assert {"results", "test", "run"} <= targets <= known
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    options = set(re.findall(r"--[a-z]+", capsys.readouterr().out))
    commands = re.findall(r"^sparsekm run .*$", text, re.M)
    assert commands
    assert set(re.findall(r"--[a-z]+", " ".join(commands))) <= options


PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLES = {file.stem for file in (ROOT / "docs" / "examples").glob("[0-9]*.py")}


def find_links(text):
    """List the targets of links and images outside code."""
    text = re.sub(r"^```(?!\{image).*?^```$", "", text, flags=re.M | re.S)
    # The words of a link may themselves be an image or code.
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    return [target for target in targets if not re.match(r"\w+:", target)]


def find_anchors(page):
    """List the anchors that GitHub and the site give the headings of a page."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    titles = re.findall(r"^#+ (.+)$", text, re.M)
    return [re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles]


def find_broken(page):
    for target in find_links(page.read_text(encoding="utf-8")):
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        made = re.fullmatch(r"gallery/(\w+)\.rst", path)
        if made:
            if made[1] != "index" and made[1] not in EXAMPLES:
                yield target
        elif not file.is_file() or (anchor and anchor not in find_anchors(file)):
            yield target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page):
    assert list(find_broken(page)) == []


def test_a_broken_link_and_a_heading_that_is_not_there_are_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# One title\n[a](none.md) [b](#one-title) [c](#other) [d](https://x.org)\n")
    assert list(find_broken(page)) == ["none.md", "#other"]


def test_the_readme_is_short_and_leads_to_every_page_of_the_site():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme.count("\n") < 150
    links = find_links(readme)
    listed = []
    for section in ("index.md", "workflow.md"):
        text = (ROOT / "docs" / section).read_text(encoding="utf-8")
        for names in re.findall(r"^```\{toctree\}\n(?::[^\n]*\n)*\n([^`]*)^```$", text, re.M):
            listed += [re.sub(r".*<(.*)>", r"\1", name) for name in names.splitlines()]
    assert len(listed) > 12
    pages = {f"docs/{name}.md" for name in listed if (ROOT / "docs" / f"{name}.md").is_file()}
    # The README leads to the changelog itself, and `make docs` makes the example.
    assert pages - {"docs/changelog.md", "docs/example_report.md"} <= set(links)


def test_the_pages_stay_within_their_words():
    text = "".join(page.read_text(encoding="utf-8") for page in [*PAGES, ROOT / "CONTRIBUTING.md"])
    assert len(text.split()) - len((ROOT / "CHANGELOG.md").read_text().split()) <= 16_000


FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def commands():
    jobs = [job for file in FILES for job in yaml.safe_load(file.read_text())["jobs"].values()]
    return [step["run"] for job in jobs for step in job["steps"] if "run" in step]


def test_every_target_that_the_actions_make_is_there_with_lint_tests_and_site():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):.*## ", makefile, re.M))
    made = set(re.findall(r"\bmake ([a-z-]+)", "\n".join(commands())))
    assert {"lint", "check", "docs"} <= made <= targets
