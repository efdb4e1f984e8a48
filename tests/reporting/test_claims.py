"""A page claims no more than its table shows: looked at in a browser, for tables made for it."""

import json
import re
from base64 import b64decode
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score
from sound_files import ATTRIBUTES
from written_files import save_fit

from sparsekm.cluster.batches import (
    centre_batches,
    check_batch,
    conclude_with_batches,
    count_batches,
)
from sparsekm.command.run import describe_results
from sparsekm.io.normalised_file import write_normalised
from sparsekm.io.store import read_fit, write_fit
from sparsekm.io.tables import GAP, SEPARATION
from sparsekm.pipeline.problem import define_problem
from sparsekm.reporting.report import load_dataset_result, write_report
from sparsekm.tuning.chosen_fit import find_clusters
from sparsekm.tuning.partitions import match_clusters

pytestmark = [pytest.mark.xdist_group("claims"), pytest.mark.usefixtures("one_repeat")]
COLUMNS = ["feature", "rank", "score", "weight", "selection frequency"]


@pytest.fixture(scope="module")
def show(tmp_path_factory, examine_page):
    """Cluster a table as the rules do, write its page, and look at it with a browser."""

    def show(X, n_clusters, names=None, others=None, **obs):
        folder = tmp_path_factory.mktemp("claims")
        place = folder / "results" / "mine"
        names = [f"g{j}" for j in range(X.shape[1])] if names is None else names
        Z = ((X - X.mean(axis=0)) / X.std(axis=0, ddof=1)).astype(np.float32)
        about = {"source": "matrix", "normalisation": "zscore"}
        place.mkdir(parents=True)
        file, samples = place / "normalised.h5ad", [f"s{i}" for i in range(len(Z))]
        var = pd.DataFrame(index=names)
        write_normalised(file, Z, pd.DataFrame(obs, samples), var, about)
        given = {"n_clusters": n_clusters, "search": {}, "grid": {}, "code_digest": "0" * 64}
        problem = define_problem(file, "mine", "sparse", seed=1, **given)
        found = find_clusters(problem.settings, problem.whole)
        if "batch" in obs:
            found = add_batches(found, problem)
        fits = {"sparse": place / "sparse" / "tuned.h5"}
        write_fit(fits["sparse"], replace(found, attributes=problem.attributes))
        SEPARATION.write(place / "separation.csv", found.separation)
        files = {"separation": {"sparse": place / "separation.csv"}}
        for name, (labels, n_kept) in (others or {}).items():
            about, weights = {**ATTRIBUTES, "method": name}, 1.0 * (np.arange(Z.shape[1]) < n_kept)
            fits[name] = save_fit(place / name / "tuned.h5", Z, labels, weights, about)
            # The fit that was tuned, from another seed, kept six features more.
            curve = {"sparsity": [2.0, 4.5, 4.6], "n_selected": [4, n_kept + 6, n_kept + 9]}
            curve |= dict.fromkeys(("objective", "log_objective", "reference_mean"), 1.0)
            curve |= {"reference_sd": 0.1, "gap": [0.1, 0.5, 0.4], "se": 0.1}
            files.setdefault("gaps", {})[name] = place / name / "gap.csv"
            GAP.write(place / name / "gap.csv", pd.DataFrame(curve), 1)
        settings = {"matrices": {"mine": {"path": "../table.csv", "n_clusters": n_clusters}}}
        result = load_dataset_result("mine", file, fits=fits, **files)
        write_report([result], folder / "report.html", configuration=settings)
        told = " ".join(" ".join(describe_results(folder, settings, str)).split())
        page = examine_page(folder / "report.html")
        return SimpleNamespace(
            page=page, folder=folder, told=told, result=result, fit=read_fit(fits["sparse"])
        )

    return show


def add_batches(found, problem):
    """Add what the rule that chooses the clusters adds where batches are known."""
    centred = find_clusters(problem.settings, centre_batches(problem.whole))
    same = match_clusters(found.labels, centred.labels, np.arange(len(found.labels)))
    codes, _ = check_batch(problem.whole.about.batch, problem.whole.X)
    said = conclude_with_batches(found.conclusion, count_batches(found.clustered, codes))
    return replace(found, batch_centred=same.astype(np.int32), conclusion=said)


def groups(n_samples, n_features, n_groups, lead, n_marking=6, seed=0):
    """Normal values of groups that differ in `n_marking` features each, and the groups."""
    truth = np.arange(n_samples) % n_groups
    X = np.random.default_rng(seed).normal(size=(n_samples, n_features))
    for group in range(n_groups):
        X[truth == group, group * n_marking : (group + 1) * n_marking] += lead
    return X, truth


