"""Straight ways of an SO-101's hand in the vertical plane of its arm, from any pose; pan and wrist roll stay."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graspline.kinematics.so101 import PAN_X_M, forward
from graspline.motion.lines import scaled_paths
from graspline.motion.path import Command, Path, check_path
from graspline.robots.robot import Robot
from graspline.robots.so101 import FIXED_TIP_M

Array = NDArray[np.float64]

_TIP_M = np.array(FIXED_TIP_M)
# Shares of a way at which it is tried, and by which it is shortened where the arm does not get to its end.
_SHARES = np.linspace(0.0, 1.0, 21)
_NEWTON_STEPS = 12
_CLOSED_M = 1e-7
_STEP_RAD = 1e-6
# The most that one Newton step turns a joint.
_MOST_RAD = 0.3
# Where joints turn more than this between two shares of a way, the arm passes a stretched pose.
_LEAP_RAD = 0.25
# Joints stop this far from their limits.
_MARGIN_RAD = 0.01
# A way shorter than this is not worth a move.
SHORTEST_M = 0.003


def straight_in_plane(robot: Robot, start: Command, outward_m: float, up_m: float, *, speed_m_s: float) -> Path | None:
    """The fixed fingertip goes straight by so much away from the pan axis and up, the hand as steep as it is.

    Where the arm does not get to the end, as far as it gets; None where that is nowhere. The jaw keeps its command.
    """
    reached = _reached_share(robot, start.position, outward_m, up_m)
    length_m = float(np.hypot(outward_m, up_m)) * reached
    if length_m < SHORTEST_M:
        return None

    def joints_at(move: NDArray[np.intp], progress: Array) -> Array:
        joints, _ = _solved(start.position, progress * (outward_m * reached), progress * (up_m * reached))
        return joints

    (path,) = scaled_paths(robot, joints_at, [length_m], [speed_m_s])
    path.positions[0] = start.position
    return path if check_path(path, robot) is None else None


def _reached_share(robot: Robot, here: Array, outward_m: float, up_m: float) -> float:
    """How much of a way the arm can go."""
    joints, closed = _solved(here, _SHARES * outward_m, _SHARES * up_m)
    lower = np.minimum(robot.limits.lower + _MARGIN_RAD, here)
    upper = np.maximum(robot.limits.upper - _MARGIN_RAD, here)
    good = closed & ((joints >= lower) & (joints <= upper)).all(axis=1)
    good[1:] &= np.abs(np.diff(joints, axis=0)).max(axis=1) <= _LEAP_RAD
    return float(_SHARES[int(np.argmin(good)) - 1]) if not good.all() else 1.0


def _solved(here: Array, outward_m: Array, up_m: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Joints (n, nu) with the tip so far from where it is, and which of them were found."""
    joints = np.repeat(here[None], len(outward_m), axis=0)
    pitch = float(here[1:4].sum())
    heading = np.array([np.cos(here[0]), -np.sin(here[0])])
    goal = _in_plane(joints, heading) + np.stack([outward_m, up_m], axis=-1)
    for _ in range(_NEWTON_STEPS):
        missing = goal - _in_plane(joints, heading)
        columns = []
        for joint in (1, 2):
            turned = joints.copy()
            turned[:, joint] += _STEP_RAD
            turned[:, 3] -= _STEP_RAD
            columns.append((_in_plane(turned, heading) - _in_plane(joints, heading)) / _STEP_RAD)
        slopes = np.stack(columns, axis=-1)
        # Damped a little: a stretched arm has no way along itself.
        square = np.einsum("nij,nik->njk", slopes, slopes) + 1e-9 * np.eye(2)
        step = np.linalg.solve(square, np.einsum("nij,ni->nj", slopes, missing)[..., None])[..., 0]
        joints[:, 1:3] += np.clip(step, -_MOST_RAD, _MOST_RAD)
        joints[:, 3] = pitch - joints[:, 1] - joints[:, 2]
    return joints, np.abs(goal - _in_plane(joints, heading)).max(axis=1) <= _CLOSED_M


def _in_plane(joints: Array, heading: Array) -> Array:
    """Distance of the tip from the pan axis along the arm's heading, and its height, (n, 2)."""
    points, _ = forward(joints[:, :5], _TIP_M)
    return np.stack([(points[:, 0] - PAN_X_M) * heading[0] + points[:, 1] * heading[1], points[:, 2]], axis=-1)
