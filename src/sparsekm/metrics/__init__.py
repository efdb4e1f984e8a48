"""How well a partition and a choice of features agree with known ones."""

from sparsekm.metrics.partition_metrics import (
    classification_error_rate,
    error_clustering_rate,
    matching_error_rate,
)
from sparsekm.metrics.support_metrics import (
    n_nonzero_weights,
    proper_nonzero_weights,
    proper_zero_weights,
)

__all__ = [
    "classification_error_rate",
    "error_clustering_rate",
    "matching_error_rate",
    "n_nonzero_weights",
    "proper_nonzero_weights",
    "proper_zero_weights",
]
