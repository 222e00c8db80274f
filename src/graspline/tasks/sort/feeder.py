"""The belt's feeder: sends blocks by what the belt has travelled, takes away what has left, and keeps the books.

The books are kept by events alone: a block is given its weight when it is sent, and loses it when it has left. So the
same books come from a log, where nothing acts any more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graspline.engine.actors import Account, LaneView
from graspline.engine.events import Change, Event, Place
from graspline.evidence import Evidence
from graspline.scenes.belt_line import (
    BELT,
    BELT_END_M,
    BELT_HALF_WIDTH_M,
    BELT_START_M,
    BELT_X_M,
    OUTPUT_END_M,
    Size,
    parked_m,
)
from graspline.scenes.scene import Scene
from graspline.scenes.variation import weight_of
from graspline.tasks.sort.parameters import BeltParameters
from graspline.tasks.task import Delivered

Array = NDArray[np.float64]

# Where blocks appear, and where they have left: a hand's breadth before the belts end.
SENT_M = BELT_START_M - 0.15
GONE_M = BELT_END_M + 0.06
_OUT_M = OUTPUT_END_M + 0.04
# Lower than this a block has fallen off, farther away than this it was taken away.
_FALLEN_M, _AWAY_M = -0.02, 2.0
# What is higher than this above a belt is not on it.
_ON_M = 0.06
# How bins are called, and what evidence calls blocks that were missed.
_BIN, _MISSED = "bin_", "missed_"
ON_BELT, HELD, MISSED, FALLEN, REMOVED = "on_belt", "held", "missed", "fallen", "removed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """One block of the pool."""

    number: int
    colour: str
    size_m: Size


def gap_m(belt: BeltParameters, random: np.random.Generator) -> float:
    """From the middle of one block to that of the next, along the belt."""
    mean = 1 / belt.density_per_m
    if belt.spacing == "even":
        return mean * (1 + random.uniform(-belt.jitter, belt.jitter))
    return belt.least_gap_m + random.exponential(max(mean - belt.least_gap_m, 0.0))


def place_across(belt: BeltParameters, random: np.random.Generator) -> tuple[float, float]:
    """Where a block lies across the belt, and its heading."""
    return BELT_X_M + random.uniform(-belt.lateral_m, belt.lateral_m), random.uniform(-np.pi, np.pi)


@dataclass(slots=True, kw_only=True)
class Feeder:
    """One episode's; it begins with the blocks that lie on the belt, `first`, sent one after the other."""

    belt: BeltParameters
    scene: Scene
    pool: Mapping[str, Made]
    first: tuple[str, ...]
    random: np.random.Generator
    # How much the belt must have travelled for the next block to be sent.
    next_m: float
    period_s: float = 0.05
    travelled_m: float = 0.0
    _free: deque[str] = field(init=False)
    _books: list[Account] = field(init=False)
    # Where in the books each block now under way stands.
    _under_way: dict[str, int] = field(init=False)
    _last_s: float = 0.0

    def __post_init__(self) -> None:
        self._books = [self._sent(name, 0.0) for name in self.first]
        self._under_way = {name: index for index, name in enumerate(self.first)}
        self._free = deque(name for name in self.pool if name not in self._under_way)

    def act(self, world: LaneView) -> Sequence[Event]:
        """Events of the next moment: blocks that arrive and leave."""
        speed = -float(world.number("geom_surfacevel", BELT)[1])
        self.travelled_m += speed * (world.time_s - self._last_s)
        self._last_s = world.time_s
        events: list[Event] = []

        def happen(notification: list[Event]) -> None:
            for event in notification:
                self.note(event, world.time_s, world.position_m)
            events.extend(notification)

        for name in list(self._under_way):
            if self._left(world.position_m(name)):
                happen(self._parked(name))
        while self.travelled_m >= self.next_m and len(self._books) < self.belt.blocks and self._free:
            happen(self._send(self._free[0], speed))
        return events

    def note(self, event: Event, time_s: float, position_m: Callable[[str], Array]) -> None:
        """Enter an event into the books; `position_m` says where a block is right before it, in W."""
        for edit in event.edits if isinstance(event, Change) else ():
            name = edit.element
            if edit == weight_of(name, weightless=False) and name in self._free:
                self._free.remove(name)
                self._under_way[name] = len(self._books)
                self._books.append(self._sent(name, time_s))
            elif edit == weight_of(name, weightless=True) and name in self._under_way:
                index = self._under_way.pop(name)
                self._books[index] = replace(self._books[index], left_s=time_s, where=self._left(position_m(name)))
                self._free.append(name)

    def accounts(self, world: LaneView) -> tuple[Account, ...]:
        """What became of each block."""
        books = list(self._books)
        for name, index in self._under_way.items():
            at_m = world.position_m(name)
            books[index] = replace(books[index], where=self._left(at_m) or self._where(at_m))
        return tuple(books)

    def _sent(self, name: str, time_s: float) -> Account:
        made = self.pool[name]
        return Account(
            name=name, colour=made.colour, size_m=made.size_m, sent_s=time_s, left_s=float("nan"), where=ON_BELT
        )

    def _send(self, name: str, speed_m_s: float) -> list[Event]:
        x, yaw = place_across(self.belt, self.random)
        y = SENT_M - (self.travelled_m - self.next_m)
        self.next_m += gap_m(self.belt, self.random)
        return [
            Change(edits=(weight_of(name, weightless=False),)),
            Place(
                body=name,
                position_m=(x, y, self.pool[name].size_m[2] / 2),
                quaternion=(float(np.cos(yaw / 2)), 0.0, 0.0, float(np.sin(yaw / 2))),
                velocity_m_s=(0.0, -speed_m_s, 0.0),
            ),
        ]

    def _parked(self, name: str) -> list[Event]:
        return [
            Change(edits=(weight_of(name, weightless=True),)),
            Place(body=name, position_m=parked_m(self.pool[name].number)),
        ]

    def _left(self, at_m: Array) -> str:
        """Where a block that is there has left by, nothing while it is under way."""
        x, y, z = at_m
        if max(abs(x), abs(y)) > _AWAY_M:
            return REMOVED
        if z < _FALLEN_M:
            return FALLEN
        if abs(x - BELT_X_M) <= BELT_HALF_WIDTH_M and (y < GONE_M or y > BELT_START_M):
            return MISSED
        bay = self._bay(x, y, z)
        return bay if bay and x < _OUT_M else ""

    def _where(self, at_m: Array) -> str:
        x, y, z = at_m
        if z > _ON_M:
            return HELD
        return self._bay(x, y, z) or ON_BELT

    def _bay(self, x: float, y: float, z: float) -> str:
        for bay in self.scene.bays:
            middle_x, middle_y, _ = bay.position_m
            half_x, half_y, _ = bay.half_extents_m
            if abs(x - middle_x) <= half_x and abs(y - middle_y) <= half_y and z <= _ON_M:
                return bay.name
        return ""


def delivered(truth: Mapping[str, Any], evidence: Evidence) -> Delivered:
    """A block is right in the bin of its colour; what was sorted and missed, and how fast, the last state reports."""
    values = {each.name: each.value for each in evidence}
    blocks = truth["sent"]
    bins = [each for each in blocks if str(each["where"]).startswith(_BIN)]
    right = sum(each["where"] == f"{_BIN}{each['colour']}" for each in bins)
    return Delivered(
        sent=len(blocks),
        right=right,
        wrong=len(bins) - right,
        claimed=int(values.get("sorted", 0)),
        missed={name.removeprefix(_MISSED): int(value) for name, value in values.items() if name.startswith(_MISSED)},
        picks_per_min=values.get("picks_per_min"),
    )
