"""Notifications to observers: one union of frozen events. Log, video, panel and faults use nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from graspline.engine.events import Event
from graspline.evidence import Evidence


@dataclass(frozen=True, slots=True)
class Entered:
    """A machine entered a state; nested machines are joined by dots."""

    state: str


@dataclass(frozen=True, slots=True)
class EndsAs:
    """Where a state leads that ends its machine, or what drives in its place: the outcome that ends with."""

    outcome: str

    def __str__(self) -> str:
        """As records and people read it."""
        return f"{_ENDING}{self.outcome}"


# The next state, or the end.
Then = str | EndsAs
_ENDING = "end: "


def read_then(text: str) -> Then:
    """Where a state led, from the text in a record."""
    return EndsAs(text.removeprefix(_ENDING)) if text.startswith(_ENDING) else text


@dataclass(frozen=True, slots=True)
class Ended:
    """A state ended with an outcome, and the table led on to `then`."""

    state: str
    outcome: str
    then: Then
    evidence: Evidence = ()
    # The name of the object that the outcome is about, or a value of the task's own; empty if it is about none.
    about: object = ""


@dataclass(frozen=True, slots=True)
class Targeted:
    """A task works on this object from now on."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Noticed:
    """Something a state wants known while it works: what about which object, the facts, and measurements if any."""

    what: str
    about: str
    facts: Mapping[str, object]
    evidence: Evidence = ()
    # Only for observers that follow every tick.
    detail: bool = False


@dataclass(frozen=True, slots=True)
class Looked:
    """A camera's image was taken, or none was needed."""

    camera: str | None


@dataclass(frozen=True, slots=True)
class Applied:
    """An event was applied to the lane."""

    event: Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A question of the task was answered: by a person, as the scenario says, or, if neither did in time, by its
    default."""

    question: str
    answer: str
    by: Literal["person", "scenario", "default", "timeout"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Struck:
    """A fault struck, at what if at something, and what it does in words; or why there was nothing to strike."""

    fault: str
    target: str = ""
    effect: str = ""
    missed: str = ""


HowFinished = Literal["returned", "preempted", "physics_diverged", "crashed"]


@dataclass(frozen=True, slots=True)
class Finished:
    """A lane's driver is done. `value` is what it returned; `error` the traceback if it crashed."""

    how: HowFinished
    value: object = None
    error: str = ""


Happening = Entered | Ended | Targeted | Noticed | Looked | Applied | Answered | Struck | Finished


class Observer(Protocol):
    """Is called with every notification of a lane and its time."""

    def __call__(self, lane: int, time_s: float, notification: Happening) -> None:
        """Receive a notification of a lane."""
        ...
