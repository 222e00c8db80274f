"""Ways that were planned before, used again from where the hand is now."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from graspline.motion.lines import minimum_jerk
from graspline.motion.path import Path
from graspline.perception.beliefs import Belief
from graspline.robots.robot import Robot

Array = NDArray[np.float64]

# Obstacles that have moved by less are where a plan that keeps clear of them believed them.
_UNMOVED_M = 0.0002


def rejoined(robot: Robot, way: Path, at: Array) -> Path:
    """A way from joints `at` (nu,) that fades into the one that was planned, the jaw as it is."""
    off = at - way.positions[0]
    fading, slope = _fading(way.ticks)
    positions = way.positions + fading * off
    velocities = way.velocities + slope * (off / (way.ticks * way.dt_s))
    positions[:, robot.jaw], velocities[:, robot.jaw] = at[robot.jaw], 0.0
    positions[0] = at
    return Path(positions=positions, velocities=velocities, dt_s=way.dt_s)


def unmoved(now: tuple[Belief, ...], before: tuple[Belief, ...]) -> bool:
    """Whether the same things are where they were, as large as they were and turned as they were."""
    if [each.name for each in now] != [each.name for each in before]:
        return False
    return bool(np.abs(_rows(now) - _rows(before)).max(initial=0.0) <= _UNMOVED_M)


def _rows(things: tuple[Belief, ...]) -> Array:
    """Position, size and turn of each, a turn in what it moves a thing of a decimetre by."""
    rows = np.empty((len(things), 10))
    for row, each in zip(rows, things, strict=True):
        row[:3], row[3:6], row[6:] = each.position_m, each.half_extents_m, each.quaternion
    rows[:, 6:] *= 0.1
    return rows


@functools.lru_cache(maxsize=512)
def _fading(ticks: int) -> tuple[Array, Array]:
    """From one to nothing over `ticks` ticks, smooth at both ends, (ticks + 1, 1), and its slope over the whole."""
    share = np.linspace(0.0, 1.0, ticks + 1)[:, None]
    return 1 - minimum_jerk(share), -30 * (share * (1 - share)) ** 2
