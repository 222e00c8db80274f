"""The heading of jaws for which an arm's wrist stays as it is, found by what the wrist is off at a first guess."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graspline.kinematics.arm import STRAIGHT_DOWN_RAD, Arm
from graspline.spatial.rotations import wrap

Array = NDArray[np.float64]

# Each round is nearer by the ratio of the tool's offset to its distance from the first axis, a tenth or so.
_ROUNDS = 8
_SAME_RAD = 1e-9


def heading_that_keeps_wrist(
    arm: Arm, roll: float, tool_m: Array, position_m: Array, across_m: float, joints_rad: Array
) -> float:
    """See `Arm.jaw_heading`. `roll` is 1 for a wrist that turns about the approach, -1 against it, and 0 for none."""
    joints = np.asarray(joints_rad, float)[: len(arm.limits.joints)]
    position = np.asarray(position_m, float)
    (here,), rotation = arm.forward(joints[None], tool_m)
    opening = rotation[0, :, 2]
    # As if the whole hand turned with the first joint.
    heading = np.arctan2(opening[1], opening[0]) + _azimuth(arm, position) - _azimuth(arm, here)
    tool = np.array([tool_m[0], 0.0, across_m])
    for _ in range(_ROUNDS if roll else 0):
        found = arm.solve(position[None], STRAIGHT_DOWN_RAD, float(heading), tool)
        apart = np.abs(wrap(found.joints_rad[0] - joints)).max(axis=1)
        near = int(np.argmin(np.where(found.reached[0], apart, np.inf)))
        if not found.reached[0, near]:
            break
        off = float(wrap(joints[arm.wrist] - found.joints_rad[0, near, arm.wrist]))
        # Of a hand that points down, a turn about its approach is one to the right, seen from above.
        heading -= roll * off
        if abs(off) < _SAME_RAD:
            break
    return float(wrap(heading))


def _azimuth(arm: Arm, point_m: Array) -> float:
    return float(np.arctan2(point_m[1] - arm.axis_m[1], point_m[0] - arm.axis_m[0]))
