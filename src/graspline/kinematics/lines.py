"""Lines of the tool followed in one branch of an arm, turns counted through, without winding it up."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graspline.kinematics.arm import Arm, ArmLimits
from graspline.spatial.flags import some

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

# A line that moves any joint farther than this from one point to the next is torn there.
_STEP_RAD = 0.5
# On a line the first joint and the wrist stay within little more than half a turn of home. Taken as near as may be to
# where they are, move by move, they would wind up until a limit stops them.
_UNWOUND_RAD = 3.3
# Branches nearer to each other than this begin alike.
_ALIKE_RAD = 1e-6
_TURN = 2 * np.pi
# How far the gripper may be turned off the rotation that a line asks for.
_TURNED_OFF = 1e-5


def unwound(limits: ArmLimits, home_rad: Array, wrist: int) -> tuple[Array, Array]:
    """Between which joints, (n, 1) each, an arm follows a line."""
    lower, upper = limits.lower_rad[:, None].copy(), limits.upper_rad[:, None].copy()
    ends = [0, wrist]
    lower[ends] = np.maximum(lower[ends], home_rad[ends, None] - _UNWOUND_RAD)
    upper[ends] = np.minimum(upper[ends], home_rad[ends, None] + _UNWOUND_RAD)
    return lower, upper


def nearest_branch(joints: Array, reached: Flags, near: Array, lower: Array, upper: Array) -> Array | None:
    """Of branches (n, B, T) along a line the one that begins nearest to `near`, (n,), turns counted through, (T, n).

    None where it is not reached all the way, (B, T), leaves its limits, (n, 1), or jumps; of those that begin alike the
    first that does not.
    """
    begin, near = joints[..., 0], near[:, None]
    turns = np.rint((near - begin) * (1 / _TURN))
    np.minimum(turns, np.floor((upper - begin) * (1 / _TURN)), out=turns)
    np.maximum(turns, np.ceil((lower - begin) * (1 / _TURN)), out=turns)
    begin = begin + turns * _TURN
    within = ((begin <= upper) & (begin >= lower)).all(axis=0)
    far = np.where(reached[:, 0] & within, np.abs(begin - near).max(axis=0), np.inf)
    if np.isinf(far.min()):
        return None
    for branch in np.flatnonzero(far <= far.min() + _ALIKE_RAD):
        rows = joints[:, branch].copy()
        steps = np.diff(rows, axis=1)
        turns = np.rint(steps * (1 / _TURN))
        steps -= _TURN * turns
        whole = np.empty_like(rows)
        whole[:, 0] = np.rint((begin[:, branch] - rows[:, 0]) * (1 / _TURN))
        np.negative(turns, out=whole[:, 1:])
        rows += _TURN * np.cumsum(whole, axis=1)
        torn = some(np.abs(steps) > _STEP_RAD) or some((rows > upper) | (rows < lower))
        if not torn and reached[branch].all():
            return rows.T
    return None


def follow_solutions(
    arm: Arm, points_m: Array, rotation: Array, near_rad: Array, tool_m: Array, home_rad: Array
) -> Array | None:
    """See `Arm.follow`: by the solutions of any arm, of which those along a steady motion move steadily."""
    x, y = (points_m[:, axis] - arm.axis_m[axis] for axis in (0, 1))
    approach, opening = rotation[:, 0], rotation[:, 2]
    outwards = (x * approach[0] + y * approach[1]) / np.maximum(np.hypot(x, y), 1e-9)
    pitch, yaw = np.arctan2(-approach[2], outwards), np.full(len(x), np.arctan2(opening[1], opening[0]))
    found, near = arm.solve(points_m, pitch, yaw, tool_m), near_rad[: len(arm.limits.joints)]
    lower, upper = unwound(arm.limits, home_rad, arm.wrist)
    rows = nearest_branch(found.joints_rad.transpose(2, 1, 0), found.reached.T, near, lower, upper)
    # An arm of five joints turns the gripper as it can, and by pitch and yaw a hand does not lean aside.
    if rows is None or np.abs(arm.forward(rows, tool_m)[1] - rotation).max() > _TURNED_OFF:
        return None
    return rows
