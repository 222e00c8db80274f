"""States, replies and drives made by hand: machines are tested without physics wherever they can be."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from graspline.engine.layout import Readings, SensorLayout
from graspline.evidence import Evidence, at_most
from graspline.execution.notifications import Ended, Entered, Happening, Then
from graspline.execution.requests import Announce, Look, Reply, Within
from graspline.machine.machine import Machine, Result
from graspline.machine.outcome import Gives, Outcome, Producing, Stage
from graspline.motion.path import Command
from graspline.robots.so101 import SO101

LAYOUT = SensorLayout(readings={"joint_position": slice(0, 6)}, truth={}, readings_size=6, truth_size=0)
EVIDENCE = (at_most("slip", 0.02, 0.01, "m"),)


def reply(
    by: Any = "completed", *, value: object = None, time_s: float = 0.0, speed: float = 0.0, evidence: Evidence = ()
) -> Reply:
    """A reply with readings of a robot that stands at home, its reference moving at `speed`."""
    velocity = np.full(6, speed)
    command = Command(position=SO101.home.copy(), velocity=velocity, acceleration=np.zeros(6))
    readings = Readings(SO101.home.copy(), LAYOUT)
    return Reply(by=by, evidence=evidence, value=value, readings=readings, command=command, time_s=time_s)


@dataclass
class Drive:
    """What a machine asked for and announced, and how it ended."""

    requests: list[Any] = field(default_factory=list)
    happenings: list[Happening] = field(default_factory=list)
    result: Result | None = None

    @property
    def states(self) -> list[str]:
        return [each.state for each in self.happenings if isinstance(each, Entered)]

    @property
    def outcomes(self) -> list[tuple[str, str, Then]]:
        return [(each.state, each.outcome, each.then) for each in self.happenings if isinstance(each, Ended)]

    @property
    def outcome(self) -> str:
        assert self.result is not None
        return self.result.outcome


def drive(
    machine: Machine,
    answers: Iterable[Reply] | Callable[[Any], Reply] = (),
    first: Reply | None = None,
    **given: object,
) -> Drive:
    """Run a machine to its end, each request answered by the next reply or by a function of the request."""
    seen = Drive()
    generator: Generator[Any, Any, Result] = machine.run(SO101, first or reply(), given)
    replies = iter(()) if callable(answers) else iter(answers)
    answer_to = answers if callable(answers) else (lambda request: next(replies))
    answer: Reply | None = None
    while True:
        try:
            request = generator.send(answer)
        except StopIteration as stop:
            seen.result = stop.value
            return seen
        if isinstance(request, Announce):
            seen.happenings.append(request.notification)
            answer = None
        else:
            seen.requests.append(request)
            answer = answer_to(request)


def unwrapped(request: Any) -> Any:
    return request.request if isinstance(request, Within) else request


# States that tests put together. The value of a look decides how those that ask end.


@dataclass(frozen=True)
class Sighting:
    place: str
    count: int


@dataclass(frozen=True)
class Weight:
    weight_kg: float


def look() -> Producing[Gives[Literal["seen"], Sighting] | Outcome[Literal["lost"]]]:
    answer = yield Look("wrist")
    if answer.value is None:
        return Outcome("lost", EVIDENCE)
    return Gives("seen", Sighting(place=str(answer.value), count=1))


def weigh(place: str) -> Gives[Literal["weighed"], Weight]:
    return Gives("weighed", Weight(weight_kg=float(len(place))))


def carry(place: str, weight_kg: float) -> Stage[Literal["carried", "dropped"]]:
    answer = yield Look(f"{place}: {weight_kg:g} kg")
    return Outcome("carried") if answer.value else Outcome("dropped", EVIDENCE)


def rest() -> Outcome[Literal["rested"]]:
    return Outcome("rested")
