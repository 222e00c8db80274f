"""Where the tool is allowed to go at all: above the ground, and within bounds that were measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from graspline.errors import InputError
from graspline.kinematics.envelopes import Envelope, envelope_in, grasp_envelope
from graspline.parameters import Parameters, Range
from graspline.robots.so101 import SO101


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
        description="a workspace_bounds.yaml from `graspline workspace so101`; its radius_m and height_m are used",
    )
    radius_m: Range | None = Field(
        default=None, ge=0, le=2, description="how far from the pan axis the fixed tip may be; null: as measured"
    )
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
        return {**given, "bounds_file": "", "radius_m": Range(*found.radius_m), "height_m": Range(*found.height_m)}

    def envelope(self) -> Envelope:
        """The bounds in force."""
        measured = grasp_envelope(SO101.name)
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
    measured = grasp_envelope(SO101.name)
    if found.robot != measured.robot:
        raise ValueError(f"bounds_file {file}: bounds of {found.robot!r}, not of {measured.robot}")
    if found.axis_m != measured.axis_m:
        raise ValueError(f"bounds_file {file}: axis_m {list(found.axis_m)}, but the pan axis is at {measured.axis_m}")
    return found
