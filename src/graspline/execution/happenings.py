"""What observers are told: one union of frozen events. Log, video, panel and faults use nothing else."""

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
class Ended:
    """A state ended with an outcome, and the table led on to `then`."""

    state: str
    outcome: str
    then: str
    evidence: Evidence = ()
    # The object the outcome is about, if it is about one.
    about: str = ""


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
    # Only for those who look closely.
    detail: bool = False


@dataclass(frozen=True, slots=True)
class Looked:
    camera: str | None


@dataclass(frozen=True, slots=True)
class Applied:
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
    def __call__(self, lane: int, time_s: float, happening: Happening) -> None: ...
