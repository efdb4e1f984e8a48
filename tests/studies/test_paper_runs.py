"""The paper's settings and rows, repetitions that are kept, and the published searches."""

from dataclasses import asdict

import numpy as np
import pytest

from sparsekm.cluster.estimators import L0KMeans
from sparsekm.cluster.matrices.matrix import CentredMatrix
from sparsekm.cluster.weight_step import TopFeatures
from sparsekm.metrics import classification_error_rate
from sparsekm.pipeline.provenance import derive_seed
from sparsekm.pipeline.registry import METHODS
from sparsekm.simulation import draw_replicate, experiment_2
from sparsekm.studies import (
    METHOD_ROWS,
    PAPER_SETTINGS,
    get_setting,
    paper_runs,
    select_settings,
    stand_ins,
)
from sparsekm.studies.paper_runs import (
    METRICS,
    LloydKMeans,
    LloydPartition,
    OverwritingL0KMeans,
    PrintedL0KMeans,
    RepetitionStore,
    draw_data,
    run_as_printed,
    run_repetition,
)
from sparsekm.tuning.gap_search import GapSearch

SMALL = get_setting("experiment_3", "p25")
QUICK = {"n_init": 2, "n_sparsities": 3, "n_references": 2, "n_refined": 0}


def test_experiments_and_single_settings_are_selected_in_the_papers_order():
    chosen = select_settings(["experiment_4/rho0.3", "experiment_2", "experiment_2/mu0.6_p200"])
    of_two = [f"mu{mu}_p{p}" for mu in (0.6, 0.7) for p in (200, 500, 1000)]
    assert [s.name for s in chosen] == [*of_two, "rho0.3"]
    with pytest.raises(ValueError, match="'experiment_5' should be one of"):
        select_settings(["experiment_5"])
    for setting in PAPER_SETTINGS:
        # A name ends in the number of features, or in the correlation of 2,000.
        size = setting.name.rpartition("p")[2] if "p" in setting.name else 2000
        data = draw_data(setting, root=0, replicate=0, standardise=True)
        n_relevant = 5 if setting.name == "p25" else 200 if int(size) == 2000 else 50
        assert (len(data.relevant), data.relevant.sum()) == (int(size), n_relevant), setting


def test_one_row_is_judged_for_each_of_the_papers_methods_the_printed_algorithm_first():
    ran = {"relevant", "kmeans", "l0_global", "l0_printed", "l0_alternate", "l1_lloyd"}
    assert stand_ins(ran) == {"kmeans": "kmeans", "l0": "l0_printed"}
    assert stand_ins(ran - {"l0_printed"})["l0"] == "l0_alternate"


def test_all_rows_see_the_data_of_draw_replicate():
    expected = draw_replicate(SMALL.experiment, SMALL.arguments, root=5, replicate=2)
    data = draw_data(SMALL, root=5, replicate=2, standardise=True)
    np.testing.assert_array_equal(data.X, expected.X)
    raw = draw_data(SMALL, root=5, replicate=2, standardise=False)
    scaled = (raw.X - raw.X.mean(axis=0)) / raw.X.std(axis=0, ddof=1)
    np.testing.assert_allclose(scaled, data.X, atol=1e-12)


@pytest.mark.parametrize("name", METHOD_ROWS)
def test_every_row_runs_and_keeps_the_identities_of_its_counts(name):
    found = run_repetition(SMALL, METHOD_ROWS[name], QUICK, root=1, replicate=0)
    metrics = dict(zip(METRICS, found.metrics, strict=True))
    assert 0 <= metrics["cer"] <= 1
    assert metrics["nw"] == np.count_nonzero(found.weights)
    # Noise features kept are those kept that are not relevant, and 20 - PZW.
    assert metrics["nw"] - metrics["pnw"] == 20 - metrics["pzw"]
    assert (len(found.gap) > 0) == (METHODS[METHOD_ROWS[name].method].tuning == "gap")
    if len(found.gap):
        assert metrics["sparsity"] in found.gap[:, 0]


def test_a_repetition_is_what_a_direct_call_gives():
    row, data = METHOD_ROWS["l0_alternate"], draw_data(SMALL, root=1, replicate=3, standardise=True)
    found = run_repetition(SMALL, row, QUICK, root=1, replicate=3)
    seed = derive_seed(1, "simulation", "experiment_3", "p25", 3)
    search = GapSearch(
        L0KMeans(3, search="alternate", n_init=2, random_state=seed),
        sparsities=found.gap[:, 0],
        n_references=2,
        rule="max",
        random_state=seed,
    ).fit(data.X)
    np.testing.assert_array_equal(search.feature_weights_, found.weights)
    assert found.metrics[0] == classification_error_rate(data.labels, search.labels_)
    assert found.metrics[METRICS.index("sparsity")] == search.best_sparsity_
    np.testing.assert_array_equal(search.results_["gap"], found.gap[:, 1])


ROW = METHOD_ROWS["l0_carried"]
STUDY = SMALL, ROW, {**QUICK, "n_init": 1}


