"""Coming to rest: the arm before something else is done, and the jaw, with the position it ends at."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator

from graspline.execution.requests import Motion, Reply, Request
from graspline.motion.joint_moves import brake, hold, jaw_move
from graspline.robots.robot import Robot

# How fast the jaw moves for a person.
_JAW_RAD_S = 1.5
# It is settled when it has turned by less than this, 0.01 mm at the tips, in this many ticks; what still swings after
# this many is reported as it is.
_STILL_RAD, _STILL_TICKS, _MOST_TICKS = 1.5e-4, 6, 90


def stopped(reply: Reply, robot: Robot) -> Generator[Request, Reply, Reply]:
    """The arm at rest: it brakes if it is still commanded to move."""
    return (yield Motion("brake", brake(robot, reply.command))) if reply.command.moving else reply


def settled_jaw(robot: Robot, name: str, last: Reply, angle_rad: float) -> Generator[Motion, Reply, float]:
    """Move the jaw and hold until it no longer swings; returns its measured angle then.

    No guard: what is between the jaws is squeezed, as a negative clearance asks for.
    """
    reply = yield Motion(name, jaw_move(robot, last.command, angle_rad, speed_rad_s=_JAW_RAD_S))
    angles = deque([float(reply.readings.joints[robot.jaw])], maxlen=_STILL_TICKS)
    for _ in range(_MOST_TICKS):
        if len(angles) == _STILL_TICKS and max(angles) - min(angles) <= _STILL_RAD * robot.jaw_unit:
            break
        reply = yield Motion(name, hold(robot, reply.command, robot.dt_s))
        angles.append(float(reply.readings.joints[robot.jaw]))
    return angles[-1]
