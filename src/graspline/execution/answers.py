"""Answers to what drivers request besides motions: looks, solves and asks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graspline.engine.protocol import Engine
from graspline.errors import WiringError
from graspline.execution.requests import Ask, Look, Looks, ObjectSeen, Solve
from graspline.execution.sensor_faults import Eyesight
from graspline.motion.path import Command
from graspline.rendering.picture import Picture

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Delays:
    """Simulated time that a look, a solve and an ask take; the lane holds meanwhile."""

    look_s: float = 0.0
    solve_s: float = 0.0
    ask_s: float = 0.0

    def of(self, request: object) -> float:
        """How long a request takes to be answered."""
        match request:
            case Look() | Looks():
                return self.look_s
            case Solve():
                return self.solve_s
            case _:
                return self.ask_s


@dataclass(frozen=True, slots=True)
class LaneRequest:
    """What a lane requests, and the command in force there."""

    lane: int
    request: Solve[Any] | Look | Looks
    command: Command


@dataclass(frozen=True, slots=True)
class LaneAnswer:
    """The answer to a lane's request; `Crash` or `Preempted` if there is none."""

    asked: LaneRequest
    value: object


# Answers what lanes want to have computed in one tick; a request without an answer in the list is answered later.
Compute = Callable[[list[LaneRequest]], list[LaneAnswer]]


class Answers:
    """Answers requests: some for each lane by itself, some for all lanes of a tick together."""

    def __init__(
        self,
        engine: Engine,
        eyesight: Eyesight,
        compute: Compute,
        *,
        allow_truth: bool,
        photograph: Callable[[int, Look], Picture] | None,
        photograph_many: Callable[[list[tuple[int, Look]]], list[Picture]] | None,
        answer: Callable[[int, Ask], str | None] | None,
    ) -> None:
        """The callables are those of `Executor`."""
        self._engine, self._eyesight, self._compute, self._allow_truth = engine, eyesight, compute, allow_truth
        self._photograph, self._photograph_many = photograph, photograph_many
        self._answer = answer or (lambda lane, ask: ask.default)
        columns = engine.layout.truth
        # Everything that can be seen, and where in the truth it is.
        self._seen = [
            (name, columns[f"{name}.position"], columns[f"{name}.quaternion"], columns[f"{name}.velocity"])
            for name in (*engine.scene.object_names, *engine.scene.place_names)
        ]
        # Sizes of all that in each lane, as long as nothing changes them.
        self._sizes_m: dict[int, dict[str, Array]] = {}

    def forget_sizes(self, lane: int) -> None:
        """Something has changed in a lane's world, perhaps the size of an object."""
        self._sizes_m.pop(lane, None)

    def batched(self, request: object) -> bool:
        """Whether a request is answered for all lanes of a tick together, by `batch`."""
        if isinstance(request, Solve):
            return True
        by_camera = all(each.camera is not None for each in looks_of(request))
        return self._photograph_many is not None and isinstance(request, Look | Looks) and by_camera

    def batch(self, asked: list[LaneRequest]) -> tuple[list[LaneAnswer], list[LaneRequest]]:
        """Answers to the requests that come first, and the requests that are left.

        A lane that looks may ask next for something computed from that: solves wait for it, to be one call.
        """
        looks = [each for each in asked if not isinstance(each.request, Solve)]
        if looks:
            return self._pictures(looks), [each for each in asked if isinstance(each.request, Solve)]
        return self._compute(asked) if asked else [], []

    def _pictures(self, asked: list[LaneRequest]) -> list[LaneAnswer]:
        assert self._photograph_many is not None
        looks = [(each.lane, look) for each in asked for look in looks_of(each.request)]
        taken = iter(self._photograph_many(looks))
        answers = list[LaneAnswer]()
        for each in asked:
            pictures = tuple(next(taken) for _ in looks_of(each.request))
            answers.append(LaneAnswer(each, pictures[0] if isinstance(each.request, Look) else pictures))
        return answers

    def single(self, lane: int, request: object) -> object:
        """The answer to one lane's request; None if it is a question without an answer so far."""
        match request:
            case Look():
                return self._look(lane, request)
            case Looks():
                return tuple(self._look(lane, each) for each in request.looks)
            case Ask():
                return self._ask(lane, request)
            case _:
                raise WiringError(f"a driver asked for {request!r}; expected Motion, Look, Looks, Solve or Ask")

    def _ask(self, lane: int, ask: Ask) -> str | None:
        answer = self._answer(lane, ask)
        if answer is not None and answer not in ask.options:
            raise WiringError(f"{ask.question!r} was answered {answer!r}; the options are {', '.join(ask.options)}")
        return answer

    def _look(self, lane: int, look: Look) -> object:
        if look.camera is not None:
            if self._photograph is None:
                raise WiringError(f"a look through camera {look.camera!r}, but nothing here can take pictures")
            return self._photograph(lane, look)
        if not self._allow_truth:
            raise WiringError("this scenario does not name the truth estimator, so no state may look at truth")
        truth = self._eyesight.truth(lane)
        if truth is None:
            return {}
        truth, sizes_m = truth.copy(), self._sizes_of(lane)
        return {
            name: ObjectSeen(
                position_m=truth[position],
                quaternion=truth[quaternion],
                velocity_m_s=truth[velocity],
                half_extents_m=sizes_m[name],
            )
            for name, position, quaternion, velocity in self._seen
        }

    def _sizes_of(self, lane: int) -> dict[str, Array]:
        """Half extents of everything that can be seen, shared by all looks of a lane and not writeable."""
        if lane not in self._sizes_m:
            found = {name: self._engine.half_extents_m(lane, name) for name, *_ in self._seen}
            for half_extents_m in found.values():
                half_extents_m.flags.writeable = False
            self._sizes_m[lane] = found
        return self._sizes_m[lane]


def looks_of(request: object) -> tuple[Look, ...]:
    """The looks that a request consists of."""
    match request:
        case Look():
            return (request,)
        case Looks():
            return request.looks
        case _:
            return ()


def at_once(solve: Callable[[list[Solve[Any]]], list[Any]]) -> Compute:
    """Computes here and now, by a function that takes what all lanes request."""

    def compute(asked: list[LaneRequest]) -> list[LaneAnswer]:
        values = solve([each.request for each in asked if isinstance(each.request, Solve)])
        return [LaneAnswer(each, value) for each, value in zip(asked, values, strict=True)]

    return compute
