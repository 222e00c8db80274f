"""Where the tool is allowed to go at all: above the ground, and within bounds that were measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from graspline.errors import InputError
from graspline.kinematics.arms import arm_of
from graspline.kinematics.envelopes import Envelope, envelope_in, grasp_envelope, has_envelope
from graspline.parameters import Parameters, Range
from graspline.robots.robot import Robot


class WorkspaceParameters(Parameters):
    """The bounds that a grasp is checked against first.

    A file is read once, when parameters are made, and its bounds take its place: what is saved with an episode or sent
    to another process is the bounds, so that the file may change or go.
    """

    ground_z_m: float = Field(
        default=0.0, ge=-0.3, le=0.3, description="height of the ground; fingertips stay at least 1 mm above it"
    )
    bounds_file: str = Field(
        default="",
        description="a workspace_bounds.yaml from `graspline workspace ROBOT`; its radius_m and height_m are used",
    )
    radius_m: Range | None = Field(
        default=None, ge=0, le=2, description="how far from the first axis the fixed tip may be; null: as measured"
    )
    bounds_of: str = Field(default="", description="robot that the file's bounds are of; set when the file is read")
    height_m: Range | None = Field(
        default=None, ge=-1, le=2, description="how high the fixed tip may be; null: as measured"
    )

    @model_validator(mode="before")
    @classmethod
    def _read(cls, given: Any) -> Any:
        file = given.get("bounds_file") if isinstance(given, dict) else None
        if not isinstance(file, str) or not file:
            return given
        if given.get("radius_m") is not None or given.get("height_m") is not None:
            raise ValueError("bounds_file gives radius_m and height_m; set the file or the bounds, not both")
        found = _bounds_in(file)
        bounds = {"radius_m": Range(*found.radius_m), "height_m": Range(*found.height_m)}
        return {**given, "bounds_file": "", "bounds_of": found.robot, **bounds}

    def problems(self, robot: Robot) -> list[str]:
        """Bounds of another robot."""
        if self.bounds_of in ("", robot.name):
            return []
        return [f"workspace.bounds_file: bounds of {self.bounds_of!r}, not of {robot.name}"]

    def envelope(self, robot: Robot) -> Envelope:
        """The bounds in force."""
        measured = _measured(robot)
        return Envelope(
            robot=measured.robot,
            axis_m=measured.axis_m,
            radius_m=measured.radius_m if self.radius_m is None else (self.radius_m.low, self.radius_m.high),
            height_m=measured.height_m if self.height_m is None else (self.height_m.low, self.height_m.high),
        )


def _bounds_in(file: str) -> Envelope:
    """The envelope of a file; raises `ValueError`, which a setting's message is made of."""
    path = Path(file)
    if path.exists() and not path.is_file():
        raise ValueError(f"bounds_file {file}: not a file")
    try:
        found = envelope_in(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"bounds_file {file}: cannot be read: {error.strerror or error}") from None
    except (InputError, UnicodeDecodeError) as error:
        raise ValueError(f"bounds_file {file}: {error}") from None
    return found


def _measured(robot: Robot) -> Envelope:
    """As measured, or as far as the arm can be stretched."""
    if has_envelope(robot.name):
        return grasp_envelope(robot.name)
    far_m = robot.reach_m
    return Envelope(robot=robot.name, axis_m=arm_of(robot).axis_m, radius_m=(0.0, far_m), height_m=(-far_m, far_m))
