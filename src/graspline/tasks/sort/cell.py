"""What stays the same through an episode: the robot, what it must not touch, its eye, and the settings."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.execution.requests import Motion, Reply, Request
from graspline.kinematics.arms import arm_of
from graspline.motion.belt_transfers import Clearance
from graspline.motion.guards import Guard, TrackingError
from graspline.motion.path import Command, Path
from graspline.planning.collision import CollisionWorld
from graspline.robots.robot import Robot
from graspline.tasks.sort.belt_beliefs import BeltBeliefs
from graspline.tasks.sort.parameters import Sort
from graspline.tasks.sort.sight import BeltEye

Array = NDArray[np.float64]

# Something is in the arm's way when its joints are this far from their reference together.
BLOCKED = TrackingError(error_rad=0.12, for_s=0.05)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SortCell:
    """A robot at its belts."""

    robot: Robot
    world: CollisionWorld
    eye: BeltEye
    settings: Sort

    @property
    def tool_m(self) -> Array:
        """The tool centre point in the hand."""
        return np.array(self.robot.hand.tool_m)

    def tool(self, joints_rad: Array) -> tuple[Array, Array]:
        """Points (N, 3) and rotations (N, 3, 3) of the tool for joints (N, at least n)."""
        return arm_of(self.robot).forward(joints_rad, self.tool_m)

    @property
    def jaw_speed(self) -> float:
        """The speed of the jaws, a little below the robot's limit."""
        return 0.95 * float(self.robot.limits.velocity[self.robot.jaw]) / self.robot.jaw_unit

    @property
    def piece_ticks(self) -> int:
        """How much of a way is gone from one picture to the next."""
        return max(1, round(self.robot.control_hz / self.settings.sight.rate_hz))

    def look(self, line: BeltBeliefs, reply: Reply, *, holding: bool = False) -> Generator[Request, Reply, BeltBeliefs]:
        """What is believed after a look."""
        picture = yield from self.eye.picture()
        return line.seeing(self.eye.follow(line.tracks, picture, reply.time_s, holding=holding), reply.time_s)

    def go(self, name: str, path: Path, *guards: Guard) -> Generator[Request, Reply, tuple[Reply, Path]]:
        """A way up to the next picture; how that ended, and the rest of the way."""
        piece, rest = path.cut(self.piece_ticks)
        reply = yield Motion(name, piece, guards=(*guards, BLOCKED))
        return reply, rest


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Departure:
    """Where a way begins, and how the hand gets away from what is between its fingers, opened that wide for it."""

    start: Command
    now_s: float
    leaving: tuple[Clearance, ...] = ()
    wide_rad: float = 0.0

    @property
    def over_m(self) -> float:
        """So high above where it begins the hand is above what it leaves."""
        return max((each.height_m for each in self.leaving), default=0.0)


def departing(reply: Reply, leaving: tuple[Clearance, ...] = (), wide_rad: float = 0.0) -> Departure:
    """Where and when the next hop begins."""
    return Departure(start=reply.command, now_s=reply.time_s, leaving=leaving, wide_rad=wide_rad)
