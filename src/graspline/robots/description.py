"""What a robot's own model does not say: which joints are the arm's, where its tool is, what grips, where home is."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator

from graspline.errors import InputError
from graspline.parameters import Parameters, build, load_yaml
from graspline.parameters.notation import printable

Vector = tuple[float, float, float]


class ToolFrame(Parameters):
    """The tool: a site, or a body with a position; x along the fingers, z from the fixed finger to the moving one."""

    site: str | None = Field(default=None, description="site at the tool, between the closed fingertips or on one")
    body: str | None = Field(default=None, description="body that carries the tool, where the model has no site for it")
    position_m: Vector = Field(default=(0.0, 0.0, 0.0), description="the tool in the frame of this body or site")
    along: Vector = Field(default=(1.0, 0.0, 0.0), description="direction along the fingers, in the same frame")
    opening: Vector = Field(
        default=(0.0, 0.0, 1.0), description="direction from the fixed finger to the moving one, in the same frame"
    )


class Pads(Parameters):
    """What grips: geoms, or bodies that stand for all their colliding geoms; either may be first where both move."""

    fixed: tuple[str, ...] = Field(description="of the finger that z points away from")
    moving: tuple[str, ...] = Field(description="of the finger that z points to")


class HandJoints(Parameters):
    """The joints that move the robot; all others follow them by the model's equalities."""

    arm: tuple[str, ...] = Field(description="joints of the arm, from the base to the hand")
    jaw: str = Field(description="the joint that opens the hand")
    follower: str | None = Field(default=None, description="joint of a second driven finger, coupled to the jaw by us")


class Servos(Parameters):
    """Position servos, one number for each joint of the arm and the jaw. What is left out is read from the model."""

    kp: tuple[float, ...] | None = Field(default=None, description="stiffness, N m/rad or N/m")
    kv: tuple[float, ...] | None = Field(default=None, description="damping, N m s/rad or N s/m")
    force: tuple[float, ...] | None = Field(default=None, description="largest torque or force, N m or N")
    smoothing_s: float | None = Field(
        default=None,
        ge=0.005,
        le=0.2,
        description="time constant of the filter of set points, else the model's or 0.02",
    )
    gravity_compensated: bool = Field(
        default=True, description="whether the robot's own weight is taken off its servos"
    )
    grip_n: float = Field(
        default=12.0, ge=1, le=500, description="force of a usual grip on each pad; sets the jaw's kp"
    )


class Speeds(Parameters):
    """How fast paths may move each joint of the arm and the jaw. What is left out follows from the servos."""

    velocity: tuple[float, ...] | None = Field(default=None, description="rad/s or m/s")
    acceleration: tuple[float, ...] | None = Field(default=None, description="rad/s² or m/s²")
    jerk: tuple[float, ...] | None = Field(default=None, description="rad/s³ or m/s³")


class RobotDescription(Parameters):
    """A robot as a model of it does not describe it; see `robot_from_mjcf`.

    >>> from graspline import RobotDescription
    >>> RobotDescription.model_validate({
    ...     "name": "mini",
    ...     "tool": {"site": "grip"},
    ...     "pads": {"fixed": ["left"], "moving": ["right"]},
    ...     "joints": {"arm": ["turn", "lift", "bend", "tilt"], "jaw": "slide"},
    ...     "home": [0.0, 0.4, 1.2, 0.9, 0.02],
    ... }).servos.grip_n
    12.0
    """

    name: str = Field(description="what the robot is called: lower-case letters, digits and _")
    model: str = Field(default="", description="MJCF or URDF file, as seen from the folder of this description")
    tool: ToolFrame
    pads: Pads
    joints: HandJoints
    home: tuple[float, ...] = Field(description="where each joint of the arm and the jaw is at home, rad or m")
    down: tuple[float, ...] | None = Field(
        default=None, description="where they are with the hand straight down, clear of what lies on a table"
    )
    servos: Servos = Servos()
    speeds: Speeds = Speeds()
    control_hz: Literal[60, 120] = Field(default=60, description="how often joints get a command")
    base_height_m: float | None = Field(
        default=None, ge=0, le=2, description="height of the base's frame above the table, else as in the model"
    )

    @field_validator("name")
    @classmethod
    def _plain(cls, name: str) -> str:
        if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
            raise ValueError("expected lower-case letters, digits and _, beginning with a letter")
        return name


def read_description(path: str | os.PathLike[str]) -> RobotDescription:
    """The description in a YAML file. Raises InputError with all its problems."""
    found = build(RobotDescription, load_yaml(path))
    if not found.model:
        raise InputError(f"{printable(os.fspath(path))}: model: required, but not given; expected an MJCF or URDF file")
    return found


def model_of(path: Path, description: RobotDescription) -> Path:
    """Where the model is that a description names."""
    return path.parent / description.model
