"""How far an arm that stands on a table reaches over it: what maps of a table show."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.kinematics.arm import Arm
from graspline.kinematics.arms import known_arm
from graspline.robots.robot import Robot

Array = NDArray[np.float64]

# The farthest place is looked for among this many radii and pitches, again and again around the best so far.
_RADII, _PITCHES, _ROUNDS = 41, 25, 6
_SAMPLES = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TableReach:
    """The arm seen from above, in W."""

    # Where the pan axis is, with y = 0.
    pan_x_m: float
    # From the pan axis to the fingertips of the stretched arm when they touch the table.
    reach_m: float
    # The base from x to x, and half its width.
    base_m: tuple[float, float, float]


@functools.cache
def table_reach(robot: Robot) -> TableReach | None:
    """None for a robot whose arm cannot be sent to a place alone."""
    arm = known_arm(robot)
    if arm is None:
        return None
    along = robot.hand.tool_m[0] if robot.hand else 0.0
    return TableReach(
        pan_x_m=arm.axis_m[0],
        reach_m=_farthest_m(arm, np.array([along, 0.0, 0.0])),
        base_m=robot.footprint_m,
    )


def _farthest_m(arm: Arm, tool_m: Array) -> float:
    """The largest radius at which the tool touches the table straight ahead, at any pitch from level to down."""
    low, high = 0.0, _longest_m(arm, tool_m)
    first, last = 0.0, np.pi / 2
    for _ in range(_ROUNDS):
        radii, pitches = np.linspace(low, high, _RADII), np.linspace(first, last, _PITCHES)
        radius, pitch = (each.ravel() for each in np.meshgrid(radii, pitches, indexing="ij"))
        points = np.column_stack([arm.axis_m[0] + radius, np.full_like(radius, arm.axis_m[1]), np.zeros_like(radius)])
        reached = arm.solve(points, pitch, None, tool_m, backwards=False).reached.any(axis=1)
        if not reached.any():
            break
        best = np.flatnonzero(reached & (radius == radius[reached].max()))
        step, turn = radii[1] - radii[0], pitches[1] - pitches[0]
        low, high = float(radius[best[0]]), float(radius[best[0]] + step)
        first, last = float(pitch[best].min() - turn), float(pitch[best].max() + turn)
    return low


def _longest_m(arm: Arm, tool_m: Array) -> float:
    """More than the tool can be away from the first axis, by random joint angles."""
    points, _ = arm.forward(arm.limits.sampled(np.random.default_rng(0), _SAMPLES), tool_m)
    return 1.1 * float(np.hypot(points[:, 0] - arm.axis_m[0], points[:, 1] - arm.axis_m[1]).max())
