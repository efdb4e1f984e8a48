"""Fixtures that every test may use."""

import html
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tracemalloc
from itertools import product
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]


def pytest_collection_modifyitems(items):
    """Begin with the tests of a whole run, which one process makes, then slow ones and groups.

    Begun last, one alone would keep the other processes waiting.
    """

    def turn(item):
        group = item.get_closest_marker("xdist_group")
        is_slow = item.get_closest_marker("slow") is not None
        return group is None or group.args[0] != "workflow", not is_slow, group is None

    items.sort(key=turn)


# Of a window of Chromium; a narrower page is shown in a frame.
NARROWEST = 500


@pytest.fixture(scope="session")
def project_root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def rules_text() -> str:
    """The rules of the workflow, as they are written."""
    return "".join(file.read_text() for file in (ROOT / "workflow").rglob("*.smk"))


@pytest.fixture(scope="session")
def test_data() -> Path:
    """Folder of real data, which is not part of the project: tests of facts skip without it."""
    folder = Path(os.environ.get("SPARSEKM_TEST_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real test data: {folder} is absent (SPARSEKM_TEST_DATA names it)")
    return folder


@pytest.fixture(params=["pipe", "socket"])
def unread(request, tmp_path):
    """Make a pipe, or a socket, of a name; whoever waits for its content is stopped."""

    def make(name):
        place = tmp_path / name
        if not place.exists():
            if request.param == "pipe":
                os.mkfifo(place)
            else:
                with socket.socket(socket.AF_UNIX) as opened:
                    opened.bind(str(place))
        return place

    def stop(*about):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(60)
    yield make
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(name="X")
def matrix(seed):
    return np.random.default_rng(seed).normal(size=(6, 4)).astype(np.float32)


@pytest.fixture(scope="session")
def peak_bytes():
    """Call a function, and return the most bytes that Python held at once."""

    def measure(work, *given):
        tracemalloc.start()
        try:
            work(*given)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    return measure


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    """Give the function that opens a page in a headless Chromium; without one tests skip."""
    names = ("chromium", "chromium-browser", "google-chrome")
    program = next(filter(None, map(shutil.which, names)), None)
    if program is None:
        pytest.skip(f"no Chromium on this machine: none of {', '.join(names)} is on PATH")

    quiet = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --hide-scrollbars"
    alone = "--disable-background-networking --disable-component-update --disable-sync"
    options = f"{quiet} {alone} --disable-default-apps --enable-logging=stderr".split()

    def open_page(page: Path, *arguments: str) -> subprocess.CompletedProcess:
        options_of_one = [f"--user-data-dir={tmp_path_factory.mktemp('chromium')}", *arguments]
        command = [program, *options, *options_of_one, page.as_uri()]
        return subprocess.run(command, capture_output=True, text=True, timeout=180, check=True)

    return open_page


@pytest.fixture(scope="session")
def examine_page(chromium, tmp_path_factory, project_root):
    """Give the function that uses a page of the report in a browser and tells what it found."""
    probe = (project_root / "tests" / "reporting" / "page_probe.js").read_text(encoding="utf-8")

    def examine(page: Path, width: int = 1200) -> dict:
        copy = tmp_path_factory.mktemp("probed") / "page.html"
        text = page.read_text(encoding="utf-8")
        probed = f"<script>{probe}</script></body>"
        copy.write_text(text.replace("</body>", probed), encoding="utf-8")
        if width < NARROWEST:
            frame = f'<iframe src="{copy.name}" width="{width}" height="2000"></iframe>'
            listen = "<script>onmessage = (event) => { document.title = event.data; };</script>"
            copy = copy.with_name("frame.html")
            copy.write_text(f"<title>narrow</title>{listen}{frame}", encoding="utf-8")
        # Virtual time, which waits for the page to load: no machine is too busy.
        budget = "--virtual-time-budget=20000"
        done = chromium(copy, f"--window-size={max(width, NARROWEST)},2000", budget, "--dump-dom")
        title = re.search(r"<title>FOUND(\{.*\})END</title>", done.stdout, re.DOTALL)
        assert title, done.stderr
        console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
        return json.loads(html.unescape(title[1])) | {"console": console}

    return examine


@pytest.fixture(scope="session")
def kernels():
    """Compile what most runs need where projects are copied from; each process begins elsewhere."""
    from sparsekm import GapSearch, KMeans, L0KMeans, L1KMeans, PenalizedGaussianMixture

    X = np.random.default_rng(0).standard_normal((24, 30))
    l0, options = L0KMeans(2, search="global"), {"sparsities": [3, 30], "n_references": 2}
    estimators = [KMeans(2), L1KMeans(2), L0KMeans(2, search="alternate")]
    estimators += [GapSearch(l0, reference="gaussian", **options), PenalizedGaussianMixture(2)]
    fits = [*product((np.float32, np.float64), estimators)]
    if os.environ.get("PYTEST_XDIST_WORKER", "gw0")[-1] in "13579":
        fits.reverse()
    for dtype, estimator in fits:
        estimator.fit(X.astype(dtype))
    # So few samples that all partitions are tried.
    l0.fit(X[:8])


@pytest.fixture(scope="session")
def new_project(kernels, tmp_path_factory, project_root):
    """Give the function that makes a small project with changed settings."""
    from small_project import make_project

    def new(change=""):
        project = make_project(tmp_path_factory.mktemp("project"), project_root)
        project.configure(change)
        return project

    return new


@pytest.fixture(scope="session")
def finished(new_project):
    """The project after one whole run; tests that change it put everything back."""
    project = new_project()
    project.told = project.run("--cores", "2")
    return project


@pytest.fixture
def fresh(new_project):
    return new_project()


@pytest.fixture
def copied(finished, tmp_path):
    """A copy of the finished project, to be damaged."""
    from small_project import Project

    shutil.copytree(finished.root, tmp_path / "copy")
    return Project(tmp_path / "copy")


@pytest.fixture(scope="module")
def one_repeat():
    """Folds are drawn once instead of five times: most claims hang on no number of them."""
    from sparsekm.tuning import chosen_fit, fold_fits

    with pytest.MonkeyPatch.context() as patch:
        for module in (chosen_fit, fold_fits):
            patch.setattr(module, "N_REPEATS", 1)
        yield


@pytest.fixture
def seed() -> int:
    """One seed for all tests; SPARSEKM_TEST_SEED sets another: no claim hangs on its value."""
    return int(os.environ.get("SPARSEKM_TEST_SEED", "20180101"))
