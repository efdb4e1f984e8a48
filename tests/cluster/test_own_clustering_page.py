"""Every block of docs/own_clustering.md runs and prints what the page says."""

import doctest
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "own_clustering.md"


def test_the_page_prints_what_it_says():
    text = PAGE.read_text(encoding="utf-8")
    # Every fence opens or closes a block of Python, so that none goes untried.
    assert text.count("```python\n>>> ") * 2 == text.count("```") > 8
    outcome = doctest.testfile(str(PAGE), module_relative=False)
    assert outcome.attempted > 20
    assert outcome.failed == 0
