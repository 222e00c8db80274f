"""Coming to rest before something else is done."""

from __future__ import annotations

from collections.abc import Generator

from graspline.execution.requests import Motion, Reply, Request
from graspline.motion.joint_moves import brake
from graspline.robots.robot import Robot


def stopped(reply: Reply, robot: Robot) -> Generator[Request, Reply, Reply]:
    """The arm at rest: it brakes if it is still commanded to move."""
    return (yield Motion("brake", brake(robot, reply.command))) if reply.command.moving else reply
