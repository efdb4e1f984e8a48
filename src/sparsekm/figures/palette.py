"""Colours that readers with any of the common colour-vision deficiencies can distinguish.

They are those of Okabe and Ito (except their yellow, which is faint on white) and, for methods,
three others of Tol. `color_distances` tells how far apart colours look.

Full protan, deutan and tritan vision are simulated with the matrices of Machado et al. (2009)
on linear RGB. Distances are Euclidean in the Oklab space, where 0.02 is about the smallest
noticeable difference between adjacent patches.

References
----------
M. Okabe, K. Ito (2008), Color universal design. https://jfly.uni-koeln.de/color/
P. Tol (2021), Colour schemes. SRON/EPS/TN/09-002. https://sronpersonalpages.nl/~pault/
G. M. Machado, M. M. Oliveira, L. A. F. Fernandes (2009), A physiologically-based model for
simulation of color vision deficiency. doi:10.1109/TVCG.2009.113
B. Ottosson (2020), A perceptual color space for image processing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.colors import to_rgb

ORANGE, SKY, GREEN = "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILION, PURPLE = "#0072B2", "#D55E00", "#CC79A7"
PLUM = "#AA4499"
GREY = "#555555"
DROPPED = "#B4B4B4"
INK = "#222222"
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")

VISIONS = {
    "normal": np.eye(3),
    "protan": np.reshape([0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216,
                          -0.003882, -0.048116, 1.051998], (3, 3)),
    "deutan": np.reshape([0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413,
                          -0.011820, 0.042940, 0.968881], (3, 3)),
    "tritan": np.reshape([1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602,
                          0.004733, 0.691367, 0.303900], (3, 3)),
}  # fmt: skip
"""Matrices from linear RGB to linear RGB, by kind of vision."""

_CONES = np.reshape(
    [0.4122214708, 0.2119034982, 0.0883024619, 0.5363325363, 0.6806995451, 0.2817188376,
     0.0514459929, 0.1073969566, 0.6299787005], (3, 3)
)  # fmt: skip
_OPPONENTS = np.reshape(
    [0.2104542553, 1.9779984951, 0.0259040371, 0.7936177850, -2.4285922050, 0.7827717662,
     -0.0040720468, 0.4505937099, -0.8086757660], (3, 3)
)  # fmt: skip


def place_colors(colors: Sequence, vision: str = "normal") -> np.ndarray:
    """Return the Oklab coordinates (m, 3) of m colours as seen with one kind of vision.

    The coordinates are lightness, green to red, blue to yellow.

    Examples
    --------
    >>> place_colors(["white"]).round(3).tolist()
    [[1.0, 0.0, -0.0]]
    """
    rgb = np.array([to_rgb(color) for color in colors]).reshape(-1, 3)
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = (linear @ VISIONS[vision].T).clip(0, 1)
    return np.cbrt(seen @ _CONES) @ _OPPONENTS


def color_distances(colors: Sequence, others: Sequence) -> np.ndarray:
    """Return the distances (m, k) between colours for the vision that sees the least difference."""
    by_vision = [
        np.linalg.norm(
            place_colors(colors, vision)[:, None] - place_colors(others, vision)[None], axis=2
        )
        for vision in VISIONS
    ]
    return np.min(by_vision, axis=0)
