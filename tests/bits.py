"""Whether two results are the same to the bit."""

import os
import subprocess
import sys

import numpy as np


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
