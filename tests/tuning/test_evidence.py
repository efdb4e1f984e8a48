"""Evidence of clusters: halves of the data compared with those of data without clusters."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import sparsekm.tuning.evidence as evidence_module
from sparsekm.cluster.estimators import L0KMeans
from sparsekm.tuning.evidence import Evidence, reference_stability, weigh_evidence


def weigh(X, sparsities, *, reference="permutation", n_references=4, **settings):
    estimator = L0KMeans(3, n_init=2)
    grid = np.array(sparsities, dtype=float)
    return weigh_evidence(
        estimator, X, grid, reference=reference, n_references=n_references, seed=0, **settings
    )


def test_evidence_hand_worked():
    # References 0.1, 0.2, 0.3: mean 0.2, sd 0.1. Student's t with 2 degrees of freedom exceeds
    # 2.919986 with probability 0.05, so one more reference reaches 0.2 + 0.2919986 sqrt(4/3).
    references = np.array([0.1, 0.2, 0.3])
    reach = 0.2919986 * np.sqrt(4 / 3)
    just = Evidence("gaussian", 0.2 + reach, references)
    assert just.strength == pytest.approx(1, rel=1e-6)
    assert Evidence("gaussian", 0.2 + 1.01 * reach, references).has_clusters is True
    less = Evidence("gaussian", 0.2 + 0.99 * reach, references)
    assert less.has_clusters is False
    assert less.sentence().startswith("No evidence of clusters:")
    assert "on 3 data sets without clusters (Gaussian references)" in less.sentence()


def test_only_a_sample_without_evidence_leaves_open_what_more_samples_show():
    references = np.array([0.1, 0.2, 0.3])
    left_open = "More samples may show clusters."
    for stability, sampled, ends in (
        (0.2, (1000, 2500), True),
        (0.2, None, False),
        (0.9, (1000, 2500), False),
    ):
        evidence = Evidence("gaussian", stability, references, sampled=sampled)
        assert evidence.sentence().endswith(left_open) == ends


def test_without_references_nothing_is_concluded():
    nothing = Evidence("gaussian", float("nan"), np.array([]))
    assert nothing.has_clusters is None
    assert np.isnan(nothing.strength)
    assert "not asked" in nothing.sentence()


def test_a_reference_is_mistaken_for_clusters_as_rarely_as_promised():
    """One more draw from the references' own distribution exceeds them with probability LEVEL."""
    rng = np.random.default_rng(0)
    draws = rng.standard_normal((4000, 6))
    found = [Evidence("gaussian", row[0], row[1:]).has_clusters for row in draws]
    assert np.mean(found) == pytest.approx(0.05, abs=4 * np.sqrt(0.05 * 0.95 / 4000))


def test_far_clusters_are_evidence_and_noise_is_none(data):
    found = weigh(data.X, [4, 24])
    assert found.has_clusters is True
    assert found.sentence().startswith("Evidence of clusters:")
    nothing = weigh(np.random.default_rng(3).standard_normal((40, 24)), [4, 24])
    assert nothing.has_clusters is False
    assert nothing.sentence().startswith("No evidence of clusters:")


def test_correlation_alone_is_taken_for_clusters_beside_permutations_only():
    """Without clusters an elongated cloud is cut across its length: the Gaussian does so too."""
    noise = np.random.default_rng(1)
    factors = noise.standard_normal((60, 1)) * np.ones(30) + noise.standard_normal((60, 30))
    found = [
        weigh(factors, [5, 30], reference=reference, n_references=5).has_clusters
        for reference in ("gaussian", "permutation")
    ]
    assert found == [False, True]


def test_references_are_known_by_their_index_whatever_the_number_of_jobs(data):
    one, two = (weigh(data.X, [4, 24], n_jobs=n_jobs) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.reference_stabilities, two.reference_stabilities)
    assert one.strength == two.strength
    third = reference_stability(
        L0KMeans(3, n_init=2), data.X, np.array([4.0, 24.0]), reference="permutation", index=2,
        seed=0,
    )  # fmt: skip
    assert one.reference_stabilities[2] == third


