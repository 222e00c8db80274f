"""The hand: which joint rolls it, how its jaw closes, and how far it rolls to close along another heading."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from graspline.robots.robot import Robot

Array = NDArray[np.float64]

# A hand whose axis is closer than about 15 degrees to the horizontal: a heading does not say how it is rolled.
_LEAST_UPRIGHT = 0.25


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HandRoll:
    """The joint that rolls the hand and its range; its axis and the jaw's closing direction in the tool frame."""

    roll: int
    lower_deg: float
    upper_deg: float
    axis: Array
    closing: Array


def hand_of(robot: Robot) -> HandRoll:
    """From the robot's own model: the roll joint is the last one on the way from the base to the tool."""
    model = robot.model()
    data = mujoco.MjData(model)
    for name, angle in zip(robot.joints, robot.home, strict=True):
        data.qpos[model.joint(name).qposadr[0]] = angle
    mujoco.mj_kinematics(model, data)
    roll = _last_joint(model, robot)
    to_tool = data.site("tool").xmat.reshape(3, 3).T
    axis = to_tool @ data.joint(robot.joints[roll]).xaxis
    pads: dict[int, list[Array]] = {}
    for name in robot.pads:
        geom = model.geom(name)
        pads.setdefault(int(geom.bodyid[0]), []).append(data.geom_xpos[geom.id])
    one, other, *_ = (np.mean(each, axis=0) for each in pads.values())
    across = to_tool @ (other - one)
    closing = across - (across @ axis) * axis
    return HandRoll(
        roll=roll,
        lower_deg=float(np.degrees(robot.limits.lower[roll])),
        upper_deg=float(np.degrees(robot.limits.upper[roll])),
        axis=axis,
        closing=closing / np.linalg.norm(closing),
    )


def _last_joint(model: mujoco.MjModel, robot: Robot) -> int:
    body = int(model.site("tool").bodyid[0])
    while body:
        first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
        for joint in range(first + count - 1, first - 1, -1):
            name = model.joint(joint).name
            if name in robot.joints and robot.joints.index(name) != robot.jaw:
                return robot.joints.index(name)
        body = int(model.body_parentid[body])
    raise ValueError(f"no joint of {robot.name} moves its tool")


def heading_of(closings: Array) -> Array:
    """Direction of each closing direction (..., 3) seen from above, rad."""
    return np.arctan2(closings[..., 1], closings[..., 0])


def is_upright(axes: Array) -> NDArray[np.bool_]:
    """Whether the hand's axis is steep enough for a heading of the jaw to say how it is rolled."""
    return np.abs(axes[..., 2]) >= _LEAST_UPRIGHT


def roll_for_turn(axes: Array, closings: Array, turn_rad: Array) -> Array:
    """How far the roll joint turns, rad in (-π, π], until the jaw closes along a heading turned by `turn_rad`.

    The axis (..., 3) stays where it is. The new closing direction is the one at right angles to it that has the new
    heading: for an axis that points straight down the hand rolls as far as the heading turns.
    """
    heading = heading_of(closings) + turn_rad
    x, y = np.cos(heading), np.sin(heading)
    steep = np.where(is_upright(axes), axes[..., 2], 1.0)
    new = np.stack([x, y, -(x * axes[..., 0] + y * axes[..., 1]) / steep], axis=-1)
    side = np.cross(axes, closings)
    rolled = np.arctan2((new * side).sum(axis=-1), (new * closings).sum(axis=-1))
    # A hand that lies on its side is the same again only when it is turned over.
    over = np.where(np.cos(turn_rad) < 0, np.pi, 0.0)
    return np.where(is_upright(axes), rolled, over)
