"""Time scaling of a whole path: a function of progress, sampled so that speed limits hold."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from graspline.motion.path import Path, load_factor
from graspline.robots.robot import Robot

Array = NDArray[np.float64]

# Peak speed of a minimum-jerk move over its mean.
PEAK = 1.875


def minimum_jerk(share: Array) -> Array:
    """Progress in [0, 1] over the share of time gone, at rest at both ends."""
    return share**3 * (10 + share * (6 * share - 15))


def scaled_path(
    robot: Robot, joints_at: Callable[[Array], Array], length_m: float, *, speed_m_s: float, shortest_s: float = 0.2
) -> Path:
    """A path along `joints_at(progress)`, progress (n,) in [0, 1] → joint positions (n, nu), at most this fast.

    If a joint would exceed its limits the whole move is slowed down until none does.
    """
    duration_s = max(PEAK * length_m / speed_m_s, shortest_s)
    for _ in range(4):
        path = _sampled(robot, joints_at, duration_s)
        factor = load_factor(path, robot.limits)
        if factor <= 1:
            break
        duration_s *= factor * 1.02
    return path


def _sampled(robot: Robot, joints_at: Callable[[Array], Array], duration_s: float) -> Path:
    ticks = max(2, int(np.ceil(duration_s * robot.control_hz - 1e-9)))
    positions = joints_at(minimum_jerk(np.linspace(0.0, 1.0, ticks + 1)))
    velocities = np.zeros_like(positions)
    velocities[1:-1] = (positions[2:] - positions[:-2]) * (0.5 * robot.control_hz)
    return Path(positions=positions, velocities=velocities, dt_s=robot.dt_s)