def run(folder, replicates=3, progress=lambda done, total: None):
    store = RepetitionStore(folder, "d")
    given = {"root": 1, "replicates": replicates, "store": store, "progress": progress}
    found = paper_runs.run_repetitions(*STUDY, **given)
    data = draw_data(SMALL, root=1, replicate=0, standardise=True)
    tables = paper_runs.tabulate(SMALL, ROW, data, found)
    return [table.to_csv(index=False) for table in tables.values()]


def test_a_run_cut_short_goes_on_and_ends_in_the_same_bits(tmp_path, monkeypatch):
    whole, counted = run(tmp_path / "whole"), []

    def count(*study, root, replicate):
        counted.append(replicate)
        return run_repetition(*study, root=root, replicate=replicate)

    def cut(done, total):
        if done == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(paper_runs, "run_repetition", count)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "cut", progress=cut)
    counted.clear()
    assert run(tmp_path / "cut") == whole
    assert counted == [1, 2]
    # A damaged file counts as absent, as does one of other parameters.
    (tmp_path / "cut" / "0.npz").write_bytes((tmp_path / "cut" / "0.npz").read_bytes()[:200])
    (tmp_path / "cut" / "1.npz").write_bytes(b"")
    counted.clear()
    assert run(tmp_path / "cut") == whole
    assert counted == [0, 1]
    assert RepetitionStore(tmp_path / "cut", "of other parameters").load(0) is None


def test_the_digest_changes_with_every_parameter_but_not_with_their_order():
    base = {"seed": 1, "row": asdict(ROW), "effort": {"n_init": 1}}
    changes = {"seed": 2, "row": asdict(METHOD_ROWS["l0_lloyd"]), "effort": {"n_init": 2}}
    others = [base | {name: value} for name, value in changes.items()]
    digests = {RepetitionStore("s", parameters).digest for parameters in [base, *others]}
    assert len(digests) == 4
    assert RepetitionStore("s", dict(reversed(base.items()))).digest in digests


@pytest.fixture(scope="module")
def data():
    return experiment_2(mu=0.6, n_features=80, cluster_size=8, random_state=3)


def test_lloyd_ends_where_every_sample_is_nearest_to_its_own_centre(data):
    fitted = LloydKMeans(3, n_init=1, random_state=0).fit(data.X)
    distances = ((data.X[:, None] - fitted.cluster_centers_) ** 2).sum(axis=2)
    np.testing.assert_array_equal(distances.argmin(axis=1), fitted.labels_)


class Answers:
    """A clustering that answers with given labels in turn, and the weights that it was asked."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    def start(self, X, weights, rng):
        self.asked.append(weights.tolist())
        return np.array(self.answers[len(self.asked) - 1], np.int32)

    def scores(self, X, labels):
        return LloydPartition(2).scores(X, labels)


def test_algorithm_1_is_run_word_for_word():
    # Feature 0 tells {0, 1} from {2, 3}, feature 1 {0, 2} from {1, 3}.
    X = CentredMatrix(np.array([[0.0, 0.0], [0.0, 2.0], [3.0, 0.0], [3.0, 2.0]]))
    by_first, by_second = [0, 0, 1, 1], [0, 1, 0, 1]

    def follow(*answers, **reading):
        search = Answers(*answers)
        limits = {"max_iter": 6, "tol": 1e-4}
        return search.asked, run_as_printed(X, search, TopFeatures(1), None, **limits, **reading)

    asked, fit = follow(by_second, by_second)
    # Step 1's weights are 1 / sqrt(2) each; then feature 1 alone counts, with a_1 = 4.
    assert asked == [pytest.approx([0.5**0.5] * 2), [0.0, 1.0]]
    assert (fit.n_iter, fit.objective, fit.weights.tolist()) == (2, 4.0, [0.0, 1.0])
    # A fresh k-means may undo what the last one found: nothing is kept of it.
    asked, fit = follow(by_first, by_second, by_second)
    assert asked[1:] == [[1.0, 0.0], [0.0, 1.0]]
    assert (fit.n_iter, fit.objective) == (3, 4.0)
    # Overwritten, a dissimilarity of feature 1 that was set to zero stays zero.
    _, fit = follow(by_first, by_second, overwrite=True)
    assert (fit.n_iter, fit.weights.tolist()) == (2, [1.0, 0.0])
    assert fit.objective == 0.0


def test_no_sparsity_is_helped_by_another_where_algorithm_1_is_as_printed(data):
    alone = PrintedL0KMeans(3, n_init=1, random_state=0).path(data.X, [20])
    along = PrintedL0KMeans(3, n_init=1, random_state=0).path(data.X, [5, 20, 50, 80])
    np.testing.assert_array_equal(alone.labels[0], along.labels[1])
    overwritten = OverwritingL0KMeans(3, n_init=1, random_state=0).path(data.X, [5, 20, 50, 80])
    assert set(overwritten.n_iter.tolist()) == {2}
