r"""Reference data in which every feature keeps its values and its autocorrelation in space.

Neighbours in space resemble each other, so features have far fewer independent values than samples,
and even independent features differ from their permutations. Here each feature is replaced by a
random field with a variogram like its own, which then takes the feature's values in the order of
the field [1]_ [2]_. Fields of different features are independent of each other.

A feature's normal scores have a variogram, half the mean squared difference of two samples, that
rises with their distance :math:`h`. It is fitted by a mixture of
:math:`1 - \exp(-h^2 / (2 \ell^2))` of several ranges :math:`\ell` and a nugget. The fields are
white noise on a grid, filtered in its Fourier transform, and read off at the grid point nearest to
each sample.

References
----------
.. [1] J. Viladomat, R. Mazumder, A. McInturff, D. J. McCauley, T. Hastie (2014).
   doi:10.1111/biom.12139
.. [2] J. B. Burt, M. Helmer, M. Shinn, A. Anticevic, J. D. Murray (2020).
   doi:10.1016/j.neuroimage.2020.117038
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import fft
from scipy.optimize import nnls
from scipy.special import ndtri
from scipy.stats import rankdata

# Samples whose differences from others give the variogram: at fixed numbers of nearer samples.
N_ANCHORS = 500
# Points of the grid at most, with its margin.
MOST_POINTS = 2**19
# The grid is so much longer than the data, since opposite sides of a Fourier transform are close.
MARGIN = 2
# Smaller values of a variogram are rounding.
SMALLEST_VARIOGRAM = 1e-3


@dataclass(frozen=True)
class FieldSpace:
    """What the fields of all features share."""

    anchors: np.ndarray  # (n_anchors,): samples
    partners: np.ndarray  # (n_ranks, n_anchors): samples ever farther from these
    curves: np.ndarray  # (n_ranks, n_ranges + 1): mean variogram of these pairs, the nugget last
    spectra: np.ndarray  # (n_ranges, ...): of the filters, half of the Fourier transform
    shape: tuple[int, ...]  # of the grid
    points: tuple[np.ndarray, ...]  # of the grid, one for each sample

    def fit(self, scores: np.ndarray) -> np.ndarray:
        """Return the variance of each range and of the nugget, (n_ranges + 1,)."""
        differences = scores[self.anchors] - scores[self.partners]
        variogram = np.square(differences).mean(axis=1) / 2
        # By relative errors: short distances matter most.
        scale = 1 / np.maximum(variogram, SMALLEST_VARIOGRAM)
        return nnls(self.curves * scale[:, None], variogram * scale)[0]

    def draw(self, variances: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw a Gaussian field, (n_samples,)."""
        *of_ranges, nugget = variances
        noise = fft.rfftn(rng.standard_normal(self.shape))
        noise *= np.sqrt(np.tensordot(np.array(of_ranges), self.spectra, 1))
        field = fft.irfftn(noise, self.shape)[self.points]
        return field + np.sqrt(nugget) * rng.standard_normal(len(field))


def spatial_reference(X: np.ndarray, *, positions: np.ndarray, index: int, seed: int) -> np.ndarray:
    """Permute every column separately so that its variogram is like before.

    `positions` has shape (n_samples, n_dimensions). The reference depends only on (`seed`,
    `index`), `positions` and `X`, and has the shape and dtype of `X`.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index, 0)))
    space = field_space(positions, np.random.default_rng(seed))
    n_samples, n_features = X.shape
    drawn = np.empty((n_features, n_samples), dtype=X.dtype)
    for feature in range(n_features):
        column = X[:, feature]
        scores = ndtri((rankdata(column) - 0.5) / n_samples)
        field = space.draw(space.fit(scores), rng)
        drawn[feature, np.argsort(field)] = np.sort(column)
    return drawn.T


def field_space(positions: np.ndarray, rng: np.random.Generator) -> FieldSpace:
    """Choose pairs of samples, ranges and a grid for samples at these positions."""
    positions = np.asarray(positions, dtype=np.float64)
    n_samples = len(positions)
    ranks = 2 ** np.arange(max(1, int(np.log2(n_samples - 1)) + 1))
    anchors = rng.permutation(n_samples)[:N_ANCHORS]
    distances, partners = _farther_and_farther(positions, anchors, ranks)
    typical = np.median(distances, axis=1)
    ranges = typical[typical > 0]
    ratios = distances[:, :, None] / ranges
    curves = (1 - np.exp(-(ratios**2) / 2)).mean(axis=1)
    curves = np.column_stack([curves, (distances > 0).mean(axis=1)])
    step = _grid_step(np.ptp(positions, axis=0), ranges)
    points = np.rint((positions - positions.min(axis=0)) / step).astype(int)
    shape = tuple(fft.next_fast_len(MARGIN * int(most) + 1, real=True) for most in points.max(0))
    spectra = np.array([_spectrum(shape, each / step) for each in ranges])
    return FieldSpace(anchors, partners, curves, spectra, shape, tuple(points.T))


def _farther_and_farther(
    positions: np.ndarray, anchors: np.ndarray, ranks: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return for each anchor the samples of these ranks by distance, and how far they are."""
    distances = np.empty((len(ranks), len(anchors)))
    partners = np.empty((len(ranks), len(anchors)), dtype=np.int64)
    for at, anchor in enumerate(anchors):
        squares = np.square(positions - positions[anchor]).sum(axis=1)
        # The anchor itself has rank 0.
        squares[anchor] = -1
        partners[:, at] = np.argpartition(squares, ranks)[ranks]
        distances[:, at] = np.sqrt(squares[partners[:, at]])
    return distances, partners


def _grid_step(sides: np.ndarray, ranges: np.ndarray) -> float:
    """Return the smallest range, or more where the grid would be too large."""
    step = float(ranges.min(initial=sides.max() or 1.0))
    while np.prod(MARGIN * sides / step + 1) > MOST_POINTS:
        step *= 1.1
    return step


def _spectrum(shape: tuple[int, ...], length: float) -> np.ndarray:
    """Return the power of a field with the range `length`, in steps of the grid; variance 1."""
    whole = [fft.fftfreq(side) for side in shape[:-1]]
    axes = np.meshgrid(*whole, fft.rfftfreq(shape[-1]), indexing="ij", sparse=True)
    power = np.exp(-2 * (np.pi * length) ** 2 * sum(axis**2 for axis in axes))
    # A constant is no variation.
    power.flat[0] = 0
    # Frequencies other than 0 and the middle stand for two.
    counts = np.full(shape[-1] // 2 + 1, 2.0)
    counts[0] = 1
    if shape[-1] % 2 == 0:
        counts[-1] = 1
    return power * (np.prod(shape) / max((power * counts).sum(), 1e-300))
