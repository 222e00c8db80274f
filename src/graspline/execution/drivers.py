"""Drivers other than a machine: a policy, a person's sliders, a log. All are generators over the same requests."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graspline.execution.requests import Motion, Reply, Within
from graspline.motion.joint_moves import hold, joint_move
from graspline.motion.path import Path
from graspline.robots.robot import Robot

Array = NDArray[np.float64]

# How often a person's wish is looked at again.
_JOG_S = 0.1
# Share of the acceleration limit that slowing down towards a target counts on.
_EASE = 0.6


def follow(
    robot: Robot, first: Reply, policy: Callable[[Reply], Array | None], *, rate_hz: float
) -> Generator[Any, Reply, Reply]:
    """Let a policy choose joint targets at a rate until it returns None.

    The reference goes to each target linearly over its ticks, held inside velocity and acceleration limits.
    """
    ticks = max(1, round(robot.control_hz / rate_hz))
    reply = first
    while (target := policy(reply)) is not None:
        reply = yield Motion("follow", _towards(robot, reply, np.asarray(target, float), ticks))
    return reply


def _towards(robot: Robot, reply: Reply, target: Array, ticks: int) -> Path:
    limits, dt = robot.limits, robot.dt_s
    position, velocity = reply.command.position, reply.command.velocity
    target = np.clip(target, limits.lower, limits.upper)
    braking = _EASE * limits.acceleration
    positions, velocities = [position], [velocity]
    for left in range(ticks, 0, -1):
        away = target - position
        # Linearly there, but never faster than it can still stop in what is left after this tick.
        left_over = np.maximum(np.abs(away) - np.sign(away) * velocity * (dt / 2), 0.0)
        stoppable = braking * (np.sqrt(dt * dt + 2 * left_over / braking) - dt)
        wanted = np.clip(away / (left * dt), -stoppable, stoppable)
        change = np.clip(wanted - velocity, -limits.acceleration * dt, limits.acceleration * dt)
        before, velocity = velocity, np.clip(velocity + change, -limits.velocity, limits.velocity)
        position = position + (before + velocity) * (dt / 2)
        positions.append(position)
        velocities.append(velocity)
    return Path(positions=np.stack(positions), velocities=np.stack(velocities), dt_s=dt)


def jog(
    robot: Robot, first: Reply, wish: Callable[[Reply], Array | None], *, speed: float = 0.3
) -> Generator[Any, Reply, Reply]:
    """Go where a person wishes, looking at the wish again ten times a second; None ends it."""
    reply = first
    while (target := wish(reply)) is not None:
        target = np.clip(np.asarray(target, float), robot.limits.lower, robot.limits.upper)
        there = np.array_equal(target, reply.command.position) and not reply.command.velocity.any()
        path = hold(robot, reply.command, _JOG_S) if there else joint_move(robot, reply.command, target, speed=speed)
        reply = yield Within(request=Motion("jog", path), until_s=reply.time_s + _JOG_S)
    if reply.command.velocity.any():
        reply = yield Motion("stop", hold(robot, reply.command, robot.dt_s))
    return reply


def replay(robot: Robot, first: Reply, positions: Array, velocities: Array) -> Generator[Any, Reply, Reply]:
    """Play a recorded reference again, (T + 1, nu) each; the lane has already stood still for its first tick."""
    if len(positions) < 3:
        return first
    reply = yield Motion("replay", Path(positions=positions[1:], velocities=velocities[1:], dt_s=robot.dt_s))
    return reply
