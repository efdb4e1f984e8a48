"""What pages and actions tell you to type or lead to is there; the site has every public name."""

import os
import re
import shlex
import shutil
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from benchmarks.__main__ import NAMES
from benchmarks.figures import BEGIN, END, FILE, OTHERS, PAGE, RATIOS, table_of, worse
from configuration_reader import read_configuration
from snakemake_process import run_command

import sparsekm
import sparsekm.metrics
from sparsekm.command.main import main
from sparsekm.io.readers.reader import read_matrix

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(DOCS.glob("*.md"))]
EXAMPLES = sorted((DOCS / "examples").glob("[0-9]*.py"))
README = (ROOT / "README.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z-]+):.*## ", MAKEFILE, re.M))


def blocks(page):
    """List the kind and the text of every block of a page."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", page, re.M | re.S)
    # Every fence is one of a block, so that none goes untried.
    assert 2 * len(found) == len(re.findall(r"^```", page, re.M))
    return found


PYTHON = r"^```python\n(.*?)^```$"


def find_python(text):
    (block,) = re.findall(PYTHON, text, re.M | re.S)
    return block


def test_the_lines_of_python_run_and_find_what_was_planted(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(1).normal(size=(45, 60))
    X[:15, :8] += 4
    X[15:30, 8:16] += 4
    # As the command reads it, too: the first column names the samples.
    table = pd.DataFrame(X, [f"s{i}" for i in range(45)], [f"gene{j}" for j in range(60)])
    table.to_csv("matrix.csv")
    names = {}
    exec(compile(find_python(README), "README.md", "exec"), names)
    assert [len(set(names["model"].labels_[k : k + 15])) for k in (0, 15, 30)] == [1, 1, 1]
    kept = set(names["model"].get_support(indices=True))
    assert set(range(16)) <= kept
    # A tenth of what is kept may be noise.
    assert len(kept) <= 18
    assert "All 3 clusters are clearly separated" in capsys.readouterr().out


def test_the_site_begins_with_the_same_lines():
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    start, end = re.search(r":start-after: (.*)\n:end-before: (.*)\n", index).groups()
    shown = README[README.index(start) : README.index(end)]
    assert find_python(shown) == find_python(README)
    # Links of the README are not those of the site.
    assert find_links(shown) == []


COMMANDS = [
    command
    for kind, block in blocks(README)
    if kind != "python"
    for line in block.splitlines()
    if (command := line.partition("#")[0].strip())
]


def test_blocks_of_the_readme_are_of_python_or_commands_and_every_target_of_make_is_there():
    assert {"python"} <= {kind for kind, _ in blocks(README)} <= {"python", "", "bash"}
    assert {command.split()[0] for command in COMMANDS} <= {"make", "sparsekm", "snakemake"}
    targets = set(re.findall(r"(?:^|`)make ([a-z-]+)", README, re.M))
    assert {"results", "test", "run"} <= targets <= TARGETS


@pytest.mark.parametrize("command", [line for line in COMMANDS if line.startswith("make ")])
def test_a_target_is_there_with_these_arguments(command):
    done = run_command([*shlex.split(command), "--dry-run"], ROOT)
    assert done.returncode == 0, done.stdout
    assert done.stdout


@pytest.mark.parametrize("command", [line for line in COMMANDS if line.startswith("sparsekm ")])
def test_the_command_reads_the_table_that_the_pages_show(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(re.search(PYTHON, (DOCS / "own_data.md").read_text("utf-8"), re.M | re.S)[1], {})
    assert main([*shlex.split(command)[1:], "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert "tumours.csv: 60 samples x 200 features" in told
    assert "3 classes: basal 20, luminal 20, normal 20" in told


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
            if made[1] != "index" and made[1] not in {file.stem for file in EXAMPLES}:
                yield target
        elif not file.is_file() or (anchor and anchor not in find_anchors(file)):
            yield target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page):
    assert list(find_broken(page)) == []


def test_the_readme_is_short_and_leads_to_every_page_of_the_site():
    assert README.count("\n") < 150
    links, listed = find_links(README), []
    for section in ("index", "howto", "reference", "explanation"):
        text = (DOCS / f"{section}.md").read_text(encoding="utf-8")
        for names in re.findall(r"^```\{toctree\}\n(?::[^\n]*\n)*\n([^`]*)^```$", text, re.M):
            listed += [re.sub(r".*<(.*)>", r"\1", name) for name in names.splitlines()]
    # Every page is in one of these lists.
    assert {page.stem for page in DOCS.glob("*.md")} - {"index"} <= set(listed)
    pages = {f"docs/{name}.md" for name in listed if (DOCS / f"{name}.md").is_file()}
    # The README leads to the changelog itself, and `make docs` makes the example.
    assert pages - {"docs/changelog.md", "docs/example_report.md"} <= set(links)


def test_the_pages_stay_within_their_words():
    """Of prose: code, tables of figures or formats, and the changelog do not count."""
    pages = {*PAGES, ROOT / "CONTRIBUTING.md"} - {ROOT / "CHANGELOG.md"}
    text = "\n".join(page.read_text(encoding="utf-8") for page in sorted(pages))
    prose = re.sub(r"^```.*?^```$|^\|[^\n]*$", "", text, flags=re.M | re.S)
    assert len(prose.split()) <= 16_000
    assert len((DOCS / "method.md").read_text(encoding="utf-8").split()) <= 600
    # One screen about the first version.
    assert (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").count("\n") <= 45


def test_the_readme_names_the_versions_of_python_that_are_allowed_and_tested():
    oldest, newest = re.search(r"Python (3\.\d+) to (3\.\d+)", README).groups()
    assert f'requires-python = ">={oldest}"' in (ROOT / "pyproject.toml").read_text("utf-8")
    assert f"3.12 and {newest}" in (DOCS / "limits.md").read_text("utf-8")
    # No other number is on the page that a change could make wrong.
    text = re.sub(r"```.*?```|\[[^\]]*\]\([^)]*\)", "", README, flags=re.S)
    numbers = re.findall(r"(?<![\w.-])\d(?:[\d.,]*\d)?", text)
    assert set(numbers) == {oldest, newest}


FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_every_target_that_the_actions_make_is_there_with_lint_tests_and_site():
    jobs = [job for file in FILES for job in yaml.safe_load(file.read_text())["jobs"].values()]
    commands = [step["run"] for job in jobs for step in job["steps"] if "run" in step]
    made = set(re.findall(r"\bmake ([a-z-]+)", "\n".join(commands)))
    assert {"lint", "check", "docs"} <= made <= TARGETS


def test_every_benchmark_is_in_the_list_of_all():
    modules = [file for file in (ROOT / "benchmarks").glob("*.py") if "__" not in file.name]
    found = [file.stem for file in modules if "\ndef benchmark(" in file.read_text("utf-8")]
    assert sorted(found) == sorted(NAMES)
    assert "trace_data" in found


def row(**changed):
    values = {column: 10.0 for pair in RATIOS.values() for column in pair[:2]}
    return values | dict.fromkeys(OTHERS, 10.0) | {"date": "2026-01-01"} | changed


def test_the_page_shows_the_last_row(project_root):
    text = (project_root / PAGE).read_text("utf-8")
    shown = text[text.index(BEGIN) + len(BEGIN) : text.index(END)]
    assert shown == table_of(pd.read_csv(FILE))


def test_a_ratio_that_got_a_fifth_worse_is_named_and_no_other():
    # Twice the seconds of both are another machine.
    other_machine = {column: 20.0 for pair in RATIOS.values() for column in pair[:2]}
    assert worse(pd.DataFrame([row(), row(**other_machine)])) == []
    assert worse(pd.DataFrame([row(), row(wide_cpu=11.9)])) == []
    (line,) = worse(pd.DataFrame([row(), row(wide_cpu=12.1)]))
    assert "wide" in line
    assert "1.21" in line
    assert "| 30.00 | 10.00 | 3.0 |" in table_of(pd.DataFrame([row(run_cpu=30.0)]))


def test_the_reference_lists_every_public_name_once_and_only_what_is_there_and_documented():
    listed = re.findall(r"^   ([\w.]+)$", (DOCS / "api.rst").read_text(encoding="utf-8"), re.M)
    assert len(listed) == len(set(listed))
    public = {*sparsekm.__all__} - {"__version__"}
    public |= {f"metrics.{name}" for name in {*sparsekm.metrics.__all__} - public}
    assert public <= set(listed)
    contributing = (DOCS.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    names = contributing.partition("## Public names\n")[2].partition("\n## ")[0]
    assert sorted(re.findall(r"`([\w.]+)`", names.partition("|---")[2])) == sorted(listed)
    for name in listed:
        home, _, last = f"sparsekm.{name}".rpartition(".")
        assert getattr(import_module(home), last).__doc__, name


def test_the_site_needs_nothing_from_the_network():
    written = [file for file in [DOCS / "conf.py", *(DOCS / "_static").iterdir()] if file.is_file()]
    assert not [file.name for file in written if "://" in file.read_text(encoding="utf-8")]
    assert 'html_math_renderer = "mathml"' in (DOCS / "conf.py").read_text(encoding="utf-8")


def test_a_warning_fails_the_build_and_the_report_that_the_page_opens_is_made():
    recipe = re.search(r"^docs: .*\n((?:\t.*\n)+)", MAKEFILE, re.M)[1]
    assert "-m sphinx -W " in recipe
    shown = re.search(r'href="(\w+\.html)"', (DOCS / "example_report.md").read_text())[1]
    assert f"docs/_build/html/{shown}" in recipe


@pytest.mark.release
@pytest.mark.usefixtures("kernels")
def test_every_page_builds_without_a_warning_and_examples_run(tmp_path):
    pytest.importorskip("scanpy", reason="the extra `docs` is not installed")
    made = shutil.ignore_patterns("_build", "gallery", "generated")
    shutil.copytree(DOCS, tmp_path / "docs", ignore=made)
    for page in ("CHANGELOG.md", "README.md", "config.yaml"):
        shutil.copy(ROOT / page, tmp_path)
    shutil.copytree(ROOT / "config", tmp_path / "config")
    # `make docs`, which the actions run, executes the two longest examples, too.
    run = r"/0[1-57]_\w+\.py$"
    options = ("-W", "--keep-going", "-q", "-d", "doctrees")
    options += ("-D", f"sphinx_gallery_conf.filename_pattern={run}")
    done = run_command([sys.executable, "-m", "sphinx", *options, "docs", "html"], tmp_path)
    assert done.returncode == 0, done.stdout
    for example in EXAMPLES:
        page = (tmp_path / "html" / "gallery" / f"{example.stem}.html").read_text(encoding="utf-8")
        has_run = re.search(run, str(example)) is not None
        assert (f"sphx_glr_{example.stem}_001.png" in page) == has_run


def run_in_shell(commands, folder):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command in commands.splitlines():
        done = run_command(["bash", "-c", command], folder, PATH=path)
        assert done.returncode == 0, (command, done.stdout)


def run_blocks(page, names, folder):
    """Run the blocks of a page in a folder; give its configurations and its excerpt of a table."""
    settings, excerpt = {}, None
    for kind, block in blocks(page.read_text(encoding="utf-8")):
        if kind == "python":
            exec(compile(block, page.name, "exec"), names)
        elif kind == "yaml":
            name = re.match(r"# (\w+\.yaml)\n", block)[1]
            (folder / name).write_text(block)
            settings[name] = read_configuration(folder / name)
        elif kind == "bash":
            run_in_shell(block, folder)
        else:
            assert kind in {"csv", "text", "r"}
            excerpt = block if kind == "csv" else excerpt
    return settings, excerpt


@pytest.mark.release
def test_every_block_about_own_data_runs_and_finds_what_was_planted(fresh, monkeypatch):
    root, names = fresh.root, {}
    shutil.copy(ROOT / "config.yaml", root)
    monkeypatch.chdir(root)
    _, excerpt = run_blocks(DOCS / "own_data.md", names, root)
    lines = (root / "tumours.csv").read_text().splitlines()
    for shown, written in zip(excerpt.splitlines(), lines, strict=False):
        assert written.startswith(shown + ",")
    # These pages import and read what they need.
    settings, _ = run_blocks(DOCS / "formats.md", {}, root)
    of_counts: dict = {}
    run_blocks(DOCS / "counts.md", of_counts, root)
    names |= of_counts
    listed = re.findall(r"`((?:results|logs)\b[^`]*)`", (DOCS / "files.md").read_text("utf-8"))
    assert len(listed) >= 18
    for file in listed:
        assert (root / file).exists(), file
    check_what_was_found(names)
    check_formats(settings["formats.yaml"]["matrices"])


def test_the_analyses_of_other_software_run_and_find_what_was_planted(tmp_path):
    names = {}
    run_blocks(DOCS / "coming_from.md", names, tmp_path)
    for labels in (names["search"].labels_, names["labels"], names["model"].labels_):
        assert [len(set(labels[k : k + 30])) for k in (0, 30, 60)] == [1, 1, 1]


def test_the_search_by_the_gap_runs_and_keeps_what_was_planted(tmp_path):
    names = {}
    run_blocks(DOCS / "framework.md", names, tmp_path)
    kept = names["search"].get_support(indices=True)
    assert set(range(20)) <= set(kept)
    assert len(kept) <= 24


@pytest.mark.release
def test_the_tutorial_runs_and_reports_what_it_says(fresh, monkeypatch):
    page, root = (DOCS / "tutorial.md").read_text("utf-8"), fresh.root
    monkeypatch.chdir(root)
    run_blocks(DOCS / "tutorial.md", {}, root)
    results = root / "sparsekm-biopsies" / "results" / "biopsies"
    shown = re.findall(r"^\| .*k-means.* \| (\d+) \| ([\d.]+) \|$", page, re.M)
    for method, (kept, ari) in zip(("sparse", "kmeans", "l1", "l0"), shown, strict=True):
        (scores,) = pd.read_csv(results / method / "scores.csv").to_dict("records")
        assert (scores["n_nonzero_weights"], f"{scores['ari']:.3f}") == (int(kept), ari)
    table = pd.read_csv(results / "clusters.csv")
    counts = pd.crosstab(table["cluster_sparse"], table["label"])
    for cluster, (benign, malignant) in counts[["benign", "malignant"]].iterrows():
        assert f"| {cluster} | {benign} | {malignant} |" in page
    assert pd.read_csv(results / "sparse" / "separation.csv")["p_adjusted"].min() > 0.05
    choices = pd.read_csv(results / "choices.csv").set_index("choice")["agreement"]
    assert f"with the result is {choices['half of the samples']:.2f}." in page


def check_what_was_found(names):
    planted = {f"gene{j + 1}" for j in range(20)}
    for kept in (set(names["kept"].index), set(names["genes"])):
        assert planted <= kept
        assert len(kept) < 40
    for obs, kind, cluster in (
        (names["clusters"].obs, "label", "cluster_sparse"),
        (names["cells"].obs, "kind", "sparse_kmeans"),
    ):
        assert obs.groupby(kind, observed=True)[cluster].nunique().tolist() == [1, 1, 1]
    assert names["mine"].obs["cluster_sparse"].notna().all()
    assert names["mine"].var["kept_sparse"].sum() == len(names["kept"])
    assert names["counted"].n_clusters_ == 3
    assert names["counted"].has_clusters_


def check_formats(matrices):
    read = {
        name: read_matrix(entry["path"], entry.get("labels"), entry.get("layer"))
        for name, entry in matrices.items()
    }
    first = read["text"]
    for name, raw in read.items():
        values, others = (each.collect() + each.offset for each in (raw, first))
        np.testing.assert_allclose(values, others, atol=1e-6)
        assert raw.about.features == first.about.features
        assert raw.about.samples == first.about.samples
        if "n_clusters" in matrices[name]:
            assert raw.about.labels is None
        else:
            assert raw.about.labels.tolist() == first.about.labels.tolist()
