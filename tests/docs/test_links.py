"""Links of the README and of the site's pages lead to files and headings that are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
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


def test_the_readme_is_short_and_leads_to_every_page_of_the_guide_and_the_workflow():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme.count("\n") < 150
    links = find_links(readme)
    for section in ("guide.md", "workflow.md"):
        text = (ROOT / "docs" / section).read_text(encoding="utf-8")
        listed = re.search(r"^```\{toctree\}\n(?::[^\n]*\n)*\n([^`]*)^```$", text, re.M)[1].split()
        assert len(listed) > 4
        assert {f"docs/{name}.md" for name in listed} <= set(links), section
