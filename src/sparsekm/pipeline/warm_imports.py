"""Import and compile the workflow's code, for the process from which jobs are forked."""

import contextlib
import os
import pkgutil
from importlib import import_module
from pathlib import Path

import numpy as np

from sparsekm.runtime.unread_settings import leave_unread


def fit_once(*estimators) -> None:
    """Load the compiled functions by calling them."""
    X = np.random.default_rng(0).standard_normal((24, 12), dtype=np.float32)
    X[:12, :4] += 4
    for estimator in estimators:
        with contextlib.suppress(Exception):
            estimator.fit(X)


def warm_up() -> None:
    """Import every module and load every kernel.

    What is not compiled yet is compiled in two processes: each waits for what the other compiles.
    """
    from sparsekm.baselines.spectral import PCAKMeans
    from sparsekm.cluster.estimators import L1KMeans
    from sparsekm.tuning.sparse_kmeans import SparseKMeans

    l1 = L1KMeans(2, sparsity=2, n_jobs=1)
    child = os.fork()
    if child == 0:
        try:
            # The other says that it compiles.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            fit_once(l1, PCAKMeans(2, n_components=2))
        finally:
            # Also where it is interrupted, it does nothing else.
            os._exit(0)
    for module in pkgutil.walk_packages([str(Path(__file__).parents[1])], "sparsekm."):
        # A module may need a missing extra; the job that needs it will report this.
        with contextlib.suppress(Exception):
            import_module(module.name)
    fit_once(SparseKMeans(2, n_jobs=1), l1)
    os.waitpid(child, 0)


leave_unread()
warm_up()
