"""How steeply an arm can point down at places far out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graspline.kinematics.arm import STRAIGHT_DOWN_RAD, Arm

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]


def steepest_pitch(
    arm: Arm,
    position_m: Array,
    yaw_rad: Array | float | None,
    tool_m: Array,
    max_tilt_rad: float,
    margin_rad: float = 0.0,
) -> tuple[Array, Flags]:
    """For each position the pitch nearest to straight down that reaches it, tilting at most `max_tilt_rad`.

    Returns pitch (N,) and which positions are reached at all. Tilts are tried in whole degrees, outward first.
    """
    position = np.atleast_2d(np.asarray(position_m, float))
    count = len(position)
    degree = np.pi / 180
    tilts = np.arange(0.0, max_tilt_rad + 1e-9, degree)
    pitch = STRAIGHT_DOWN_RAD - tilts
    yaw = None if yaw_rad is None else np.repeat(np.broadcast_to(np.asarray(yaw_rad, float), (count,)), len(tilts))
    tool = np.repeat(np.broadcast_to(np.asarray(tool_m, float), (count, 3)), len(tilts), axis=0)
    solutions = arm.solve(np.repeat(position, len(tilts), axis=0), np.tile(pitch, count), yaw, tool, margin_rad)
    reached = solutions.reached.any(axis=1).reshape(count, len(tilts))
    return pitch[np.argmax(reached, axis=1)], np.any(reached, axis=1)
