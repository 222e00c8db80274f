"""What an outside detector has seen, as parameters: objects with pose, box and time, in a file or one by one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator, model_validator

from graspline.errors import InputError
from graspline.parameters import Parameters
from graspline.parameters.documents import MOST_BYTES, Reader
from graspline.tasks.console import PostObject
from graspline.tasks.posted_objects import USED_S

_EXPECTED = "expected a list of objects such as {name: crate, position_m: [0.2, 0, 0.012], size_m: [0.03, 0.03, 0.024]}"


class Detection(Parameters):
    """One object as a detector has seen it."""

    name: str = Field(description="name; of a mesh, the one it has in things.meshes")
    position_m: tuple[float, float, float] = Field(description="middle of its box")
    size_m: tuple[float, float, float] = Field(description="full sides of its box")
    quaternion: tuple[float, float, float, float] | None = Field(default=None, description="orientation, w first")
    yaw_rad: float | None = Field(default=None, description="heading, instead of quaternion")
    time_s: float | None = Field(default=None, description="when it was seen, by the detector's clock")
    frame: str = Field(default="world", description="frame of the pose: world or base, which are the same")
    shape: Literal["box", "cylinder", "ball", "mesh"] = Field(
        default="box", description="what it is; a cylinder has its axis along z, a mesh is one of things.meshes"
    )
    position_sigma_m: float = Field(default=0.0, description="uncertainty of the position, 1σ")

    def posted(self) -> PostObject:
        """The same as a post to a session is; without a time it is seen now."""
        half = (self.yaw_rad or 0.0) / 2
        turned = self.quaternion or (float(np.cos(half)), 0.0, 0.0, float(np.sin(half)))
        return PostObject(**self.model_dump(exclude={"yaw_rad", "quaternion"}), quaternion=turned)

    @field_validator("name")
    @classmethod
    def _plain(cls, name: str) -> str:
        if not re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", name):
            raise ValueError("expected 1 to 64 letters, digits, _, . or -")
        return name

    @model_validator(mode="after")
    def _turned_once(self) -> Detection:
        if self.quaternion is not None and self.yaw_rad is not None:
            raise ValueError("quaternion and yaw_rad are both given; expected one of them")
        return self


class Detections(Parameters):
    """Objects that an own detector sees: the table is laid as it says, and the robot believes it at its first look."""

    objects: tuple[Detection, ...] = Field(default=(), max_length=7, description="what is seen; empty: a random table")
    file: str = Field(
        default="",
        description="JSON or YAML file with these objects, beside the configuration file or in the working directory",
    )
    now_s: float | None = Field(
        default=None, ge=0, description="time of the order by the detector's clock; null: that of the latest detection"
    )
    max_age_s: float = Field(default=USED_S, gt=0, le=3600, description="age up to which a pose is used")

    @model_validator(mode="before")
    @classmethod
    def _read(cls, given: Any, info: ValidationInfo) -> Any:
        """The objects of a file in place of its name: a saved scenario needs the file no more."""
        if not isinstance(given, Mapping) or not isinstance(given.get("file"), str) or not given["file"]:
            return given
        if given.get("objects"):
            raise ValueError("file and objects are both given; expected one of them")
        folder = (info.context or {}).get("folder", "")
        beside = Path(folder) / given["file"]
        return {**given, "file": "", "objects": _objects_in(beside if beside.is_file() else Path(given["file"]))}

    @property
    def time_s(self) -> float:
        """When the order is given, by the detector's clock."""
        if self.now_s is not None:
            return self.now_s
        return max((each.time_s for each in self.objects if each.time_s is not None), default=0.0)


def _objects_in(path: Path) -> tuple[Any, ...]:
    try:
        with path.open("rb") as file:
            text = file.read(MOST_BYTES + 1).decode("utf-8-sig")
    except OSError as error:
        raise ValueError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path}: not UTF-8 text; {_EXPECTED}") from None
    if len(text) > MOST_BYTES:
        raise ValueError(f"{path}: larger than 1 MB; {_EXPECTED}")
    try:
        root = Reader(text, lambda line: f"{path}:{line}").read()
    except InputError as error:
        raise ValueError("; ".join(error.problems)) from None
    value = None if root is None else root.value
    found = value.get("objects") if isinstance(value, dict) else value
    if not isinstance(found, list):
        raise ValueError(f"{path}: no list of objects in it; {_EXPECTED}")
    return tuple(found)
