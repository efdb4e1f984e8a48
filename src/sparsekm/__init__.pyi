"""What type checkers see of the package, whose names are loaded when first used."""

from sparsekm import pl as pl
from sparsekm import tl as tl
from sparsekm.baselines.penalised_gaussian_mixture import (
    PenalizedGaussianMixture as PenalizedGaussianMixture,
)
from sparsekm.baselines.spectral import IFPCA as IFPCA
from sparsekm.baselines.spectral import SCFS as SCFS
from sparsekm.baselines.spectral import PCAKMeans as PCAKMeans
from sparsekm.cluster.estimators import KMeans as KMeans
from sparsekm.cluster.estimators import L0KMeans as L0KMeans
from sparsekm.cluster.estimators import L1KMeans as L1KMeans
from sparsekm.cluster.matrices.containers import StreamedMatrix as StreamedMatrix
from sparsekm.cluster.screening import higher_criticism_threshold as higher_criticism_threshold
from sparsekm.cluster.screening import marginal_p_values as marginal_p_values
from sparsekm.cluster.screening import marginal_scores as marginal_scores
from sparsekm.cluster.sparse_clustering import SparseClustering as SparseClustering
from sparsekm.cluster.sparsity_path import SparsityPath as SparsityPath
from sparsekm.metrics import (
    classification_error_rate as classification_error_rate,
)
from sparsekm.metrics import error_clustering_rate as error_clustering_rate
from sparsekm.metrics import n_nonzero_weights as n_nonzero_weights
from sparsekm.metrics import proper_nonzero_weights as proper_nonzero_weights
from sparsekm.metrics import proper_zero_weights as proper_zero_weights
from sparsekm.tuning.gap_search import GapSearch as GapSearch
from sparsekm.tuning.sparse_kmeans import SparseKMeans as SparseKMeans

__version__: str
