"""Directions of a hand that points at a pitch and opens along a heading; (3, L), each row by itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# A hand that points flatter than this has its jaw level, whatever the yaw.
_FLAT = 1e-3
_OTHERS = ((1, 2), (2, 0), (0, 1))


def cross(first: Array, second: Array, out: Array | None = None) -> Array:
    """Along the first axis, which has length 3."""
    found = np.empty(np.broadcast_shapes(first.shape, second.shape)) if out is None else out
    for axis, (following, last) in enumerate(_OTHERS):
        np.multiply(first[following], second[last], out=found[axis])
        found[axis] -= first[last] * second[following]
    return found


def opening_towards(approach: Array, x: Array, y: Array) -> Array:
    """Where a hand with this approach opens to, if seen from above that is along (x, y)."""
    steep = np.abs(approach[2]) > _FLAT
    up = -(approach[0] * x + approach[1] * y) / np.where(steep, approach[2], 1.0)
    # Level, and to the left of the approach or to its right.
    side = np.where(approach[0] * y - approach[1] * x >= 0, 1.0, -1.0)
    found = np.array(
        [
            np.where(steep, x, -approach[1] * side),
            np.where(steep, y, approach[0] * side),
            np.where(steep, up, 0.0),
        ]
    )
    return found / np.sqrt(np.add.reduce(found * found, axis=0))
