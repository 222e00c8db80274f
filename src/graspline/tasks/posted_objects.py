"""Objects detected by an outside program: posted with their time, believed while they are fresh, then forgotten.

They are posted to a session, or given as parameters before an episode begins.
"""

from __future__ import annotations

import math
import re
from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator, model_validator

from graspline.errors import InputError, nearest
from graspline.execution.requests import Motion, Reply, Request
from graspline.motion.joint_moves import hold
from graspline.parameters import Parameters
from graspline.parameters.documents import MOST_BYTES, Reader
from graspline.perception.core.beliefs import Belief
from graspline.robots.robot import Robot
from graspline.scenes.meshes.solid import Solid
from graspline.tasks.console import Done, PostObject, Refused, Result

# An object is used until its pose is so old, and listed until it is forgotten; simulated seconds.
USED_S, FORGOTTEN_S = 30.0, 300.0
# The base stands at the world's origin, turned as it is.
FRAMES = ("world", "base")
SHAPES: tuple[Literal["box", "cylinder", "ball", "mesh"], ...] = ("box", "cylinder", "ball", "mesh")
SMALLEST_M, LARGEST_M = 0.003, 0.5
# How far a quaternion's length may be from 1, sides of something round from each other, and a clock from ours.
_UNIT, _ROUND_M, _CLOCK_S = 1e-3, 1e-4, 0.05
# And the box of a mesh from that of its file: this far, or by this share of it.
_SAME_BOX_M, _SAME_BOX = 0.003, 0.1
# What a file of detections holds.
_EXPECTED = "expected a list of objects such as {name: crate, position_m: [0.2, 0, 0.012], size_m: [0.03, 0.03, 0.024]}"
# How long a new pose is waited for where one is needed to say that something is so.
_WAIT_S = 2.0


