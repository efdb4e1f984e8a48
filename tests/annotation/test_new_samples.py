"""New samples put to the clusters of a run: the same from the command and in Python."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import gamma
from sklearn.metrics import adjusted_rand_score
from sound_files import ATTRIBUTES
from written_files import save_fit

from sparsekm import SparseKMeans
from sparsekm.annotation.new_samples import PREDICTED
from sparsekm.cluster.sparsity_path import ChosenFit
from sparsekm.command import main as command
from sparsekm.io.normalised_file import write_normalised
from sparsekm.io.readers.reader import read_matrix
from sparsekm.pipeline.normalisation import normalise
from sparsekm.tl import predict_clusters

MORE = ("gse6891", "pollen")


def write_run(
    folder, frame, labels, weights, signature=None, how="zscore", reading=None, **attributes
):
    """Write the two files of a run that matter here, as its jobs write them."""
    folder.mkdir()
    frame.to_csv(folder / "own.csv", index_label="sample")
    raw = read_matrix(folder / "own.csv")
    found = normalise(raw, how)
    moments = {"mean": found.means, "deviation": found.deviations}
    moments = {name: values for name, values in moments.items() if values is not None}
    var = pd.DataFrame(moments, index=found.about.features)
    provenance = {"source": "matrix", "normalisation": how, "file": "own.csv"}
    provenance["reading"] = json.dumps(reading or {})
    if found.library_size is not None:
        provenance["library_size"] = found.library_size
    X, obs = found.collect(), pd.DataFrame(index=raw.about.samples)
    write_normalised(folder / "data/own/normalised.h5ad", X, obs, var, provenance)
    weights = pd.Series(weights, raw.about.features, dtype=float)[found.about.features].to_numpy()
    few = None if signature is None else np.asarray(signature)
    file = folder / "results/own/sparse/tuned.h5"
    save_fit(file, X, labels, weights, ATTRIBUTES | attributes, signature=few)
    return folder


@pytest.fixture
def frame(seed):
    X = np.random.default_rng(seed).normal(size=(40, 6))
    X[20:, :4] += 9
    return pd.DataFrame(X, [f"s{i}" for i in range(40)], list("abcdef"))


@pytest.fixture
def run(tmp_path, frame):
    return write_run(tmp_path / "run", frame, np.repeat([0, 1], 20), [1, 1, 1, 1, 0, 0])


def test_a_run_puts_its_own_samples_where_they_are_and_measures_their_distance(run, frame):
    found = predict_clusters(run, frame)
    assert found["sample"].tolist() == frame.index.tolist()
    assert found["cluster"].tolist() == [0] * 20 + [1] * 20
    Z = ((frame - frame.mean()) / frame.std())[list("abcd")].to_numpy()
    own = np.repeat([Z[:20].mean(axis=0), Z[20:].mean(axis=0)], 20, axis=0)
    other = np.roll(own, 20, axis=0)
    first, second = (np.sqrt(np.mean((Z - to) ** 2, axis=1)) for to in (own, other))
    np.testing.assert_allclose(found["distance"], first, rtol=1e-5)
    np.testing.assert_allclose(found["margin"], 1 - first / second, rtol=1e-5)
    # Each is nearer than the farthest is from the others of its cluster.
    assert not found["none_of_them"].any()


def test_the_limit_follows_from_distances_to_the_others_of_a_cluster(run, frame):
    Z = ((frame - frame.mean()) / frame.std())[list("abcd")].to_numpy()
    parts = Z[:20], Z[20:]
    squares = [
        [np.mean((part[i] - np.delete(part, i, axis=0).mean(axis=0)) ** 2) for i in range(20)]
        for part in parts
    ]
    ratios = np.concatenate([part / np.mean(part) for part in squares])
    shape = 38 / np.sum((ratios - 1) ** 2)
    usual = np.mean(squares[0]) * gamma.ppf(0.99, shape, scale=1 / shape)
    limit = np.sqrt(max(usual, np.max(squares[0])))
    spread, mean = frame.std()[:4].to_numpy(), frame.mean()[:4].to_numpy()
    steps = limit * np.array([[0.999], [1.001]])
    new = pd.DataFrame((parts[0].mean(axis=0) - steps) * spread + mean, columns=list("abcd"))
    assert predict_clusters(run, new)["none_of_them"].tolist() == [False, True]


@pytest.mark.parametrize("apart", [False, True])
def test_it_is_said_where_no_clusters_stand_apart(tmp_path, frame, apart):
    labels, weights = np.repeat([0, 1], 20), [1, 1, 1, 1, 0, 0]
    run = write_run(tmp_path / "run", frame, labels, weights, has_clusters=apart)
    said = " ".join(predict_clusters(run, frame).attrs["said"])
    assert ("the run found no separate groups" in said) == (not apart)


@pytest.mark.parametrize("size", [15, 100])
def test_few_samples_of_the_same_clusters_are_none_of_them(tmp_path, frame, size):
    shares = []
    for number in range(8):
        X = np.random.default_rng(number).normal(size=(2 * size + 400, 6))
        X[:size, :4] += 9
        X[-200:, :4] += 9
        table = pd.DataFrame(X, columns=list("abcdef"))
        labels = np.repeat([0, 1], size)
        run = write_run(tmp_path / str(number), table[: 2 * size], labels, [1, 1, 1, 1, 0, 0])
        shares.append(predict_clusters(run, table[2 * size :])["none_of_them"].mean())
    # The centre of so few samples is not that of new ones.
    assert 0.002 < np.mean(shares) < (0.05 if size < 50 else 0.02)


@pytest.mark.parametrize("how", ["zscore", "log2", "counts", "none"])
def test_the_new_table_is_transformed_as_the_runs_was(tmp_path, how, seed):
    X = np.random.default_rng(seed).poisson(40, size=(60, 30)).astype(float)
    X[30:, :8] *= 4
    # Libraries of other sizes, and further features in another order, are no difference.
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(30)])
    both = np.r_[0:15, 30:45], np.r_[15:30, 45:60]
    own = frame.iloc[both[0]].reset_index(drop=True)
    new = frame.iloc[both[1]].reset_index(drop=True).iloc[:, ::-1] * (3 if how == "counts" else 1)
    labels = np.repeat([0, 1], 15)
    run = write_run(tmp_path / "run", own, labels, np.r_[np.ones(8), np.zeros(22)], how=how)
    found = predict_clusters(run, new)
    assert found["cluster"].tolist() == labels.tolist()
    assert found["none_of_them"].mean() < 0.25


def test_own_scaling_undoes_another_unit_and_says_so(run, frame):
    new = 100 + 7 * frame
    assert predict_clusters(run, new)["none_of_them"].all()
    found = predict_clusters(run, new, scaling="own")
    pd.testing.assert_frame_equal(found, predict_clusters(run, frame), rtol=1e-4)
    assert any("deviations of these samples" in line for line in found.attrs["said"])


def test_missing_values_of_a_sample_are_left_out_of_its_distances(run):
    new = pd.DataFrame([[0, np.nan, np.nan, 0], [np.nan, np.nan, np.nan, 9]], columns=list("abcd"))
    found = predict_clusters(run, new)
    assert found["cluster"][0] == 0
    assert found.loc[1, ["cluster", "distance", "margin"]].isna().all()
    assert found["none_of_them"].tolist() == [False, True]
    # All of the samples may be unknown.
    assert predict_clusters(run, new[1:])["cluster"].isna().all()


@pytest.mark.usefixtures("one_repeat")
@pytest.mark.parametrize("penalty", ["l0", "l1"])
@pytest.mark.parametrize("kind", ["overlapping", "counts"])
def test_predict_the_command_and_tl_place_training_samples_alike(tmp_path, penalty, kind):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 40))
    X[:, :12] += 1.3 * (np.repeat([0, 1, 2], 40)[:, np.newaxis] == np.arange(12) % 3)
    if kind == "counts":
        X = rng.poisson(np.exp(X + 1)).astype(float)
    frame = pd.DataFrame(X, [f"s{i}" for i in range(120)], [f"g{j}" for j in range(40)])
    fit = SparseKMeans(3, penalty=penalty, random_state=0).fit(X)
    # Two features alone would place samples elsewhere.
    run = write_run(tmp_path / "run", frame, fit.labels_, fit.feature_weights_, signature=[0, 1])
    expected = fit.predict(X).tolist()
    assert predict_clusters(run, frame)["cluster"].tolist() == expected
    output = ["--output", str(tmp_path / "found.csv"), "--quiet"]
    assert command.main(["predict", str(run), str(run / "own.csv"), *output]) == 0
    assert PREDICTED.read(tmp_path / "found.csv")["cluster"].tolist() == expected


def test_samples_go_to_the_cluster_of_the_nearest_of_its_centres(tmp_path, frame, monkeypatch):
    frame.iloc[:10, :4] -= 9
    run = write_run(tmp_path / "run", frame, np.repeat([0, 1], 20), [1, 1, 1, 1, 0, 0])
    Z = ((frame - frame.mean()) / frame.std()).to_numpy()
    centers = np.array([Z[:10].mean(axis=0), Z[20:].mean(axis=0), Z[10:20].mean(axis=0)])
    placing = property(lambda fit: (centers, np.array([0, 1, 0])))
    monkeypatch.setattr(ChosenFit, "placing", placing)
    # -4.5 is the mean of the first cluster, and far from the samples that make it.
    levels = np.array([-9, -4.5, 0, 4, 9])
    found = predict_clusters(
        run, pd.DataFrame(levels[:, np.newaxis] + np.zeros(4), columns=[*"abcd"])
    )
    assert found["cluster"].tolist() == [0, 0, 0, 0, 1]
    assert found["none_of_them"].tolist() == [False, True, False, True, False]
    # Beside the second-nearest cluster, not the other centre of the same.
    assert found["margin"][1] > 0.6
    assert not predict_clusters(run, frame)["none_of_them"].any()


@pytest.fixture
def wide(tmp_path, seed):
    """Give 20 features that have weight and 5 that have none, and a run with a signature or not."""
    X = np.random.default_rng(seed).normal(size=(40, 25))
    X[20:, :20] += 3
    table = pd.DataFrame(X, columns=[f"g{j}" for j in range(25)])

    def make_run(signature=None):
        labels, weights = np.repeat([0, 1], 20), np.repeat([1, 0], [20, 5])
        return write_run(tmp_path / "wide", table, labels, weights, signature)

    return table, make_run


def test_features_with_95_percent_of_the_weight_place_samples_and_with_less_the_signature(wide):
    table, make_run = wide
    run = make_run(signature=[3, 7])
    found = predict_clusters(run, table.drop(columns=["g3"]))
    assert found.attrs["said"][0] == (
        "19 of the 20 features that have weight are in the table (95.00% of the weight); it lacks "
        "g3. Samples are assigned by the features that are in the table"
    )
    Z = ((table - table.mean()) / table.std()).drop(columns=["g3"]).to_numpy()[:, :19]
    distance = np.sqrt(np.mean((Z[:20] - Z[:20].mean(axis=0)) ** 2, axis=1))
    np.testing.assert_allclose(found["distance"][:20], distance, rtol=1e-5)
    assert found["cluster"].tolist() == [0] * 20 + [1] * 20

    found = predict_clusters(run, table.drop(columns=["g4", "g5"]))
    assert found.attrs["said"][0] == (
        "18 of the 20 features that have weight are in the table (90.00% of the weight); it lacks "
        "g4, g5. Samples are assigned by the signature of 2 features"
    )
    Z = ((table - table.mean()) / table.std())[["g3", "g7"]].to_numpy()
    centers = np.array([Z[:20].mean(axis=0), Z[20:].mean(axis=0)])
    distances = np.sqrt(np.mean((Z[:, np.newaxis] - centers) ** 2, axis=2))
    assert found["cluster"].tolist() == distances.argmin(axis=1).tolist()
    np.testing.assert_allclose(found["distance"], distances.min(axis=1), rtol=1e-5)
    # The signature alone is enough; what else the table has is of no matter.
    pd.testing.assert_frame_equal(predict_clusters(run, table[["g7", "g3"]]), found)


def test_the_share_is_of_the_weight_not_of_the_features(tmp_path, frame):
    weights = [0.94, 0.03, 0.02, 0.01, 0, 0]
    run = write_run(tmp_path / "run", frame, np.repeat([0, 1], 20), weights)
    assert predict_clusters(run, frame[["a", "c"]])["cluster"].tolist() == [0] * 20 + [1] * 20
    assert "(95.00% of the weight)" not in refusal(run, frame[["b", "c", "d"]])


def test_a_table_with_less_weight_and_a_part_of_the_signature_is_refused_with_the_rule(wide):
    table, make_run = wide
    said = refusal(make_run(signature=[3, 7]), table.drop(columns=["g3", "g4"]))
    assert said == (
        "18 of the 20 features that have weight are in the table (90.00% of the weight); it lacks "
        "g3, g4. The table should have 95% of the weight, or the whole signature, of which it "
        "lacks g3. Its features are g0, g1, g2, g5, g6, g7, g8, g9, g10, g11 and 13 more."
    )


def test_without_a_signature_there_is_no_second_way(wide):
    table, make_run = wide
    said = refusal(make_run(), table.drop(columns=["g3", "g4"]))
    assert "should have 95% of the weight, because the run has no signature. Its feat" in said


def refusal(*arguments, **options):
    with pytest.raises(ValueError, match="should|give") as caught:
        predict_clusters(*arguments, **options)
    return str(caught.value)


def test_what_cannot_be_done_is_refused_by_name(tmp_path, run, frame):
    said = refusal(run, frame[["a", "e"]])
    assert "1 of the 4 features that have weight are in the table (25.00% of the weight)" in said
    assert "it lacks b, c, d. The table should have" in said
    assert "Its features are a, e." in said
    frame.T.to_csv(tmp_path / "turned.csv")
    assert "Set transpose: true" in refusal(run, tmp_path / "turned.csv", transpose=False)
    assert "scaling='z' should be one of ['run', 'own']" in refusal(run, frame, scaling="z")
    assert "dataset='k' should be one of ['own']" in refusal(run, frame, dataset="k")
    assert "method='l0' should be one of ['sparse']" in refusal(run, frame, method="l0")
    assert "Give the folder of a run" in refusal(tmp_path / "nowhere", frame)
    plain = write_run(tmp_path / "plain", frame, [0] * 20 + [1] * 20, np.ones(6), how="none")
    assert "scaling='own' should be 'run'" in refusal(plain, frame, scaling="own")


def test_the_command_does_the_same_overwriting_nothing(tmp_path, run, frame, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame.iloc[5:35].round(3).to_csv("new.csv", index_label="sample")
    assert command.main(["predict", "run", "new.csv", "--output", "out/found.csv"]) == 0
    told = capsys.readouterr().out
    assert "new.csv: 30 samples x 6 features" in told
    assert "4 of the 4 features that have weight are in the table. Samples are assigned by" in told
    assert "cluster 0: 15, cluster 1: 15, none of them: 0" in told
    assert told.endswith("Clusters: out/found.csv\n")
    found = PREDICTED.read("out/found.csv")
    pd.testing.assert_frame_equal(found, predict_clusters(run, "new.csv"), check_dtype=False)
    assert command.main(["predict", "run", "new.csv", "--output", "out/found.csv"]) == 2
    assert "out/found.csv: exists and will not be overwritten" in capsys.readouterr().err
    assert command.main(["predict", "run", "new.csv", "--output", "new.csv", "--force"]) == 2
    force = ["--output", "out/found.csv", "--force", "--quiet"]
    assert command.main(["predict", "run", "new.csv", *force]) == 0
    assert capsys.readouterr().out == ""
    assert command.main(["predict", "run", "new.csv", "--ignore", "a", "b", "c"]) == 2
    assert "it lacks a, b, c." in capsys.readouterr().err
    assert not (tmp_path / "new-clusters.csv").exists()


def test_the_words_for_missing_values_of_the_run_hold_for_a_table_of_the_same_kind(tmp_path, frame):
    reading = {"missing_values": [-999]}
    run = write_run(tmp_path / "run", frame, [0] * 20 + [1] * 20, np.ones(6), reading=reading)
    frame.iloc[3, 1] = -999
    frame.to_csv(tmp_path / "new.csv", index_label="sample")
    assert not predict_clusters(run, tmp_path / "new.csv")["none_of_them"].any()
    frame.to_csv(tmp_path / "new.tsv", index_label="sample", sep="\t")
    assert predict_clusters(run, tmp_path / "new.tsv")["none_of_them"].sum() == 1


def test_the_answers_about_the_runs_table_hold_and_columns_that_it_lacks_are_not_asked_about(
    tmp_path, frame
):
    # Neither axis is certain, and both have more columns and lines in doubt than the run's.
    reading = {"transpose": False, "ignore": ["age", "visit"], "samples": "who"}
    run = write_run(tmp_path / "run", frame, np.repeat([0, 1], 20), np.ones(6), reading=reading)
    frame.insert(0, "id", range(7, 47))
    frame.insert(3, "age", 40 + np.arange(40) % 7)
    frame.to_csv(tmp_path / "new.csv", index_label="who")
    found = predict_clusters(run, tmp_path / "new.csv")
    assert found["cluster"].tolist() == [0] * 20 + [1] * 20
    turned = frame.drop(columns=["id", "age"]).T
    turned.to_csv(tmp_path / "turned.tsv", sep="\t")
    assert predict_clusters(run, tmp_path / "turned.tsv")["cluster"].tolist() == [0] * 20 + [1] * 20


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["christensen", *(pytest.param(name, marks=pytest.mark.release) for name in MORE)]
)
def test_one_half_of_real_samples_predicts_the_clusters_of_the_other(tmp_path, test_data, name):
    stored = np.load(test_data / "labelled" / f"{name}.npz", allow_pickle=True)
    X, n_clusters = stored["X"].astype(float), len(np.unique(stored["y"]))
    order = np.random.default_rng(0).permutation(len(X))
    columns = [f"feature{j}" for j in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=columns)
    own, new = (frame.iloc[half].reset_index(drop=True) for half in np.array_split(order, 2))
    own = own.set_axis([f"s{i}" for i in range(len(own))])
    found, other = (
        SparseKMeans(n_clusters, min_cluster_size=5, random_state=0).fit(half.to_numpy())
        for half in (own, new)
    )
    parts = found.labels_, found.feature_weights_, found.signature_
    predicted = predict_clusters(write_run(tmp_path / "run", own, *parts), new)
    # One in a hundred of the samples that made a cluster is beyond its limit.
    assert predicted["none_of_them"].mean() < 0.2
    agreement = adjusted_rand_score(other.labels_, predicted["cluster"].astype(int))
    if name == "gse6891" and agreement < 0.8:
        pytest.xfail(f"two fits to 45 samples each agree with {agreement:.3f} only")
    assert agreement >= 0.8
