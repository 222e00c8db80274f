"""An arm that is driven by hand: it follows the newest wish, and brakes when no more come."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from typing import Any

from graspline.execution.requests import Motion, Reply
from graspline.motion.joint_moves import hold
from graspline.robots.robot import Robot
from graspline.scenes.scene import Scene
from graspline.serve.live.commands import Drive, Ticket
from graspline.serve.live.steps import FASTEST_M_S, FASTEST_RAD_S, Stepper
from graspline.tasks.console import Done, Refused

# Without another word for this long, in simulated time, the arm brakes and holds: the dead-man rule.
DEAD_MAN_S = 0.25
# Times are sums of ticks, which round.
_ROUNDING_S = 1e-9
_NOTHING = Refused(reason="")


class Wish:
    """A command to drive, and until when it holds."""

    def __init__(self, command: Drive, ticket: Ticket) -> None:
        self.command, self.ticket = command, ticket
        # Set with the first tick that follows it, and again with each one that keeps it.
        self.renewed = True
        self.until_s = math.inf

    def over(self, now_s: float) -> bool:
        """Whether the operator wishes nothing any more."""
        if self.renewed:
            self.renewed, self.until_s = False, now_s + DEAD_MAN_S
        return self.command.still or now_s >= self.until_s - _ROUNDING_S


class Driving:
    """Follows wishes in a lane, in the session's thread."""

    def __init__(self, scene: Scene) -> None:
        self._robot, self._stepper = scene.robot, Stepper(scene)

    def follow(self, first: Reply, newest: Callable[[float], Wish | None]) -> Generator[Any, Reply, Reply]:
        """Follow the newest wish tick by tick until there is none; then brake. Returns the last reply."""
        reply, blocked = first, _NOTHING
        self._stepper.begin()
        while (wish := newest(reply.time_s)) is not None:
            step = self._stepper.next(reply, wish.command)
            if isinstance(step, Refused):
                # From speed it needs more room to stop than it has at rest, and says so.
                said = step if reply.command.moving else _said_once(blocked, step)
                blocked = _NOTHING if reply.command.moving else said
                wish.ticket.settle(said)
                reply = yield Motion("drive", hold(self._robot, reply.command, self._robot.dt_s))
            else:
                blocked = _NOTHING
                wish.ticket.settle(Done())
                reply = yield Motion("drive", step)
        if reply.command.moving:
            reply = yield Motion("hold", hold(self._robot, reply.command, self._robot.dt_s))
        return reply


def _said_once(before: Refused, now: Refused) -> Refused:
    """The refusal before, to the last digit, while it is the same limit that the arm stands at."""
    return before if [each.name for each in before.evidence] == [each.name for each in now.evidence] else now


def drive_refusal(robot: Robot, command: Drive) -> Refused | None:
    """What is wrong with a command to drive, whatever the arm does."""
    rates = command.joints_rad_s
    numbers = [*command.linear_m_s, command.turn_rad_s, command.tilt_rad_s, command.jaw, *(rates or ())]
    target = command.target
    if target is not None:
        numbers += [*target.position_m, *(target.quaternion or ())]
    problems = []
    if not all(math.isfinite(each) for each in numbers):
        problems.append("all numbers have to be finite")
    if sum((command.moves_tool, target is not None, rates is not None)) > 1:
        problems.append("drive the tool at rates or to a target, or joints: one of them at a time")
    if rates is not None and len(rates) != len(robot.joints):
        problems.append(f"{robot.name} has {len(robot.joints)} joints, got {len(rates)} rates")
    if max(map(abs, command.linear_m_s)) > FASTEST_M_S:
        problems.append(f"linear_m_s is at most {FASTEST_M_S:g} m/s")
    if max(abs(command.turn_rad_s), abs(command.tilt_rad_s)) > FASTEST_RAD_S:
        problems.append(f"turn_rad_s and tilt_rad_s are at most {FASTEST_RAD_S:g} rad/s")
    if abs(command.jaw) > 1:
        problems.append("jaw is from -1, closing, to 1, opening")
    if target is not None and target.quaternion is not None and math.hypot(*target.quaternion) < 0.5:
        problems.append("the target's quaternion has no length")
    return Refused(reason="; ".join(problems), mistaken=True) if problems else None
