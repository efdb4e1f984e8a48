"""The first screen of three fitted data sets shows what the files of their fits say."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score
from sound_files import ATTRIBUTES

from sparsekm import KMeans, SparseKMeans
from sparsekm.cluster.matrices.sparse_matrix import cluster_centers
from sparsekm.io.normalised_file import write_normalised
from sparsekm.io.store import TunedFit, read_fit, write_fit
from sparsekm.io.tables import SEPARATION
from sparsekm.reporting.clusters import SAME
from sparsekm.reporting.report import load_dataset_result, write_report
from sparsekm.tuning.separation import LEVEL

N_SAMPLES, N_RELEVANT = 90, 9


def draw(kind):
    """Draw z-scores; among many features without groups, k-means does not see the few with them."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(N_SAMPLES, 1500 if kind == "methods disagree" else 150))
    if kind != "no groups":
        truth = np.arange(N_SAMPLES) % 3
        X[:, :N_RELEVANT] += 5.0 * (truth[:, None] == np.arange(N_RELEVANT) % 3)
    return ((X - X.mean(axis=0)) / X.std(axis=0, ddof=1)).astype(np.float32)


def write(folder, method, found, X, attributes=None, **more):
    """Write the file of a fit."""
    labels = found.labels_.astype(np.int32)
    centers = cluster_centers(X, labels, 3).astype(float)
    scores = (np.bincount(labels)[:, None] * centers**2).sum(axis=0)
    weights = getattr(found, "feature_weights_", np.ones(X.shape[1]))
    about = {**ATTRIBUTES, "method": method, "n_clusters": 3, **(attributes or {})}
    sizes = float(np.count_nonzero(weights)), float(weights @ scores)
    write_fit(
        folder / f"{method}.h5", TunedFit(*sizes, labels, scores, weights, centers, about, **more)
    )


def fit(folder, kind):
    """Write the files of a data set, of the recommended method and of k-means."""
    X = draw(kind)
    obs = pd.DataFrame(index=[f"patient{number}" for number in range(N_SAMPLES)])
    var = pd.DataFrame(index=[f"GENE{number}" for number in range(X.shape[1])])
    file = folder / "normalised.h5ad"
    write_normalised(file, X, obs, var, {"source": "matrix", "normalisation": "zscore"})
    found = SparseKMeans(3, random_state=1).fit(X)
    about = {"has_clusters": found.has_clusters_, "signature_agreement": found.signature_agreement_}
    more = {"reproducibility": found.sample_reproducibility_, "signature": found.signature_}
    write(folder, "sparse", found, X, about, **more)
    SEPARATION.write(folder / "separation.csv", found.separation_)
    write(folder, "kmeans", KMeans(3, random_state=0).fit(X), X)
    return load_dataset_result(
        "mine",
        file,
        fits={"kmeans": folder / "kmeans.h5", "sparse": folder / "sparse.h5"},
        separation={"sparse": folder / "separation.csv"},
    )


@pytest.fixture(scope="module", params=["clear", "no groups", "methods disagree"])
def written(request, tmp_path_factory):
    """The folder of a report, and which data set it is about."""
    folder = tmp_path_factory.mktemp("first_screen")
    result = fit(folder, request.param)
    configuration = {"matrices": {"mine": {"path": "/a/folder/expression.csv", "n_clusters": 3}}}
    write_report([result], folder / "report.html", configuration=configuration)
    return request.param, folder


@pytest.mark.parametrize(("width", "height"), [(1200, 900), (400, 1600)])
def test_the_first_screen_shows_what_the_files_say(written, examine_page, width, height):
    """A narrow one may be scrolled once."""
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
        assert ", ".join(f"GENE{feature}" for feature in ranked[:20]) in text
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
        assert html.count(f"<title>patient{number}, cluster {label}</title>") == 2
        assert f'["patient{number}",{label},' in html