class Posted:
    """What was posted since the scene was reset. From the first post on nothing else is believed."""

    def __init__(self, most: int, used_s: float = USED_S, solids: Mapping[str, Solid] | None = None) -> None:
        """At most `most` objects, each used up to its age limit; `solids` are the meshes that may be posted."""
        self._most, self._used_s, self._solids = most, used_s, solids or {}
        self._objects: dict[str, Belief] = {}
        self.now_s = 0.0
        self.in_use = False

    @property
    def objects(self) -> tuple[Belief, ...]:
        """All that are not forgotten, fresh or not."""
        return tuple(self._objects.values())

    @property
    def fresh(self) -> tuple[Belief, ...]:
        """Posted objects that are not too old."""
        return tuple(each for each in self._objects.values() if self.is_fresh(each))

    def is_fresh(self, estimate: Belief) -> bool:
        """Whether an object was posted recently enough."""
        return self.age_s(estimate) <= self._used_s

    def age_s(self, estimate: Belief) -> float:
        """How long ago an object was seen."""
        return self.now_s - estimate.time_s

    def stale(self, name: str) -> Refused | None:
        """A refusal for an object whose pose is too old to be used."""
        found = self._objects.get(name)
        if found is None or self.is_fresh(found):
            return None
        reason = f"the pose of {name} is {self.age_s(found):.1f} s old, the limit is {self._used_s:g} s; post it again"
        return Refused(reason=reason)

    @property
    def left_out(self) -> str:
        """What is listed and not used, in words; empty if there is nothing."""
        old = [each.name for each in self.objects if not self.is_fresh(each)]
        return f"; not used, older than {self._used_s:g} s: {', '.join(old)}" if old else ""

    def newest(self, name: str) -> Belief | None:
        """The posted object of this name, if it is recent enough."""
        return next((each for each in self.fresh if each.name == name), None)

    def age(self, now_s: float) -> None:
        """Time has passed."""
        self.now_s = now_s
        old = [name for name, each in self._objects.items() if self.age_s(each) > FORGOTTEN_S]
        for name in old:
            del self._objects[name]

    def clear(self) -> None:
        """Drop all posted objects."""
        self._objects.clear()
        self.in_use = False

    def post(self, posted: PostObject) -> Result:
        """Take an object, or refuse it with all problems."""
        problems = self._problems(posted)
        if problems:
            return Refused(reason="; ".join(problems), mistaken=True)
        time_s = self.now_s if posted.time_s is None else posted.time_s
        turned = np.array(posted.quaternion)
        self._objects[posted.name] = Belief(
            name=posted.name,
            position_m=np.array(posted.position_m),
            quaternion=turned / np.linalg.norm(turned),
            half_extents_m=np.array(posted.size_m) / 2,
            position_sigma_m=posted.position_sigma_m,
            yaw_sigma_rad=0.0,
            time_s=time_s,
            shape=next(each for each in SHAPES if each == posted.shape),
        )
        if posted.shape == "mesh":
            # A detector's box is a little off; the file's is not.
            solid = self._solids[posted.name]
            half_m = np.array(solid.half_extents_m)
            self._objects[posted.name] = replace(self._objects[posted.name], half_extents_m=half_m, solid=solid)
        self.in_use = True
        data = {"object": posted.name, "time_s": time_s, "used_until_s": time_s + self._used_s}
        return Done(text=f"{posted.name} is believed as posted, until {time_s + self._used_s:.1f} s", data=data)

    def withdraw(self, name: str | None) -> Result:
        """Drop an object, or all."""
        if name is None:
            self.clear()
            return Done(text="nothing is posted; the session sees by itself again")
        if name not in self._objects:
            return Refused(reason=f"{name!r} is not posted; {nearest(name, self._objects)}")
        del self._objects[name]
        return Done(text=f"{name} is forgotten")

    def _problems(self, posted: PostObject) -> list[str]:
        """Everything that is wrong with a post."""
        numbers = {"position_m": posted.position_m, "quaternion": posted.quaternion, "size_m": posted.size_m}
        numbers |= {"position_sigma_m": (posted.position_sigma_m,), "time_s": (posted.time_s or 0.0,)}
        found = [f"{key}: not finite" for key, each in numbers.items() if not all(map(math.isfinite, each))]
        if found:
            return found
        length = float(np.linalg.norm(posted.quaternion))
        if abs(length - 1.0) > _UNIT:
            found.append(f"quaternion: its length is {length:.4g}, not 1")
        if not all(SMALLEST_M <= each <= LARGEST_M for each in posted.size_m):
            sides = ", ".join(f"{each:g}" for each in posted.size_m)
            found.append(f"size_m: [{sides}]; each side is {SMALLEST_M} to {LARGEST_M} m")
        if not 0.0 <= posted.position_sigma_m <= 0.02:
            found.append(f"position_sigma_m: {posted.position_sigma_m:g}; expected 0 to 0.02 m")
        if posted.frame not in FRAMES:
            found.append(f"frame: {posted.frame!r} is unknown; {nearest(posted.frame, FRAMES)}")
        found += self._shape_problems(posted) + self._time_problems(posted)
        if posted.name not in self._objects and len(self._objects) >= self._most > 0:
            found.append(f"name: {self._most} objects are posted already; delete one first")
        return found

    def _shape_problems(self, posted: PostObject) -> list[str]:
        if posted.shape not in SHAPES:
            return [f"shape: {posted.shape!r} is unknown; {nearest(posted.shape, SHAPES)}"]
        if posted.shape == "mesh":
            return self._mesh_problems(posted)
        sides = posted.size_m[: {"box": 1, "cylinder": 2, "ball": 3}[posted.shape]]
        if max(sides) - min(sides) > _ROUND_M:
            return [f"size_m: a {posted.shape} has its {len(sides)} first sides alike"]
        return []

    def _mesh_problems(self, posted: PostObject) -> list[str]:
        solid = self._solids.get(posted.name)
        if solid is None:
            known = nearest(posted.name, self._solids) if self._solids else "there are none: set things.meshes"
            return [f"name: no mesh is called {posted.name!r}; {known}"]
        size = 2 * np.array(solid.half_extents_m)
        if (np.abs(np.array(posted.size_m) - size) > np.maximum(_SAME_BOX_M, _SAME_BOX * size)).any():
            box = ", ".join(f"{each:.4g}" for each in size)
            return [f"size_m: the box of {posted.name} is [{box}], along the axes of its file"]
        return []

    def _time_problems(self, posted: PostObject) -> list[str]:
        time_s, last = posted.time_s, self._objects.get(posted.name)
        if time_s is None:
            return []
        if time_s > self.now_s + _CLOCK_S:
            return [f"time_s: {time_s:.3f} s is in the future, it is {self.now_s:.3f} s now"]
        if self.now_s - time_s > self._used_s:
            return [f"time_s: {self.now_s - time_s:.1f} s old, the limit is {self._used_s:g} s"]
        if last is not None and time_s <= last.time_s:
            return [f"time_s: {time_s:.3f} s is not after {last.time_s:.3f} s, when {posted.name} was posted last"]
        return []


@dataclass(slots=True, kw_only=True)
class PostedEye:
    """An estimator that knows nothing but what was posted.

    What lies on the table is believed from fresh posts. That something is so now, after the hand has been there, takes
    posts that are newer than the last look at the table, each newer than the one before; they are waited for.
    """

    posted: Posted
    robot: Robot
    # The newest reply that the machine got: from where the arm holds while a post is waited for.
    last: Reply
    _since_s: float = -1.0

    def survey(self) -> Generator[Request, Reply, tuple[Belief, ...]]:
        """Look at everything."""
        self._since_s = self.posted.now_s
        return self.posted.fresh
        yield

    def see(self, name: str) -> Generator[Request, Reply, Belief | None]:
        """One sighting of an object, or None if it is not seen."""
        for _ in range(round(_WAIT_S * self.robot.control_hz)):
            found = self.posted.newest(name)
            if found is not None and found.time_s > self._since_s:
                self._since_s = found.time_s
                return found
            yield Motion("wait for a post", hold(self.robot, self.last.command, self.robot.dt_s))
        return None

    def see_gripped(self, name: str) -> Generator[Request, Reply, Belief | None]:
        """Where it was believed: whether the jaws hold anything is for the jaws to say."""
        found = self.posted.newest(name)
        return None if found is None else replace(found, time_s=self.posted.now_s)
        yield

    def watch(self, name: str) -> None:
        """Nothing follows it in the hand."""
        return None

    def watch_lying(self, estimate: Belief) -> None:
        """Nothing sees whether it still lies there."""
        return None


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
