"""Drivers other than a machine: a policy, a person's sliders, a log. All are generators over the same requests."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graspline.execution.requests import Motion, Reply, Within
from graspline.motion.joint_moves import hold, joint_move, ramp
from graspline.motion.path import Path
from graspline.robots.robot import Robot

Array = NDArray[np.float64]

# The state that a policy announces while it drives.
FOLLOW = "follow"
# The state of an episode that a person drives.
TELEOP = "teleop"
# How often a person's wish is looked at again.
_JOG_S = 0.1


def follow(
    robot: Robot, first: Reply, policy: Callable[[Reply], Generator[Any, Reply, Array | None]], *, rate_hz: float
) -> Generator[Any, Reply, Reply]:
    """Let a policy, which may look before it chooses, name joint targets at a rate until it names none.

    The reference goes to each target linearly over its ticks. A target out of range is taken as the end of the range,
    one too far to reach in time is approached at the speed limit.
    """
    ticks = max(1, round(robot.control_hz / rate_hz))
    reply = first
    while (target := (yield from policy(reply))) is not None:
        command = reply.command
        path = ramp(robot, command.position, target, ticks, command.velocity)
        reply = yield Motion("follow", path, corners=True)
    return reply


def jog(
    robot: Robot, first: Reply, wish: Callable[[Reply], Array | None], *, speed: float = 0.3
) -> Generator[Any, Reply, Reply]:
    """Go where a person wishes, looking at the wish again ten times a second; None ends it."""
    reply = first
    while (target := wish(reply)) is not None:
        target = np.clip(np.asarray(target, float), robot.limits.lower, robot.limits.upper)
        there = np.array_equal(target, reply.command.position) and not reply.command.moving
        path = hold(robot, reply.command, _JOG_S) if there else joint_move(robot, reply.command, target, speed=speed)
        reply = yield Within(request=Motion("jog", path), until_s=reply.time_s + _JOG_S)
    if reply.command.moving:
        reply = yield Motion("stop", hold(robot, reply.command, robot.dt_s))
    return reply


def replay(robot: Robot, first: Reply, positions: Array, velocities: Array) -> Generator[Any, Reply, Reply]:
    """Play a recorded reference again, (T + 1, nu) each; the lane has already stood still for its first tick."""
    if len(positions) < 3:
        return first
    reply = yield Motion("replay", Path(positions=positions[1:], velocities=velocities[1:], dt_s=robot.dt_s))
    return reply
