"""The GitHub Actions run the project's own commands: every target of make is there."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def commands():
    jobs = [job for file in FILES for job in yaml.safe_load(file.read_text())["jobs"].values()]
    return [step["run"] for job in jobs for step in job["steps"] if "run" in step]


def test_every_target_that_the_actions_make_is_there_with_lint_tests_and_site():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):.*## ", makefile, re.M))
    made = set(re.findall(r"\bmake ([a-z-]+)", "\n".join(commands())))
    assert {"lint", "check", "docs"} <= made <= targets
