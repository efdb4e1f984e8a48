"""What type checkers see of the package, whose names are loaded when first used."""

from . import pl as pl
from . import tl as tl
from .baselines.penalised_gaussian_mixture import (
    PenalizedGaussianMixture as PenalizedGaussianMixture,
)
from .baselines.spectral import IFPCA as IFPCA
from .baselines.spectral import SCFS as SCFS
from .baselines.spectral import PCAKMeans as PCAKMeans
from .cluster.estimators import KMeans as KMeans
from .cluster.estimators import L0KMeans as L0KMeans
from .cluster.estimators import L1KMeans as L1KMeans
from .cluster.matrices.streamed_matrix import StreamedMatrix as StreamedMatrix
from .cluster.screening import higher_criticism_threshold as higher_criticism_threshold
from .cluster.screening import marginal_p_values as marginal_p_values
from .cluster.screening import marginal_scores as marginal_scores
from .cluster.sparse_clustering import SparseClustering as SparseClustering
from .cluster.sparsity_path import SparsityPath as SparsityPath
from .metrics import (
    classification_error_rate as classification_error_rate,
)
from .metrics import error_clustering_rate as error_clustering_rate
from .metrics import n_nonzero_weights as n_nonzero_weights
from .metrics import proper_nonzero_weights as proper_nonzero_weights
from .metrics import proper_zero_weights as proper_zero_weights
from .tuning.gap_search import GapSearch as GapSearch
from .tuning.sparse_kmeans import SparseKMeans as SparseKMeans

__version__: str
