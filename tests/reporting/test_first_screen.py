"""The first screen of a fitted data set shows what the files of its fit say."""

import json
import re

import numpy as np
import pytest
from sound_files import ATTRIBUTES
from written_files import save_fit, save_matrix

from sparsekm import SparseKMeans
from sparsekm.io.store import read_fit
from sparsekm.io.tables import SEPARATION
from sparsekm.reporting.report import load_dataset_result, write_report

pytestmark = [pytest.mark.xdist_group("first screen"), pytest.mark.usefixtures("one_repeat")]

ZSCORED = {"source": "matrix", "normalisation": "zscore"}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The folder of a report on clusters that are far apart, and of the files that it is about."""
    folder = tmp_path_factory.mktemp("first_screen")
    X = np.random.default_rng(11).normal(size=(90, 150))
    X[:, :9] += 5.0 * (np.arange(90)[:, None] % 3 == np.arange(9) % 3)
    X = ((X - X.mean(axis=0)) / X.std(axis=0, ddof=1)).astype(np.float32)
    file = save_matrix(folder / "normalised.h5ad", X, about=ZSCORED)
    found = SparseKMeans(3, random_state=1).fit(X)
    about = {"has_clusters": found.has_clusters_, "signature_agreement": found.signature_agreement_}
    more = {"reproducibility": found.sample_reproducibility_, "signature": found.signature_}
    about |= {**ATTRIBUTES, "method": "sparse"}
    answer = X, found.labels_, found.feature_weights_, about
    fits = {"sparse": save_fit(folder / "sparse.h5", *answer, **more)}
    SEPARATION.write(folder / "separation.csv", found.separation_)
    tables = {"sparse": folder / "separation.csv"}
    result = load_dataset_result("mine", file, fits=fits, separation=tables)
    configuration = {"matrices": {"mine": {"path": "/a/folder/expression.csv", "n_clusters": 3}}}
    write_report([result], folder / "report.html", configuration=configuration)
    return folder


# A narrow one may be scrolled once.
@pytest.mark.parametrize(("width", "height"), [(1200, 900), (400, 1600)])
def test_the_first_screen_shows_what_the_files_say(written, examine_page, width, height):
    page = examine_page(written / "report.html", width)
    assert page["errors"] == []
    assert page["width"] <= width
    assert page["answer"]["bottom"] <= height
    own = read_fit(written / "sparse.h5")
    ranked = own.signature[np.argsort(-own.scores[own.signature], kind="stable")]
    said = ["3 clusters of 90 samples", "K = 3", "All 3 clusters are clearly separated"]
    said += [f"cluster {k}: {size}" for k, size in enumerate(np.bincount(own.labels))]
    said += [", ".join(f"g{feature}" for feature in ranked[:20])]
    said += ["mine/clusters.csv", "--clusters 4", "--annotate COLUMN"]
    assert [words for words in said if words not in page["answer"]["text"]] == []


def test_every_sample_stands_on_the_page_with_its_cluster(written):
    html = (written / "report.html").read_text(encoding="utf-8")
    labels = read_fit(written / "sparse.h5").labels
    drawn = json.loads(re.findall(r'class="samples">(.*?)</script>', html)[0])
    clusters = drawn["columns"][0]
    for number, label in enumerate(labels):
        # In the table of samples and on their map.
        assert f'["s{number}",{label},' in html
        place = drawn["names"].index(f"s{number}")
        assert clusters["codes"][place] == label
    assert len(drawn["names"]) == len(clusters["codes"]) == len(labels)


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
