"""How far rectangles in a plane are apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def separation_m(
    first: tuple[float, float], first_rad: float, second: tuple[float, float], second_rad: float, apart_m: Array
) -> float:
    """How far two rectangles of these half sides and headings are apart at least; less than 0 if they meet."""
    best = -np.inf
    for heading in (first_rad, first_rad + np.pi / 2, second_rad, second_rad + np.pi / 2):
        axis = np.array([np.cos(heading), np.sin(heading)])
        reach = sum(
            half[0] * abs(np.cos(heading - turn)) + half[1] * abs(np.sin(heading - turn))
            for half, turn in ((first, first_rad), (second, second_rad))
        )
        best = max(best, abs(float(apart_m @ axis)) - reach)
    return float(best)
