"""What a state can ask for, and what it gets back."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from graspline.engine.layout import Readings
from graspline.evidence import Evidence
from graspline.execution.notifications import Happening
from graspline.motion.guards import Guard
from graspline.motion.path import Command, Path
from graspline.rendering.picture import Picture

Array = NDArray[np.float64]
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectSeen:
    """One object as the simulator knows it: the raw material of the `truth` estimator, and of nothing else."""

    position_m: Array
    quaternion: Array
    velocity_m_s: Array
    half_extents_m: Array


@dataclass(frozen=True, slots=True)
class Look:
    """A picture from one camera, with depth if asked for; or with camera None what the simulator knows.

    What the simulator knows is for the `truth` estimator only. Where the camera's pose is not wanted it may be nan: a
    renderer of many lanes has none.
    """

    camera: str | None
    width: int = 320
    height: int = 240
    depth: bool = False
    posed: bool = True
    # Whether edges are antialiased; None leaves that to the camera.
    smooth: bool | None = None


@dataclass(frozen=True, slots=True)
class Looks:
    """Pictures from several cameras at the same moment; the answer is a tuple of them, in this order."""

    looks: tuple[Look, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """Follow one object while a motion plays, so that guards can compare it with the hand.

    By truth, which needs a scenario that names the `truth` estimator; or, where `look` names a camera, by pictures that
    `track` finds the object in, given also position and rotation of the tool. Guards that follow an object are
    evaluated on what is seen at `rate_hz`, and their times count from one sight to the next.
    """

    target: str
    rate_hz: float = 20.0
    # What the truth estimator makes of an exact position: its noise.
    blur: Callable[[Array], Array] | None = None
    look: Look | None = None
    track: Callable[[Picture, Array, Array], Array | None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Free:
    """Between which ticks a motion leads through free space, where the arm may be pushed off its path."""

    since: int = 0
    # By this tick the arm is on its path again; None if that is enough at its end.
    until: int | None = None
    # Plans the rest of the way from another command, or finds none. Without it the arm comes back to its path.
    again: Callable[[Command], Path | None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Disturbed:
    """What a motion says that is pushed off its path: what was intended at each of its rows, and where it is off."""

    # Positions of the reference that its planner wanted, (T + 1, nu); the path is what is executed.
    intended: Array
    # (T + 1,): pushed off what was planned, or on the way back.
    off: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Motion:
    """Play a path; any guard that fires ends it early."""

    name: str
    path: Path
    guards: tuple[Guard, ...] = ()
    watch: Watch | None = None
    # What has to stay where it is meanwhile, such as what it is put on: watched beside the object.
    place: Watch | None = None
    # Whether velocity may jump at its ends and between its rows, as it does where targets come from outside.
    corners: bool = False
    # Set where the arm may be pushed off the path.
    free: Free | None = None
    # Set where it is.
    disturbed: Disturbed | None = None


@dataclass(frozen=True, slots=True)
class Solve(Generic[T]):
    """A pure function of plain values, computed for all lanes that ask on one tick.

    A function with an attribute `many` is called once, with the list of argument tuples of all asking lanes.
    """

    function: Callable[..., T]
    arguments: tuple[object, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A question to a person; unattended runs get the default."""

    question: str
    options: tuple[str, ...]
    default: str
    # Options in a person's words, for pages.
    words: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Announce:
    """A word from the driver to the observers; takes no time and gets no answer."""

    notification: Happening


Request = Motion | Look | Looks | Solve[Any] | Ask | Announce

Completed = Literal["completed"]
TimedOut = Literal["timed_out"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """How a request ended, with this tick's readings and the command in force: a state's only window on the world."""

    # For a motion: the guard that fired, "completed", or "timed_out" if the state's time is up.
    by: Guard | Completed | TimedOut
    # For a motion: what each of its guards measured last.
    evidence: Evidence
    # For a look, solve or ask: the answer.
    value: object
    readings: Readings
    command: Command
    time_s: float


class Preempted(Exception):
    """Thrown into a driver that has to stop; the executor then brakes and holds. No state yields while it unwinds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Within:
    """A request that must end by this simulated time: how a machine enforces a state's time limit."""

    request: Motion | Look | Looks | Solve[Any] | Ask
    until_s: float = field(default=float("inf"))


Driver = Generator[Any, Any, Any]


def solved(function: Callable[..., T], *arguments: object) -> Generator[Request, Reply, T]:
    """`value = yield from solved(f, …)`: a `Solve` with its answer typed."""
    reply = yield Solve(function, arguments)
    return cast(T, reply.value)


def pictured(
    camera: str, width: int = 320, height: int = 240, *, depth: bool = False
) -> Generator[Request, Reply, Picture]:
    """Request a camera's image and return it."""
    reply = yield Look(camera, width, height, depth)
    return cast(Picture, reply.value)


def asked(question: str, options: Mapping[str, str], default: str) -> Generator[Request, Reply, str]:
    """Which of the options, which are given with their words."""
    reply = yield Ask(question=question, options=tuple(options), default=default, words=options)
    return cast(str, reply.value)