@pytest.mark.parametrize(("min_cluster_size", "half"), [(1, 500), (250, 1000)])
def test_a_thousand_samples_stand_for_more_where_their_halves_have_room(min_cluster_size, half):
    X = np.random.default_rng(0).standard_normal((2500, 6)) + np.repeat([[0], [9]], 1250, axis=0)
    seen = []

    class Watched(L0KMeans):
        def path(self, X, sparsities, *, progress=None):
            seen.append(len(X))
            return super().path(X, sparsities, progress=progress)

    evidence = weigh_evidence(
        Watched(2, n_init=1, min_cluster_size=min_cluster_size),
        X,
        np.array([6.0]),
        reference="permutation",
        n_references=5,
        seed=0,
    )
    assert set(seen) == {half}
    assert evidence.has_clusters is True
    assert f"halves of the samples (a sample of {2 * half:,} of 2,500) agree" in evidence.sentence()


def test_more_samples_show_clusters_that_are_hidden_in_fewer():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((800, 300))
    X[:, :20] += 0.4 * rng.choice([-1, 1], size=(800, 1))
    found = [
        weigh_evidence(
            L0KMeans(2, n_init=1),
            X,
            np.array([20.0]),
            reference="permutation",
            n_references=5,
            seed=0,
            max_samples=n_samples,
        )
        for n_samples in (40, 800)
    ]
    assert [evidence.has_clusters for evidence in found] == [False, True]
    assert [evidence.sampled for evidence in found] == [(40, 800), None]
    assert found[0].sentence().endswith(" More samples may show clusters.")


def test_among_many_features_sparse_data_are_compared_as_dense_data_are():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2200, 4500)) * (rng.random((2200, 4500)) < 0.05)
    X[:, :20] += rng.integers(2, size=(2200, 1)) * (rng.random((2200, 20)) < 0.7)
    dense, sparse = (
        weigh_evidence(
            L0KMeans(2, n_init=1),
            matrix,
            np.array([20.0]),
            reference="permutation",
            n_references=5,
            seed=0,
        )
        for matrix in (X, csr_array(X))
    )
    assert dense.sampled == sparse.sampled == (2000, 2200)
    assert dense.stability == pytest.approx(sparse.stability, abs=1e-9)
    assert dense.has_clusters is sparse.has_clusters is True


@pytest.mark.parametrize(
    ("own", "n_samples", "expected"),
    [
        ({}, 300, ("correlated", "global", 100, [4.0, 15.0])),
        ({"search": "alternate"}, 300, (None, "alternate", 100, [4.0, 15.0])),
        # All samples there are, and not many.
        ({}, 90, (None, "auto", 45, [4.0, 15.0, 60.0])),
    ],
    ids=["many", "alternate", "few samples"],
)
def test_among_many_features_a_search_begins_with_those_that_correlate(
    own, n_samples, expected, monkeypatch
):
    for name, value in (("MANY_FEATURES", 50), ("MOST_SAMPLES", 100)):
        monkeypatch.setattr(evidence_module, name, value)
    monkeypatch.setattr(evidence_module, "MOST_SAMPLES_AMONG_MANY", 200)
    seen = set()

    class Watched(L0KMeans):
        def path(self, X, sparsities, *, progress=None):
            seen.add((self.init, self.search, len(X), tuple(sparsities)))
            return super().path(X, sparsities, progress=progress)

    grid = np.array([4.0, 15.0, 60.0])
    X = np.random.default_rng(0).standard_normal((n_samples, 60))
    weigh_evidence(
        Watched(2, n_init=1, **own),
        X,
        grid,
        reference="permutation",
        n_references=2,
        seed=0,
        n_selected=grid.astype(int),
    )
    assert seen == {(*expected[:3], tuple(expected[3]))}


def test_samples_too_few_to_be_halved_are_not_asked(data):
    evidence = weigh_evidence(
        L0KMeans(3, min_cluster_size=8),
        data.X,
        np.array([4.0]),
        reference="permutation",
        n_references=2,
        seed=0,
    )
    assert evidence.has_clusters is None
    assert evidence.sentence().endswith(
        f"half of {len(data.X)} samples is too few for clusters that need 24 at least."
    )
