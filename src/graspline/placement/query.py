"""What a plan for carrying an object somewhere depends on, and what it is."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.kinematics.arm import Arm
from graspline.kinematics.arms import arm_of
from graspline.motion.path import Command, Path
from graspline.perception.core.beliefs import Belief
from graspline.perception.core.held import HeldObject
from graspline.placement.parameters import CarryParameters
from graspline.planning.collision import CollisionWorld
from graspline.robots.robot import Robot

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """Where something is put: the point its middle ends over, and how high the surface under it is there."""

    x_m: float
    y_m: float
    # 0 is the table; otherwise the top of an object, or the floor of a plate.
    z_m: float = 0.0
    # The object that the surface belongs to, which what is put on it may come close to; empty for none.
    name: str = ""


@dataclass(frozen=True, slots=True)
class HandPosture:
    """How the hand is held: its turn relative to the arm, and its pitch."""

    turn: float
    pitch: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CarryPlan:
    """The way to a support and away from it."""

    support: Support
    posture: HandPosture
    held: HeldObject
    strategy: str
    # Drawing back first; None where straight across is clear.
    retreat: Path | None
    # None where the hand is already there.
    transport: Path | None
    lower: Path
    open: Path
    # Sideways off the object, then back along the fingers.
    withdraw: Path
    # What all of it was checked against.
    obstacles: tuple[Belief, ...]

    @property
    def spot_m(self) -> tuple[float, float]:
        """Where the object is put."""
        return self.support.x_m, self.support.y_m

    @property
    def across(self) -> tuple[tuple[str, Path], ...]:
        """The ways to above the support, by name."""
        ways = (("retreat", self.retreat), ("transport", self.transport))
        return tuple((name, path) for name, path in ways if path is not None)


@dataclass(frozen=True, kw_only=True)
class CarryQuery:
    """Everything a carry plan depends on; `obstacles` are all things but the held one."""

    world: CollisionWorld
    held: HeldObject
    start: Command
    obstacles: tuple[Belief, ...]
    settings: CarryParameters
    margin_rad: float
    # What was planned before, from about here and with the object about as it is in the hand.
    planned: CarryPlan | None = None

    @property
    def robot(self) -> Robot:
        """The robot that carries."""
        return self.world.robot

    def held_m(self) -> Array:
        """Where the held object's centre is now."""
        return self._hand[0]

    def posture(self) -> HandPosture:
        """How the hand is held now."""
        point, rotation = self._hand
        turn = float(np.arctan2(rotation[1, 2], rotation[0, 2])) - azimuth_of(self.arm, point)
        return HandPosture(turn, float(self.arm.pitch_rad(self.start.position[None])[0]))

    @property
    def arm(self) -> Arm:
        """The kinematics of the arm."""
        return arm_of(self.robot)

    @functools.cached_property
    def _hand(self) -> tuple[Array, Array]:
        """Where the held object is and how the hand is turned."""
        points, rotations = self.arm.forward(self.start.position[None, self.robot.arm], np.array(self.held.centre_m))
        return points[0], rotations[0]


def azimuth_of(arm: Arm, point: Array) -> float:
    """In which direction from the first axis a point is."""
    return float(np.arctan2(point[1] - arm.axis_m[1], point[0] - arm.axis_m[0]))
