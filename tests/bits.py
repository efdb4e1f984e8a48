"""Whether two results are the same to the bit."""

import os
import re
import subprocess
import sys

import numpy as np

FITS = """
import hashlib

import numpy as np
from sparsekm import {names}

digest = hashlib.sha256()
for n, p, dtype in {sizes}:
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, p)).astype(dtype)
    X[: n // 2, :8] += 1.0
    for estimator in [{estimators}]:
        fit = estimator.set_params(n_init=2, random_state=0).fit(X)
        for part in ("labels_", "feature_weights_", "feature_scores_", "objective_"):
            digest.update(np.ascontiguousarray(getattr(fit, part)).tobytes())
        digest.update(getattr(fit, "cluster_centers_", X).tobytes())
        digest.update(fit.predict(X).tobytes())
print(digest.hexdigest())
"""


def assert_threads_change_no_bit(estimators, sizes):
    """Fit estimators, a text, to data of sizes (n, p, dtype) on one thread and on two."""
    names = ", ".join(re.findall(r"\w+(?=\()", estimators))
    digests = print_with_threads(FITS.format(names=names, estimators=estimators, sizes=sizes))
    assert len(digests[0]) == 64
    assert digests[0] == digests[1]


def assert_same_bits(one, two, attributes):
    for attribute in attributes:
        bits = [np.asarray(getattr(each, attribute)).tobytes() for each in (one, two)]
        assert bits[0] == bits[1], attribute


def print_with_threads(script: str) -> list[str]:
    """Run a script with one thread for the libraries, and with two; return what each prints."""
    names = ("OMP", "OPENBLAS", "MKL", "NUMBA")
    path = os.pathsep.join(filter(None, sys.path))
    processes = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", script],
            env={
                **os.environ,
                **{f"{name}_NUM_THREADS": n_threads for name in names},
                "PYTHONPATH": path,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for n_threads in ("1", "2")
    ]
    answers = [process.communicate() for process in processes]
    assert [process.returncode for process in processes] == [0, 0], answers
    return [printed.strip() for printed, _ in answers]
