"""Two tiny labelled sets that any method can take."""

import numpy as np
import pytest


@pytest.fixture
def labelled_folder(tmp_path, seed):
    """A folder with `apart`, two classes that four features tell apart, and `three`."""
    folder = tmp_path / "labelled"
    folder.mkdir()
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(24, 12))
    X[:12, :4] += 8
    X[:, 11] = 5
    np.savez(folder / "apart.npz", X=X, y=np.repeat(["a", "b"], 12))
    X = rng.normal(size=(30, 12))
    X[:10, :4] += 8
    X[10:20, 4:8] += 8
    np.savez(folder / "three.npz", X=X, y=np.repeat([1, 5, 9], 10))
    return folder
