"""What a grab is asked for, what it is planned as, and why it is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from graspline.grasping.candidates import Grasp
from graspline.grasping.cartesian_lines import ReachParameters
from graspline.grasping.workspace import WorkspaceParameters
from graspline.motion.path import Command, Path
from graspline.parameters import Parameters
from graspline.perception.core.beliefs import Belief
from graspline.planning.collision import CollisionWorld
from graspline.refusal import Refusal
from graspline.robots.robot import Robot

Array = NDArray[np.float64]

# What is checked, from the cheapest to the dearest.
Check = Literal[
    "shape", "ground", "workspace", "jaw_width", "ik", "pad_overlap", "open_clearance", "limits", "collision"
]
StageName = Literal["approach", "grasp", "lift", "place"]


class GrabVariables(Parameters):
    """Everything that can be set for a grasp."""

    cross_axis: bool = Field(default=False, description="close across the long axis instead of the short one")
    tcp_offset: bool = Field(
        default=True, description="bring the fixed jaw beside the object; otherwise its tip goes to the centre"
    )
    tcp_clearance_m: float = Field(
        default=0.001, ge=0, le=0.02, description="gap between the fixed jaw and the object before closing"
    )
    open_clearance_m: float = Field(
        default=0.005, ge=-0.01, le=0.05, description="jaw gap when opening, beyond object and clearance on both sides"
    )
    close_clearance_m: float = Field(
        default=0.0, ge=-0.05, le=0.05, description="jaw gap when closing, beyond object and clearance on both sides"
    )
    object_z_m: float = Field(
        default=0.0, ge=0, le=0.3, description="height of the grasp; 0 uses the detected height of the object"
    )
    approach_height_m: float = Field(
        default=0.05,
        ge=0,
        le=0.2,
        description="height above the grasp at which the approach pauses; 0 goes there directly",
    )
    tcp: Literal["fixed_tip", "between"] = Field(
        default="fixed_tip",
        description="tool centre point: the tip of the fixed jaw, or the midpoint between the jaws",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Jaws:
    """How wide the jaws open and close for an object, by the measured law."""

    width_m: float
    open_gap_m: float
    close_gap_m: float
    open_rad: float
    close_rad: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Staged:
    """One of the two stages: where it ends, and the way there."""

    name: StageName
    path: Path

    @property
    def joints_rad(self) -> Array:
        """The joints at the end."""
        return self.path.end


@dataclass(frozen=True, slots=True, kw_only=True)
class GrabPlan:
    """A grasp that passed every check."""

    name: str
    # Heading from the fixed jaw to the moving one.
    yaw_rad: float
    branch: int
    jaws: Jaws
    # Where the tool centre goes, by the convention in force.
    tcp_m: tuple[float, float, float]
    # The jaws open where the arm stands.
    opening: Path
    stages: tuple[Staged, ...]
    grasp: Grasp
    # What of the object the hand is planned with: a point half way between the sides it closes on.
    centre_m: tuple[float, float, float]

    @property
    def final(self) -> Staged:
        """The last stage."""
        return self.stages[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """The nearest pose of the same object, or of the hand over it, that passes every check."""

    position_m: tuple[float, float, float]
    yaw_rad: float
    distance_m: float
    turn_rad: float
    approach_height_m: float

    def __str__(self) -> str:
        x, y, z = self.position_m
        turn = f", turned {np.degrees(self.turn_rad):.0f}°" if abs(self.turn_rad) > 1e-6 else ""
        return (
            f"x {x:.3f} y {y:.3f} z {z:.3f} m ({1000 * self.distance_m:.0f} mm away{turn}), "
            f"approached from {1000 * self.approach_height_m:.0f} mm above"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GrabRefusal(Refusal):
    """Why the arm stays where it is, its `label` the object, and what would pass."""

    nearest: Nearest | None = None
    # What to set otherwise, in words and as variables with which the same grasp passes; empty where none helps.
    advice: str = ""
    change: Mapping[str, float | bool] = field(default_factory=dict)

    def __str__(self) -> str:
        advice = f"; {self.advice}" if self.advice else ""
        hint = f"; nearest that passes: {self.nearest}" if self.nearest is not None else ""
        return f"{Refusal.__str__(self)}{advice}{hint}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GrabQuery:
    """What a grab depends on."""

    world: CollisionWorld
    estimate: Belief
    start: Command
    variables: GrabVariables
    others: tuple[Belief, ...]
    reach: ReachParameters
    workspace: WorkspaceParameters

    @property
    def robot(self) -> Robot:
        """The robot that grasps."""
        return self.world.robot
