"""Tuning the sparsity by how reproducible the partition is when samples are left out."""

from __future__ import annotations

from sparsekm.cluster.matrices.dense_parts import stored_bytes
from sparsekm.cluster.validation import check_choice, check_count
from sparsekm.runtime.threads import grant_threads, run_side_by_side
from sparsekm.tuning.evidence import Evidence, weigh_evidence
from sparsekm.tuning.noise_correlation import fair_reference, noise_correlation
from sparsekm.tuning.references import REFERENCES
from sparsekm.tuning.resampling import SCHEMES, Resampling, gather_resamplings, resample
from sparsekm.tuning.sample_blocks import check_groups
from sparsekm.tuning.sparsity_search import SparsitySearch
from sparsekm.tuning.stability import STABILITY_RULES, select_stable, stability_curve


class StabilitySearch(SparsitySearch):
    """Choose the sparsity whose partition is most reproducible when samples are left out.

    Parameters
    ----------
    estimator, sparsities, n_jobs, verbose
        As in `GapSearch`.
    n_splits : int, default=10
        Number of resamplings, >= 2.
    scheme : {"subsample", "halves"}, default="subsample"
        "subsample" compares fits to four fifths of the samples with the fit to all; "halves"
        compares fits to two halves with each other. See `sparsekm.tuning.resampling`.
    rule : {"max", "sparse-end", "same"}, default="sparse-end"
        See `sparsekm.tuning.stability.select_stable`.
    n_references : int, default=5
        Number of data sets without clusters, whose stability shows whether the data have clusters;
        0 or >= 2. The chosen sparsity does not depend on them.
    reference : {"auto", "permutation", "gaussian", "shrunk"}, default="auto"
        How these are made; see `sparsekm.tuning.references`. "auto" permutes if the dropped
        features are independent of each other, and draws from a Gaussian if they are correlated
        (`sparsekm.tuning.noise_correlation`).
    random_state : None, int, RandomState or Generator, default=None
        Controls the randomness of resamplings, references and searches. Each depends only on (seed,
        index). None draws fresh entropy, and never NumPy's global generator.

    Attributes
    ----------
    best_sparsity_, best_index_, best_estimator_, path_, labels_, feature_weights_
        As in `GapSearch`.
    results_ : pandas.DataFrame
        The stability curve, ascending in sparsity: see `sparsekm.tuning.stability.stability_curve`.
    noise_correlation_ : float
        Mean squared correlation of the dropped features; 1 is expected by chance.
    evidence_ : Evidence
        The comparison with references; its `strength` is above 1 if there is evidence of clusters.
    has_clusters_ : bool or None
        None without references.
    conclusion_ : str
        The same in one sentence.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Where X has column names.

    References
    ----------
    Lange, Roth, Braun & Buhmann (2004), doi:10.1162/089976604773717621.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsekm.cluster.estimators import L0KMeans
    >>> from sparsekm.tuning.stability_search import StabilitySearch
    >>> X = np.random.default_rng(0).normal(size=(40, 30))
    >>> X[:20, :5] += 3
    >>> search = StabilitySearch(L0KMeans(2), sparsities=[2, 5, 30], random_state=0).fit(X)
    >>> search.best_sparsity_, search.has_clusters_
    (5, True)
    """

    def __init__(
        self,
        estimator,
        *,
        sparsities=None,
        n_splits=10,
        scheme="subsample",
        rule="sparse-end",
        n_references=5,
        reference="auto",
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.estimator = estimator
        self.sparsities = sparsities
        self.n_splits = n_splits
        self.scheme = scheme
        self.rule = rule
        self.n_references = n_references
        self.reference = reference
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X, y=None, *, groups=None):
        """Fit the paths of data and resamplings and choose.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : None
            Ignored.
        groups : array-like of shape (n_samples,), default=None
            Samples of one group resemble each other, such as those of a donor or a block of space:
            splits and the test for clusters take or leave them as a whole.

        Returns
        -------
        self

        Raises
        ------
        TypeError
            If the estimator has no `sparsity` to tune.
        ValueError
            If a part of the samples is too small for so many clusters.
        """
        self._check_parameters()
        given = X
        X, estimator, sparsities, seed = self._prepare(X)
        self._blocks = check_groups(groups, X.shape[0])
        with grant_threads(self.n_jobs):
            path = estimator.path(X, sparsities)
        self._report("data")
        resamplings = self._resample(X, path, seed)
        self.results_ = stability_curve(path, *gather_resamplings(resamplings))
        chosen = select_stable(self.results_, self.rule)
        self._take(estimator, given, path, sparsities, chosen, path.only(chosen))
        self._seed = seed
        correlation = noise_correlation(X, self.labels_, self.feature_weights_)
        self.noise_correlation_ = correlation.mean
        self.evidence_ = self.weigh_evidence(
            X,
            reference=fair_reference(correlation, self.reference),
            n_references=self.n_references,
        )
        self.has_clusters_ = self.evidence_.has_clusters
        self.conclusion_ = self.evidence_.sentence()
        return self

    def _check_parameters(self) -> None:
        self._check_estimator()
        check_count("n_splits", self.n_splits, 2)
        check_count("n_references", self.n_references, 0)
        if self.n_references == 1:
            raise ValueError("n_references=1 should be 0 or >= 2: one says nothing about spread.")
        check_choice("scheme", self.scheme, SCHEMES)
        check_choice("rule", self.rule, STABILITY_RULES)
        check_choice("reference", self.reference, ["auto", *REFERENCES])

    def _resample(self, X, path, seed: int) -> list[Resampling]:
        def work(index):
            resampling = resample(
                self.estimator,
                X,
                path.sparsities,
                scheme=self.scheme,
                index=index,
                seed=seed,
                labels=path.labels,
                blocks=self._blocks,
            )
            self._report(f"split {index + 1} of {self.n_splits}")
            return resampling

        return list(run_side_by_side(work, range(self.n_splits), self.n_jobs, stored_bytes(X)))

    def weigh_evidence(self, X, *, reference: str, n_references: int) -> Evidence:
        """Compare the data with one kind of references; `fit` uses those of the parameters.

        Parameters
        ----------
        X : ndarray or csr_array of shape (n_samples, n_features)
            The data that were fitted.
        reference : str
            A key of `sparsekm.tuning.references.REFERENCES`.
        n_references : int
            0 or >= 2.

        Returns
        -------
        Evidence
        """
        return weigh_evidence(
            self.estimator,
            X,
            self.results_["sparsity"].to_numpy(),
            reference=reference,
            n_references=n_references,
            seed=self._seed,
            n_selected=self.results_["n_selected"].to_numpy(),
            blocks=self._blocks,
            n_jobs=self.n_jobs,
            progress=lambda number, count: self._report(f"reference {number} of {count}"),
        )

    def _report(self, what: str) -> None:
        if self.verbose:
            print(f"StabilitySearch: {what} done", flush=True)  # noqa: T201 (asked for by `verbose`)
