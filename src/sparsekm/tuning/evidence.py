"""Are there clusters at all? The stability of the data compared with that of data without clusters.

Fits to the two halves of a data set without clusters agree little. How little depends on the
correlations of the features, since an elongated cloud is cut across its length every time. The data
are therefore compared with references without clusters: draws from a single Gaussian with the same
correlations or, if the features that do not differ between clusters are independent, permutations,
which reveal much weaker clusters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.stats import t as student
from sklearn.base import clone

from sparsekm.cluster.matrices.dense_parts import stored_bytes
from sparsekm.runtime.random_state import draw_samples
from sparsekm.runtime.threads import grant_threads, run_side_by_side
from sparsekm.tuning.feature_limit import share_of
from sparsekm.tuning.references import REFERENCES, reference_seed
from sparsekm.tuning.resampling import resample
from sparsekm.tuning.tuning_sample import fewest_samples, take_samples

# Chance that data without clusters are taken for data with.
LEVEL = 0.05
# Pairs of halves of the data, and of each reference: as many of either, or they could not be
# compared.
N_HALVES = 2
# So many samples at most, drawn at random, stand for all: clusters that need more to show are weak.
MOST_SAMPLES = 1000
# Among more features than these, strong ones are hidden too: from so few samples, and from a search
# that begins with all features. More samples are compared then, and the search also begins with the
# features that correlate; dense fits, which take longest, are noise there (docs/performance.md).
MANY_FEATURES = 4000
MOST_SAMPLES_AMONG_MANY = 2000
SEARCH_AMONG_MANY = {"search": "global", "init": "correlated", "n_init": 1}


@dataclass(frozen=True)
class Evidence:
    """How the data compare with references without clusters."""

    reference: str  # how the references were made
    stability: float  # mean adjusted Rand index of halves of the data, over all sparsities
    reference_stabilities: np.ndarray  # (n_references,): the same of each reference
    level: float = LEVEL  # chance that data without clusters are taken for data with
    not_asked: str = "n_references=0"  # why there are no references, where there are none
    n_blocks: int = 0  # of which halves of the data consist; 0 for single samples
    sampled: tuple[int, int] | None = None  # samples compared and samples given, where fewer

    @property
    def strength(self) -> float:
        """How far the data exceed the references' mean.

        In units of the excess that one more reference would have with probability `level`
        (Student's t): above 1 is evidence of clusters. NaN without references.
        """
        references = self.reference_stabilities
        count = len(references)
        if count == 0:
            return float("nan")
        reach = (
            student.ppf(1 - self.level, count - 1) * references.std(ddof=1) * np.sqrt(1 + 1 / count)
        )
        # Where all references agree, any excess beyond rounding is evidence.
        return float((self.stability - references.mean()) / max(reach, 1e-9))

    @property
    def has_clusters(self) -> bool | None:
        """Whether there is evidence of clusters; None without references."""
        return bool(self.strength > 1) if len(self.reference_stabilities) else None

    def sentence(self) -> str:
        """Say what was found."""
        if self.has_clusters is None:
            return f"Whether there are clusters was not asked: {self.not_asked}."
        references = self.reference_stabilities
        blocks = f", each of whole blocks ({self.n_blocks} in all)," if self.n_blocks else ""
        drawn = " (a sample of {:,} of {:,})".format(*self.sampled) if self.sampled else ""
        kind = {"gaussian": "Gaussian"}.get(self.reference, self.reference)
        hidden = "" if self.has_clusters or not drawn else " More samples may show clusters."
        return (
            f"{'Evidence' if self.has_clusters else 'No evidence'} of clusters: partitions of two "
            f"halves of the samples{drawn}{blocks} agree with an adjusted Rand index of "
            f"{self.stability:.2f}; on {len(references)} data sets without clusters "
            f"({kind} references) with {references.mean():.2f} on average and "
            f"{references.max():.2f} at most.{hidden}"
        )


def half_stability(
    estimator,
    X: np.ndarray | csr_array,
    sparsities: np.ndarray,
    *,
    seed: int,
    blocks: np.ndarray | None = None,
) -> float:
    """Average the agreement of `N_HALVES` pairs of halves, of whole blocks, over all sparsities."""
    agreements = [
        resample(estimator, X, sparsities, scheme="halves", index=index, seed=seed, blocks=blocks)
        for index in range(N_HALVES)
    ]
    return float(np.mean(agreements))


def reference_stability(
    estimator,
    X: np.ndarray | csr_array,
    sparsities: np.ndarray,
    *,
    reference: str,
    index: int,
    seed: int,
) -> float:
    """Compute the `half_stability` of one reference.

    `reference` is a key of `sparsekm.tuning.references.REFERENCES`. The reference depends only on
    (`seed`, `index`) and `X`.
    """
    data = REFERENCES[reference](X, index=index, seed=seed)
    return half_stability(estimator, data, sparsities, seed=reference_seed(seed, index))


def weigh_evidence(
    estimator,
    X: np.ndarray | csr_array,
    sparsities: np.ndarray,
    *,
    reference: str,
    n_references: int,
    seed: int,
    n_selected: np.ndarray | None = None,
    max_samples: int | None = None,
    blocks: np.ndarray | None = None,
    n_jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Evidence:
    """Compare at most `max_samples` samples of the data with references without clusters.

    By default, of None, these are `MOST_SAMPLES`, and `MOST_SAMPLES_AMONG_MANY` of more than
    `MANY_FEATURES`. Always so many are compared that halves have room for the clusters asked for.
    `n_selected` (n_sparsities,) is how many features a path of the data keeps: among many features
    only sparsities that keep at most a quarter are compared.

    `reference` is a key of `sparsekm.tuning.references.REFERENCES`. `n_references` is 0, for no
    comparison, or >= 2. `progress` is called with the number of references done and their total.
    The result does not depend on `n_jobs`, which is as in `sparsekm.runtime.threads.count_threads`.

    Samples with the same number in `blocks` (n_samples,) resemble each other, such as neighbours in
    space: halves of the data hold them all or none. Samples of references are independent.
    """

    def work(index):
        stability = reference_stability(
            estimator, X, sparsities, reference=reference, index=index, seed=seed
        )
        if progress is not None:
            progress(index + 1, n_references)
        return stability

    n_samples, n_features = X.shape
    many = n_features > MANY_FEATURES
    if max_samples is None:
        max_samples = MOST_SAMPLES_AMONG_MANY if many else MOST_SAMPLES
    rows = _draw_samples(n_samples, max(max_samples, 4 * fewest_samples(estimator)), seed)
    estimator, X, blocks = take_samples(rows, estimator, X, blocks)
    if many and X.shape[0] > MOST_SAMPLES:
        estimator = _search_among_many(estimator)
        if n_selected is not None and n_selected.min() <= share_of(n_features):
            sparsities = sparsities[n_selected <= share_of(n_features)]
    not_asked = "n_references=0" if n_references == 0 else _lacking(estimator, X.shape[0])
    if not_asked:
        return Evidence(reference, float("nan"), np.array([]), not_asked=not_asked)
    with grant_threads(n_jobs):
        own = half_stability(estimator, X, sparsities, seed=seed, blocks=blocks)
    # Permutations of sparse data are as sparse; other references are arrays.
    is_alike = reference == "permutation"
    held = stored_bytes(X) if is_alike else X.shape[0] * X.shape[1] * X.dtype.itemsize
    stabilities = run_side_by_side(work, range(n_references), n_jobs, held)
    n_blocks = 0 if blocks is None else len(np.unique(blocks))
    sampled = (X.shape[0], n_samples) if X.shape[0] < n_samples else None
    found = np.array(list(stabilities))
    return Evidence(reference, own, found, n_blocks=n_blocks, sampled=sampled)


def _search_among_many(estimator):
    """Return an estimator that begins with correlated features too, unless told how to begin."""
    parameters = estimator.get_params()
    is_free = parameters.get("search") in ("auto", "global") and parameters.get("init") is None
    return clone(estimator).set_params(**SEARCH_AMONG_MANY) if is_free else estimator


def _draw_samples(n_samples: int, most: int, seed: int) -> np.ndarray | None:
    if n_samples <= most:
        return None
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0, 5)))
    return draw_samples(n_samples, most, rng)


def _lacking(estimator, n_samples: int) -> str:
    """Say what half of the samples lacks for a fit, if anything."""
    needed = fewest_samples(estimator)
    if n_samples // 2 >= needed:
        return ""
    return f"half of {n_samples} samples is too few for clusters that need {needed} at least"
