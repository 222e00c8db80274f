"""The seam to a task that offers more than running: objects to choose from, variables, checks, previews, grasps."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Evidence
from graspline.execution.requests import Reply
from graspline.parameters import Parameters
from graspline.perception.core.beliefs import Belief
from graspline.spatial.poses import Pose
from graspline.spatial.rotations import yaw_of

Array = NDArray[np.float64]

# What a variable of a console may be.
Plain = float | bool | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """It was done; `text` for people, `data` (plain values) for programs."""

    text: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """It was not done, or not to its end, and why: measured values beside their limits where there are any."""

    reason: str
    evidence: Evidence = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    # Whether the command itself cannot be, whatever the world is like: a value out of its range, an unknown name.
    mistaken: bool = False


Result = Done | Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class PostObject:
    """Believe in an object that an outside detector has seen: its box, where that is, and when (simulated; None: now).

    From the first post on nothing else is believed, until all are withdrawn or the scene is reset.
    """

    name: str
    position_m: tuple[float, float, float]
    quaternion: tuple[float, float, float, float]
    size_m: tuple[float, float, float]
    time_s: float | None = None
    frame: str = "world"
    shape: str = "box"
    position_sigma_m: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectListed:
    """One object as the estimator last saw it, and when that was."""

    name: str
    position_m: Array
    # Full edges, (3,).
    size_m: Array
    yaw_rad: float
    shape: str
    time_s: float
    # Whether an outside detector has posted it, and whether that is too long ago for it to be used.
    posted: bool = False
    stale: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {each.name: plain(getattr(self, each.name)) for each in fields(self)}


# A command at work: a generator over the requests of `execution`, which ends with how it went. The arm is at rest when
# it begins, and it may be stopped wherever it yields.
Play = Generator[Any, Any, Result]


class Console(Protocol):
    """What a person can do with one task's objects. All of it runs in the session's thread, one call at a time.

    What needs the world (`refresh` and all below it) is a generator that gets the reply that was current when it began:
    it looks with `Look`, plans with `Solve` and moves with `Motion`, exactly as a state does. The rest answers at once.
    """

    @property
    def selected(self) -> str:
        """The name of the selected object; empty if none is."""
        ...

    @property
    def variables(self) -> Mapping[str, Plain]:
        """The grasp settings."""
        ...

    @property
    def variables_model(self) -> type[Parameters]:
        """What the variables may be, for pages that offer a control for each."""
        ...

    @property
    def objects(self) -> tuple[ObjectListed, ...]:
        """As last seen."""
        ...

    @property
    def believed(self) -> tuple[Belief, ...]:
        """The same with everything else that was seen, for planners that keep clear of it."""
        ...

    def forget(self) -> None:
        """The scene was reset: nothing that was seen is so any more."""
        ...

    def age(self, now_s: float) -> None:
        """It is this late, in simulated time."""
        ...

    def post(self, posted: PostObject) -> Result:
        """Believe in what an outside detector has seen."""
        ...

    def withdraw(self, name: str | None) -> Result:
        """Forget what was posted, one object or all."""
        ...

    def select(self, name: str) -> Result:
        """Select an object."""
        ...

    def set_variables(self, values: Mapping[str, Plain]) -> Result:
        """Change grasp settings."""
        ...

    def refresh(self, last: Reply) -> Play:
        """Look again."""
        ...

    def check(self, last: Reply) -> Play:
        """Say whether the selected object can be picked."""
        ...

    def preview(self, last: Reply) -> Play:
        """Plan the pick without moving."""
        ...

    def move(self, last: Reply) -> Play:
        """Move the hand to the selected object."""
        ...

    def pick(self, last: Reply, place_m: tuple[float, float] | None) -> Play:
        """Pick the selected object."""
        ...

    def open(self, last: Reply) -> Play:
        """Open the hand."""
        ...

    def close(self, last: Reply) -> Play:
        """Release everything it holds; it cannot be used afterwards."""
        ...


def listed(estimate: Belief) -> ObjectListed:
    """An estimate as people see it in a list."""
    return ObjectListed(
        name=estimate.name,
        position_m=estimate.position_m,
        size_m=2 * estimate.half_extents_m,
        yaw_rad=float(yaw_of(estimate.quaternion)),
        shape=estimate.shape,
        time_s=estimate.time_s,
    )


def plain(value: Any) -> Any:
    """The same with lists for arrays and tuples, and null for NaN, which JSON does not have.

    A pose is its position and quaternion, w first; what has `as_dict` is that.
    """
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, Pose):
        return {"position_m": plain(value.position_m), "quaternion": plain(value.quaternion)}
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return plain(value.as_dict()) if hasattr(value, "as_dict") else value
