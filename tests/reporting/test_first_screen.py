"""The first screen of three fitted data sets shows what the files of their fits say."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from sound_files import ATTRIBUTES
from written_files import save_fit, save_matrix

from sparsekm import KMeans, SparseKMeans
from sparsekm.io.store import read_fit
from sparsekm.io.tables import SEPARATION
from sparsekm.reporting.clusters import SAME
from sparsekm.reporting.report import load_dataset_result, write_report
from sparsekm.tuning.separation import LEVEL

pytestmark = pytest.mark.xdist_group("first screen")

N_SAMPLES, N_RELEVANT = 90, 9
ZSCORED = {"source": "matrix", "normalisation": "zscore"}


def draw(kind):
    """Draw z-scores; among many features without groups, k-means does not see the few with them."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(N_SAMPLES, 1500 if kind == "methods disagree" else 150))
    if kind != "no groups":
        truth = np.arange(N_SAMPLES) % 3
        X[:, :N_RELEVANT] += 5.0 * (truth[:, None] == np.arange(N_RELEVANT) % 3)
    return ((X - X.mean(axis=0)) / X.std(axis=0, ddof=1)).astype(np.float32)


def fit(folder, kind):
    """Write the files of a data set, of the recommended method and of k-means."""
    X = draw(kind)
    file = save_matrix(folder / "normalised.h5ad", X, about=ZSCORED)
    found = SparseKMeans(3, random_state=1).fit(X)
    about = {"has_clusters": found.has_clusters_, "signature_agreement": found.signature_agreement_}
    more = {"reproducibility": found.sample_reproducibility_, "signature": found.signature_}
    about |= {**ATTRIBUTES, "method": "sparse"}
    answer = X, found.labels_, found.feature_weights_, about
    fits = {"sparse": save_fit(folder / "sparse.h5", *answer, **more)}
    table = folder / "separation.csv"
    SEPARATION.write(table, found.separation_)
    labels = KMeans(3, random_state=0).fit(X).labels_
    about = {**ATTRIBUTES, "method": "kmeans"}
    fits["kmeans"] = save_fit(folder / "kmeans.h5", X, labels, np.ones(X.shape[1]), about)
    return load_dataset_result("mine", file, fits=fits, separation={"sparse": table})


SLOW = [pytest.param(kind, marks=pytest.mark.release) for kind in ("no groups", "methods disagree")]


@pytest.fixture(scope="module", params=["clear", *SLOW])
def written(request, tmp_path_factory):
    """The folder of a report, and which data set it is about."""
    folder = tmp_path_factory.mktemp("first_screen")
    result = fit(folder, request.param)
    configuration = {"matrices": {"mine": {"path": "/a/folder/expression.csv", "n_clusters": 3}}}
    write_report([result], folder / "report.html", configuration=configuration)
    return request.param, folder


@pytest.mark.parametrize(("width", "height"), [(1200, 900), (400, 1600)])
def test_the_first_screen_shows_what_the_files_say(written, examine_page, width, height):
    kind, folder = written
    page = examine_page(folder / "report.html", width)
    assert page["errors"] == []
    assert page["width"] <= width
    assert page["answer"]["bottom"] <= height
    text = page["answer"]["text"]
    own = read_fit(folder / "sparse.h5")
    numbers, sizes = np.unique(own.labels, return_counts=True)
    assert f"{len(numbers)} clusters of {N_SAMPLES} samples" in text
    assert f"K = {len(numbers)}" in text
    for number, size in zip(numbers, sizes, strict=True):
        assert f"cluster {number}: {size}" in text
    if own.signature is None:
        assert "No small set of features tells the clusters apart" in text
    else:
        ranked = own.signature[np.argsort(-own.scores[own.signature], kind="stable")]
        assert ", ".join(f"g{feature}" for feature in ranked[:20]) in text
    apart = SEPARATION.read(folder / "separation.csv")["p_adjusted"] <= LEVEL
    assert ("No clusters stand apart" in text) == (not apart.any())
    assert ("All 3 clusters stand apart" in text) == bool(apart.all())
    assert apart.any() == (kind != "no groups")
    same = adjusted_rand_score(own.labels, read_fit(folder / "kmeans.h5").labels)
    assert ("The methods disagree" in text) == (same < SAME)
    assert (same < SAME) == (kind != "clear")
    for step in ("mine/clusters.csv", "--clusters 4", "--annotate COLUMN"):
        assert step in text


def test_every_sample_stands_on_the_page_with_its_cluster(written):
    _, folder = written
    html = (folder / "report.html").read_text(encoding="utf-8")
    labels = read_fit(folder / "sparse.h5").labels
    for number, label in enumerate(labels):
        # In the heat map and in the scatter.
        assert html.count(f"<title>s{number}, cluster {label}</title>") == 2
        assert f'["s{number}",{label},' in html


def test_500_samples_of_20_000_features_make_a_page_of_at_most_3_mb(tmp_path):
    rng = np.random.default_rng(0)
    n_samples, n_features, n_kept = 500, 20_000, 900
    labels = rng.integers(4, size=n_samples)
    X = rng.standard_normal((n_samples, n_features), dtype=np.float32)
    X[:, :n_kept] += 2 * labels[:, None]
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    classes = np.array(["basal", "luminal A", "luminal B", "her2"])[labels]
    file = save_matrix(tmp_path / "normalised.h5ad", X, {"label": classes}, about=ZSCORED)
    kept = np.arange(n_features) < n_kept
    sparse = {"reproducibility": rng.random(n_samples), "selection_frequency": kept.astype(float)}
    sparse["partitions"] = np.array([labels] * 50).astype(np.int16)
    fits = {}
    for method in ("kmeans", "l1", "l0", "sparse"):
        weights = kept.astype(float) if method != "kmeans" else np.ones(n_features)
        more = sparse if method == "sparse" else {}
        about = {**ATTRIBUTES, "method": method}
        fits[method] = save_fit(tmp_path / f"{method}.h5", X, labels, weights, about, **more)
    result = load_dataset_result("mine", file, fits=fits)
    assert len(result.genes) == n_features
    write_report([result], tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size < 3e6
