"""Import the modules of the workflow's scripts, for the process from which jobs are forked."""

import contextlib
import pkgutil
from importlib import import_module
from pathlib import Path

import numpy as np

from sparsekm.runtime.unread_settings import leave_unread


def fit_once() -> None:
    """Load the compiled functions by calling them."""
    from sparsekm.cluster.estimators import L1KMeans
    from sparsekm.tuning.sparse_kmeans import SparseKMeans

    X = np.random.default_rng(0).standard_normal((24, 12), dtype=np.float32)
    X[:12, :4] += 4
    for estimator in (SparseKMeans(2, n_jobs=1), L1KMeans(2, sparsity=2, n_jobs=1)):
        with contextlib.suppress(Exception):
            estimator.fit(X)


leave_unread()
for module in pkgutil.walk_packages([str(Path(__file__).parents[1])], "sparsekm."):
    # A module may need a missing extra; the job that needs it will report this.
    with contextlib.suppress(Exception):
        import_module(module.name)
fit_once()