@pytest.fixture(scope="module")
def mixed(show):
    """Three groups that the known classes do not know, and one method that nearly agrees."""
    X, truth = groups(90, 60, 3, 4.0)
    classes = np.array(["A", "B", "C"])[np.arange(90) // 30]
    nearly = truth.copy()
    nearly[:4] = (nearly[:4] + 1) % 3
    assert 0.85 < adjusted_rand_score(truth, nearly) < 0.9
    return show(X, 3, label=classes, others={"l1": (nearly, 13), "l0": (truth, 9)})


@pytest.fixture(scope="module")
def noise(show):
    return show(np.random.default_rng(3).normal(size=(60, 40)), 3)


@pytest.fixture(scope="module")
def iris(show):
    X, species = load_iris(return_X_y=True)
    names = ["sepal length", "sepal width", "petal length", "petal width"]
    return show(X, 3, names, label=np.array(["setosa", "versicolor", "virginica"])[species])


@pytest.fixture(scope="module")
def batches(show):
    """Two batches far apart, each with the same two groups."""
    X, _ = groups(80, 60, 2, 3.0)
    batch = np.array(["run1", "run2"])[np.arange(80) // 40]
    X[40:, 20:50] += 6
    return show(X, 2, batch=batch)


def table_of(found, corner):
    return next(table for table in found.page["tables"] if table[0][: len(corner)] == corner)


# A narrow screen may be scrolled once.
@pytest.mark.parametrize(("width", "height"), [(1200, 900), (400, 1600)])
def test_the_first_screen_shows_what_the_files_say(mixed, examine_page, width, height):
    page = examine_page(mixed.folder / "report.html", width)
    assert page["errors"] == []
    assert page["width"] <= width
    assert page["navigation"] <= 0
    assert all(0 < shown <= width for shown in page["pictures"])
    assert page["answer"]["bottom"] <= height
    own = mixed.fit
    ranked = own.signature[np.argsort(-own.scores[own.signature], kind="stable")]
    said = ["3 clusters of 90 samples", "K = 3", "All 3 clusters are clearly separated"]
    said += [f"cluster {k}: {size}" for k, size in enumerate(np.bincount(own.labels))]
    said += [", ".join(f"g{feature}" for feature in ranked[:20])]
    said += ["mine/clusters.csv", "--clusters 4", "--annotate COLUMN"]
    assert [words for words in said if words not in page["answer"]["text"]] == []


def test_every_sample_stands_on_the_page_with_its_cluster(mixed):
    html = (mixed.folder / "report.html").read_text(encoding="utf-8")
    drawn = json.loads(re.findall(r'class="samples">(.*?)</script>', html)[0])
    clusters = drawn["columns"][0]
    for number, label in enumerate(mixed.fit.labels):
        # In the table of samples and on their map.
        assert f'["s{number}",{label},' in html
        assert clusters["codes"][drawn["names"].index(f"s{number}")] == label
    assert len(drawn["names"]) == len(clusters["codes"]) == len(mixed.fit.labels)


def test_a_class_without_a_majority_of_two_thirds_gives_no_name_and_no_colour(mixed, iris):
    first = mixed.page["answer"]["text"]
    assert "cluster 0: 30" in first
    assert "mostly" not in first
    shares = [row[2] for row in table_of(mixed, ["cluster", "samples", "classes"])[1:]]
    assert shares == ["A 33%, B 33%, C 33%"] * 3
    classes = {"#0072b2", "#e69f00", "#009e73"}
    assert not classes & set(mixed.page["swatches"])
    # 50 of 50 are setosa.
    assert "mostly setosa" in iris.page["answer"]["text"]
    assert "setosa 100%" in {row[2] for row in table_of(iris, ["cluster", "samples", "classes"])}


def test_noise_is_a_division_and_its_heat_map_and_markers_are_folded(noise):
    text = noise.page["text"]
    lead = text.partition("\n")[2].strip()
    assert lead.startswith("No separate groups found: noise, a gradient or overlapping groups")
    assert "a division into 3 parts" in lead.partition("\n")[0]
    assert "part 0: " in text
    assert "What marks" not in text
    assert noise.page["visiblePictures"] == 0
    # The terminal says the same.
    assert "mine: No separate groups found: noise, a gradient or overlapping" in noise.told
    assert "a division into 3 parts" in noise.told


def test_the_first_screen_has_the_signature_and_nothing_of_a_factor(show, test_data):
    """`factor` are 100 features of a factor that has nothing to do with the four groups."""
    data = np.load(test_data / "designs" / "factor_120x2000.npz")
    kind = np.full(data["X"].shape[1], "noise", dtype=object)
    kind[data["markers"]], kind[data["factor"]] = "marker", "factor"
    names = [f"{name}{j}" for j, name in enumerate(kind)]
    found = show(data["X"], 4, names)
    assert set(re.findall("(noise|marker|factor)[0-9]", found.page["text"])) == {"marker"}
    html = (found.folder / "report.html").read_text(encoding="utf-8")
    pictures = re.findall(r"data:image/svg\+xml;base64,([^\"]+)", html)
    drawn = re.findall("<!-- ([a-z]+)[0-9]+ -->", "".join(str(b64decode(one)) for one in pictures))
    assert set(drawn) == {"marker"}
    assert f"{len(found.fit.signature)} features assign left-out" in found.page["text"]


def test_columns_of_the_result_come_first_and_each_is_explained_where_it_stands(mixed):
    table = mixed.page["browsers"][0]
    assert table["titles"][: len(COLUMNS)] == COLUMNS
    assert "verdict" not in table["titles"]
    assert len(set(table["titles"])) == len(table["titles"])
    assert [title for title in table["titles"] if f"{title}: " not in table["help"]] == []
    # In the file, the paper's comparison is last.
    assert mixed.result.genes.columns[-1] == "verdict"


def test_one_fit_has_one_number_of_features(mixed):
    chosen = {label for label in mixed.page["labels"] if label.startswith("chosen")}
    assert chosen == {"chosen: s = 4.5, 9 features kept", "chosen: s = 4.5, 13 features kept"}
    kept = {row[0]: row[3] for row in table_of(mixed, ["method", "agreement with the result"])[1:]}
    assert kept["ℓ₁-k-means"] == "13"


def test_a_marker_differs_by_half_a_standard_deviation(iris, mixed):
    for found in (iris, mixed):
        rows = table_of(found, ["cluster", "samples", "classes"])[1:]
        leads = re.findall("[+−]([0-9.]+)", " ".join(cell for row in rows for cell in row[3:5]))
        assert min(map(float, leads)) >= 0.5


def test_a_signature_is_told_by_its_number_and_the_number_that_does_nearly_as_well(show):
    # Each of the 60 features alone says little.
    found = show(groups(90, 80, 3, 1.5, n_marking=20)[0], 3)
    own = found.fit
    assert 0 < own.n_nearly < len(own.signature)
    text = " ".join(found.page["text"].split())
    told = f"{len(own.signature)} features assign left-out samples to the clusters with agreement"
    assert f"{told} {own.signature_agreement:.2f} " in text
    assert f" {own.n_nearly} of them give nearly as much ({own.nearly_agreement:.2f})" in text
    assert "few" not in text.partition("What marks")[0]


def test_a_batch_is_told_once_with_the_clusters_within_batches_beside_it(batches):
    first, text = batches.page["answer"]["text"], batches.page["text"]
    assert text.count("Cramér") == 1
    assert "Clusters and batches coincide and cannot be told apart" in first
    assert "After centring within batches, all samples form 2 clusters of 40 and 40" in first
    assert "Are these batches?" not in text
    within = table_of(batches, ["cluster", "samples", "higher than in the others"])
    assert [row[1] for row in within[1:]] == ["40", "40"]
    # The features of the groups, not those of the batches.
    named = {int(j) for row in within[1:] for j in re.findall("g([0-9]+)", " ".join(row[2:]))}
    assert named
    assert max(named) < 12
    assert "clusters.csv lists these clusters in the column cluster_sparse_within_batches" in first
    assert batches.told.count("coincide") == 1
    assert "all samples form 2 clusters of 40, 40 samples" in batches.told


def test_methods_that_nearly_agree_do_not_disagree(mixed):
    assert "disagree" not in mixed.page["text"]


@pytest.mark.parametrize("name", ["mixed", "noise", "iris", "batches"])
def test_a_page_has_at_most_1000_words_and_no_heading_twice(request, name):
    page = request.getfixturevalue(name).page
    assert 100 < page["words"] <= 1000
    assert len(set(page["headings"])) == len(page["headings"])
    for term in ("CER", "ARI", "NW", "K", "clearly separated", "signature", "reproducibility"):
        assert term in page["terms"]
