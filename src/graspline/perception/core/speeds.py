"""How fast something is, from where it was seen and when."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Measurement, at_most

Array = NDArray[np.float64]


def fitted_speed(times_s: Array, positions_m: Array, error_m: float) -> tuple[float, float]:
    """Speed through sightings (n, 3) and its standard error; `error_m` is the error of one sighting."""
    lever = times_s - times_s.mean()
    spread = float(np.sum(lever * lever))
    if not spread:
        return float("nan"), 0.0
    slope = np.einsum("t,ti->i", lever, positions_m) / spread
    return float(np.linalg.norm(slope)), error_m / float(np.sqrt(spread))


def speed_now(times_s: Array, positions_m: Array, limit_m_s: float, error_m: float) -> Measurement:
    """How fast it is at the very end, from the last two sightings: what has only begun to move shows here first.

    Something that was at rest at the first of the two and is pushed since is faster at the second than its mean speed
    between them says, up to twice, so half the allowed speed is the limit; widened by what cannot be seen.
    """
    speed, speed_error = fitted_speed(times_s[-2:], positions_m[-2:], error_m)
    return at_most("speed_now", speed, limit_m_s / 2 + 3 * speed_error, "m/s")
