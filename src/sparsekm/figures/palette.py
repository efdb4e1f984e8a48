"""Colours and markers, and the appearance of each method: title, colour, marker and line style.

The colours are those of Okabe and Ito (except their yellow, which is faint on white) and, for
methods, three others of Tol. Readers with any of the common colour-vision deficiencies can
distinguish them; methods also differ in marker and line style for printing in grey. No computation
imports this module, so a new title or colour reruns no clustering.

References
----------
M. Okabe, K. Ito (2008), Color universal design. https://jfly.uni-koeln.de/color/
P. Tol (2021), Colour schemes. SRON/EPS/TN/09-002. https://sronpersonalpages.nl/~pault/
"""

from __future__ import annotations

from dataclasses import dataclass

ORANGE, SKY, GREEN, BLUE, VERMILION, PURPLE = (
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
)
BLACK, INDIGO, PLUM, WINE = "#000000", "#332288", "#AA4499", "#661100"
GREY = "#555555"
DROPPED = "#B4B4B4"
INK = "#222222"
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


@dataclass(frozen=True)
class MethodLook:
    """The appearance of a method in tables and figures; `linestyle` is one of matplotlib's."""

    title: str
    color: str
    marker: str
    linestyle: str | tuple


METHOD_LOOKS = {
    "kmeans": MethodLook("k-means", GREY, "^", ":"),
    "pca": MethodLook("PCA-k-means", SKY, "D", "-."),
    "pgmm": MethodLook("Penalised mixture", PURPLE, "v", (0, (5, 1, 1, 1))),
    "ifpca": MethodLook("IF-PCA", INDIGO, "<", (0, (1, 1))),
    "scfs": MethodLook("SC-FS", WINE, ">", (0, (3, 1))),
    "l1": MethodLook("ℓ₁-k-means", ORANGE, "s", "--"),
    "l0": MethodLook("ℓ₀-k-means", BLUE, "o", "-"),
    "sparse": MethodLook("Sparse k-means", BLACK, "*", "-"),
}
"""The methods of `sparsekm.pipeline.registry`, by name."""


def method_look(method: str) -> MethodLook:
    """Return the look of a method; an unknown method is grey and has its name as title."""
    return METHOD_LOOKS.get(method) or MethodLook(method, GREY, "o", "-")
