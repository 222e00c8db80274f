"""Rides: the hand along with something that moves evenly, and paths bent to end on it where it was not expected."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.kinematics.arms import arm_of
from graspline.motion.lines import minimum_jerk
from graspline.motion.path import Command, Path, check_path
from graspline.robots.robot import Robot

Array = NDArray[np.float64]

# A hand that is not quite on a ride gets there in this time.
_CATCH_UP_S = 0.1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ride:
    """A point of the gripper, `tool_m` in its frame, that moves evenly in W, the gripper turned like this."""

    point_m: Array
    velocity_m_s: Array
    time_s: float
    rotation: Array
    tool_m: Array

    def at(self, times_s: Array | float) -> Array:
        """(..., 3)"""
        return self.point_m + np.asarray(times_s - self.time_s)[..., None] * self.velocity_m_s

    def joints(self, robot: Robot, times_s: Array, near_rad: Array) -> Array | None:
        """Of the arm at these times, (T, n), in the branch nearest to `near_rad`; None if that ends on the way."""
        return arm_of(robot).follow(self.at(times_s), self.rotation, near_rad, self.tool_m)


def ride_along(robot: Robot, start: Command, now_s: float, ride: Ride, ticks: int) -> tuple[Array, Array] | None:
    """Positions and velocities of the arm, (ticks + 1, n), from nearly on a ride; None if it leads out of reach."""
    here, speed = start.position[robot.arm], start.velocity[robot.arm]
    rows = ride.joints(robot, now_s + robot.dt_s * np.arange(-1.0, ticks + 2), here)
    if rows is None:
        return None
    positions, velocities = rows[1:-1].copy(), (rows[2:] - rows[:-2]) / (2 * robot.dt_s)
    gone, rate = _eased(np.minimum(np.arange(ticks + 1) / (_CATCH_UP_S * robot.control_hz), 1.0), _CATCH_UP_S)
    off, drift = here - positions[0], speed - velocities[0]
    positions += (1 - gone) * off
    velocities += (1 - gone) * drift - rate * off
    positions[0], velocities[0] = here, speed
    return positions, velocities


def bent_to(robot: Robot, path: Path, ride: Ride, ends_s: float) -> Path | None:
    """The path, ending on this ride: the difference is let in smoothly; None if that breaks a limit."""
    dt_s, end = robot.dt_s, path.positions[-1, robot.arm]
    rows = ride.joints(robot, ends_s + dt_s * np.arange(-1.0, 2), end)
    if rows is None:
        return None
    share = np.arange(path.ticks + 1) / path.ticks
    gone, rate = _eased(share, path.duration_s)
    drift = (rows[2] - rows[0]) / (2 * dt_s) - path.velocities[-1, robot.arm]
    offset = rows[1] - end + (share - 1)[:, None] * path.duration_s * drift
    positions, velocities = path.positions.copy(), path.velocities.copy()
    positions[:, robot.arm] += gone * offset
    velocities[:, robot.arm] += rate * offset + gone * drift
    bent = Path(positions=positions, velocities=velocities, dt_s=dt_s)
    return bent if check_path(bent, robot) is None else None


def _eased(share: Array, duration_s: float) -> tuple[Array, Array]:
    """How much of a difference is let in after shares of a time, and how fast; (T, 1) each."""
    return minimum_jerk(share)[:, None], (30 * share**2 * (1 - share) ** 2 / duration_s)[:, None]
