"""Straight ways of a hand in the vertical plane of its arm, from any pose; first axis and wrist stay."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graspline.kinematics.arm import Arm
from graspline.kinematics.arms import arm_of
from graspline.motion.lines import scaled_paths
from graspline.motion.path import Command, Path, check_path
from graspline.robots.robot import Robot
from graspline.spatial.rotations import multiply

Array = NDArray[np.float64]

# Shares of a way at which it is tried, and by which it is shortened where the arm does not get to its end.
_SHARES = np.linspace(0.0, 1.0, 21)
_NEWTON_STEPS = 12
_CLOSED_M, _CLOSED_RAD = 1e-7, 1e-6
_STEP_RAD = 1e-6
# What a radian of the hand's turn weighs beside a metre of its way.
_LEVER_M = 0.1
# The most that one Newton step turns a joint.
_MOST_RAD = 0.3
# Where joints turn more than this between two shares of a way, the arm passes a stretched pose.
_LEAP_RAD = 0.25
# Joints stop this far from their limits.
_MARGIN_RAD = 0.01
# A way shorter than this is not worth a move.
SHORTEST_M = 0.003


def heading_of(robot: Robot, joints: Array) -> Array:
    """(2,): the unit vector along which the arm's plane is seen from above, at joints (nu,); square to its shoulder."""
    arm, rows = arm_of(robot), np.repeat(joints[None, robot.arm], 2, axis=0)
    rows[1, arm.folding[0]] += _STEP_RAD
    _, (here, turned) = arm.forward(rows, np.zeros(3))
    axis = _turn(here[None], turned[None])[0]
    return np.array([axis[1], -axis[0]]) / np.hypot(axis[0], axis[1])


def straight_in_plane(robot: Robot, start: Command, outward_m: float, up_m: float, *, speed_m_s: float) -> Path | None:
    """The tool goes straight by so much along the arm's heading and up, the hand turned as it is.

    Where the arm does not get to the end, as far as it gets; None where that is nowhere. The jaw keeps its command.
    """
    way_m = np.array([*(outward_m * heading_of(robot, start.position)), up_m])
    reached = _reached_share(robot, start.position, way_m)
    length_m = float(np.hypot(outward_m, up_m)) * reached
    if length_m < SHORTEST_M:
        return None

    def joints_at(move: NDArray[np.intp], progress: Array) -> Array:
        joints, _ = _solved(robot, start.position, progress[:, None] * (way_m * reached))
        return joints

    (path,) = scaled_paths(robot, joints_at, [length_m], [speed_m_s])
    path.positions[0] = start.position
    return path if check_path(path, robot) is None else None


def _reached_share(robot: Robot, here: Array, way_m: Array) -> float:
    """How much of a way the arm can go."""
    joints, closed = _solved(robot, here, _SHARES[:, None] * way_m)
    lower = np.minimum(robot.limits.lower + _MARGIN_RAD, here)
    upper = np.maximum(robot.limits.upper - _MARGIN_RAD, here)
    good = closed & ((joints >= lower) & (joints <= upper)).all(axis=1)
    good[1:] &= np.abs(np.diff(joints, axis=0)).max(axis=1) <= _LEAP_RAD
    return float(_SHARES[int(np.argmin(good)) - 1]) if not good.all() else 1.0


def _solved(robot: Robot, here: Array, ways_m: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Joints (n, nu) with the tool so far, (n, 3), from where it is, and which of them were found."""
    arm, tool_m = arm_of(robot), np.array(robot.hand.tool_m)
    joints = np.repeat(here[None], len(ways_m), axis=0)
    free = [joint for joint in range(1, robot.jaw) if joint != arm.wrist]
    from_m, rotation = arm.forward(here[None, robot.arm], tool_m)
    goals = from_m + ways_m, np.repeat(rotation, len(ways_m), axis=0)
    for _ in range(_NEWTON_STEPS):
        missing = _missing(arm, joints[:, robot.arm], tool_m, goals)
        columns = []
        for joint in free:
            turned = joints.copy()
            turned[:, joint] += _STEP_RAD
            columns.append((missing - _missing(arm, turned[:, robot.arm], tool_m, goals)) / _STEP_RAD)
        slopes = np.stack(columns, axis=-1)
        # Damped a little: a stretched arm has no way along itself.
        square = np.einsum("nij,nik->njk", slopes, slopes) + 1e-9 * np.eye(len(free))
        step = np.linalg.solve(square, np.einsum("nij,ni->nj", slopes, missing)[..., None])[..., 0]
        joints[:, free] += np.clip(step, -_MOST_RAD, _MOST_RAD)
    missing = np.abs(_missing(arm, joints[:, robot.arm], tool_m, goals))
    return joints, (missing[:, :3].max(axis=1) <= _CLOSED_M) & (missing[:, 3:].max(axis=1) <= _CLOSED_RAD * _LEVER_M)


def _missing(arm: Arm, joints: Array, tool_m: Array, goals: tuple[Array, Array]) -> Array:
    """(n, 6): how far tools are from their goals, and how far hands are turned from theirs, times the lever."""
    points, rotations = arm.forward(joints, tool_m)
    return np.concatenate([goals[0] - points, _LEVER_M * _turn(rotations, goals[1])], axis=-1)


def _turn(these: Array, those: Array) -> Array:
    """(n, 3): axis times sine of the turn from rotations (n, 3, 3) to others."""
    apart = multiply(those, np.swapaxes(these, -1, -2))
    return (
        np.stack(
            [apart[:, 2, 1] - apart[:, 1, 2], apart[:, 0, 2] - apart[:, 2, 0], apart[:, 1, 0] - apart[:, 0, 1]], axis=-1
        )
        / 2
    )
