"""The regions of the phantom: a hand-drawn brain at two ages, interpolated between them.

Coordinates are in grid steps of the finest drawing: x runs from anterior to posterior, y from
dorsal to ventral, z from the lateral side (negative) to the midline (0). The drawing imitates a
mouse brain in side view and is not based on measurements.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# name: (embryonic centre, embryonic radii, adult centre, adult radii)
LOBES = {
    "telencephalon": ((28, 19, 0), (10, 10, 13), (31, 19, 0), (25, 15.5, 21)),
    "olfactory bulb": ((24, 24, 0), (6, 6, 7), (10, 27, 0), (10, 6, 8)),
    "diencephalon": ((39, 20, 0), (8, 11, 8), (38, 27, 0), (14, 11, 11)),
    "midbrain": ((53, 14, 0), (11, 9, 10), (47, 14, 0), (9, 10, 12)),
    "cerebellum": ((53, 25, 0), (6, 7, 10), (59, 16, 0), (10, 10, 17)),
    "pons": ((51, 34, 0), (5, 6, 7), (53, 30, 0), (11, 8, 10)),
    "medulla": ((54, 44, 0), (4.8, 7, 6), (61, 29.5, 0), (9, 7, 9)),
    "caudal medulla": ((57, 54, 0), (4.8, 7, 6), (67, 29.5, 0), (6, 5.5, 7)),
}

# acronym: (embryonic seeds, adult seeds); a region is drawn towards the nearest of its seeds
SEEDS = {
    "RSP": (((40, 29, -3),), ((36, 35, -3),)),
    "CSP": (
        ((27, 15, -4), (24, 22, -4), (33, 22, -8)),
        ((22, 17, -8), (10, 27, -4), (34, 9, -8), (38, 24, -17), (22, 28, -6)),
    ),
    "p3": (((38, 21, -3),), ((35, 24, -5),)),
    "p2": (((40, 15, -3),), ((40, 20, -5),)),
    "p1": (((44, 11, -3),), ((45, 19, -4),)),
    "m1": (((50, 9, -4), (58, 13, -4)), ((47, 11, -5), (48, 18, -4))),
    "m2": (((58, 20, -3),), ((51, 20, -4),)),
    "is": (((52, 22, -4),), ((55, 13, -6),)),
    "r1": (((53, 28, -4),), ((61, 16, -7),)),
    "r2": (((51, 32, -3),), ((50, 29, -4),)),
    "r3": (((51, 35, -3),), ((52, 31, -4),)),
    "r4": (((52, 38, -3),), ((54, 31, -4),)),
    "r5": (((53, 41, -3),), ((56, 31, -4),)),
    "r6": (((54, 44, -3),), ((58, 31, -4),)),
    "r7": (((55, 47, -3),), ((60, 30.5, -4),)),
    "r8": (((56, 50, -3),), ((62, 30, -4),)),
    "r9": (((57, 53, -3),), ((64, 30, -4),)),
    "r10": (((57, 56, -3),), ((66, 30, -4),)),
    "r11": (((57, 59, -3),), ((68, 30, -4),)),
}

CORD = (
    ((57, 59, 0), (55, 65, 0), (49, 69, 0), (41, 70, 0), (32, 69, 0), (24, 65, 0), (18, 59, 0)),
    ((68, 30, 0), (72, 31.5, 0), (76, 34, 0), (79, 39, 0), (81, 46, 0), (82, 60, 0)),
)
"""The axis of the spinal cord (embryonic, adult), starting inside the caudal medulla."""


@dataclass(frozen=True)
class Layout:
    """The drawing at one age."""

    # (n_lobes, 3): ellipsoids whose union is the brain.
    centres: np.ndarray
    radii: np.ndarray
    seeds: np.ndarray  # (n_seeds, 3)
    seed_region: np.ndarray  # (n_seeds,): position in `SEEDS` of the region each seed belongs to
    cord: np.ndarray  # (n_points, 3): polyline along the spinal cord


def draw_layout(maturity: float) -> Layout:
    """Blend the embryonic (maturity 0) and the adult (1) drawing."""
    lobes = np.array(list(LOBES.values()), dtype=float)
    seeds, seed_region = [], []
    for number, (early, late) in enumerate(SEEDS.values()):
        count = max(len(early), len(late))
        early = _repeat_last(early, count)
        late = _repeat_last(late, count)
        seeds.append(_blend(early, late, maturity))
        seed_region += [number] * count
    cord = [_repeat_last(side, max(map(len, CORD))) for side in CORD]
    return Layout(
        centres=_blend(lobes[:, 0], lobes[:, 2], maturity),
        radii=_blend(lobes[:, 1], lobes[:, 3], maturity),
        seeds=np.vstack(seeds),
        seed_region=np.array(seed_region),
        cord=_blend(cord[0], cord[1], maturity),
    )


def _blend(early: np.ndarray, late: np.ndarray, maturity: float) -> np.ndarray:
    return (1 - maturity) * np.asarray(early, float) + maturity * np.asarray(late, float)


def _repeat_last(points: tuple, count: int) -> np.ndarray:
    points = np.asarray(points, dtype=float)
    return np.vstack([points, np.repeat(points[-1:], count - len(points), axis=0)])
