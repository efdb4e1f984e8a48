"""Types of arguments that all estimators take."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import sparray, spmatrix

from sparsekm.cluster.matrices.streamed_matrix import StreamedMatrix

Data = ArrayLike | sparray | spmatrix | StreamedMatrix
Seed = int | np.random.RandomState | np.random.Generator | np.random.SeedSequence | None
