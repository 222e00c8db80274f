"""What a hand did with the objects of an episode, by truth: how close it came, what it held, raised and lost.

A tracker is given a snapshot per frame. It follows the objects that the instruction asks for, or all of the scene
where the instruction names none.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from graspline.episodes.scenario import Scenario
from graspline.evidence import passes
from graspline.spatial.rotations import matrix_from_quaternion
from graspline.tasks.task import Draw, ObjectTruth, Snapshot, in_hand

Array = NDArray[np.float64]

# What is in the hand for less time than this was brushed, and what is out of it for less time was not lost: pad forces
# drop out for single frames.
HELD_S = 0.1
# Only within this distance of the hand does a motion of an object count as pushed by it.
BESIDE_M = 0.08
# How long before the end of an episode an approach counts as still under way.
LATELY_S = 1.0
_TREMBLE_M = 1e-4
# The claim by which tasks say that an object is in the hand; every other claim says that it is where it belongs.
HELD = "held"


@dataclass(slots=True)
class Handling:
    """What the hand has done with one object so far."""

    # From the middle of the pads to the object's bounding box.
    closest_m: float = math.inf
    closest_s: float = 0.0
    # Force of the weaker pad, at its most, while the object was the nearest one and within BESIDE_M.
    pressed_n: float = 0.0
    # How far the object has moved over the table, and down, while the hand was beside it.
    pushed_m: float = 0.0
    fallen_m: float = 0.0
    # How long it was held at a time, at the longest, and how high above where it was taken, at the highest.
    held_s: float = 0.0
    raised_m: float = 0.0
    # When it was in the hand last, if it was lost since, and how far it has fallen from there.
    lost_s: float | None = None
    fell_m: float = 0.0
    # Whether it is in the hand now.
    in_hand: bool = False

    @property
    def was_held(self) -> bool:
        """Whether the object was held for long enough to count."""
        return self.held_s >= HELD_S - 1e-9


@dataclass(slots=True)
class _Following:
    """What it takes to keep one object's `Handling`."""

    handling: Handling = field(default_factory=Handling)
    # Where it was in the frame before, and how far it was pushed over the table in sum.
    before_m: tuple[float, float] | None = None
    pushed_m: tuple[float, float] = (0.0, 0.0)
    # Of the hold under way, or the last one: when it began and was last seen, from which height, and its height then.
    since_s: float = 0.0
    seen_s: float = -math.inf
    taken_z_m: float = 0.0
    last_z_m: float = 0.0
    # Closest approaches so far, with their times, of the last second.
    approach: deque[tuple[float, float]] = field(default_factory=deque)


class HandlingTracker:
    """Follows the hand and the objects of one episode."""

    def __init__(self, scenario: Scenario, sampled: Draw) -> None:
        self._scenario, self._sampled = scenario, sampled
        task, parameters = scenario.task, scenario.parameters
        claimed = {claim.name for claim in task.claims.outcomes.values()}
        self._claims_held = HELD in claimed
        self._names = task.instruct(parameters, sampled, {}).objects
        # Where the instruction names no objects, claims are not about one of the scene's objects either.
        self._places = sorted(claimed - {HELD}) if self._names else []
        self._following: dict[str, _Following] = {}
        self.last: Snapshot | None = None

    @property
    def objects(self) -> dict[str, Handling]:
        """What was done with each object."""
        return {name: each.handling for name, each in self._following.items()}

    @property
    def wanted(self) -> tuple[str, ...]:
        """Objects that the instruction asks for; empty where it names none."""
        return self._names

    def done(self) -> tuple[str, ...]:
        """Objects that were asked for and are where they belong, if the task says so object by object."""
        last = self.last
        if last is None:
            return ()
        return tuple(name for name in self._names if any(self._claim(claim, name, last) for claim in self._places))

    def closing_in_m(self, name: str) -> float:
        """How much the closest approach has shrunk within the last second; 0 if it is older."""
        approach = self._following[name].approach
        return approach[0][1] - approach[-1][1] if len(approach) > 1 else 0.0

    def add(self, snapshot: Snapshot) -> None:
        """One more frame."""
        if not np.isfinite(snapshot.tool_m).all():
            return
        names = self._names or tuple(snapshot.objects)
        gaps = {name: gap_m(snapshot.objects[name], snapshot.tool_m) for name in names}
        # One hand holds one thing.
        nearest = min(gaps, key=gaps.__getitem__)
        for name in names:
            each = self._following.setdefault(name, _Following())
            _approach(each, snapshot, gaps[name])
            _follow_push(each, snapshot, name, gaps[name])
            held = name == nearest and gaps[name] <= BESIDE_M and self._is_held(name, snapshot)
            _follow_hold(each, snapshot, name, held)
        beside = self._following[nearest].handling
        if gaps[nearest] <= BESIDE_M:
            beside.pressed_n = max(beside.pressed_n, min(snapshot.pad_forces_n))
        self.last = snapshot

    def _is_held(self, name: str, snapshot: Snapshot) -> bool:
        return self._claim(HELD, name, snapshot) if self._claims_held else passes(in_hand(snapshot, name))

    def _claim(self, claim: str, name: str, snapshot: Snapshot) -> bool:
        return passes(self._scenario.task.claims.check(self._scenario.parameters, claim, name, snapshot))


def gap_m(thing: ObjectTruth, point_m: Array) -> float:
    """From a point to the bounding box of a thing; 0 inside it."""
    # Plain numbers: of three at a time arrays take several times as long, and this is asked of each object every frame.
    away = [at - middle for at, middle in zip(point_m.tolist(), thing.position_m.tolist(), strict=True)]
    axes = matrix_from_quaternion(thing.quaternion).T.tolist()
    square = 0.0
    for axis, half in zip(axes, thing.half_extents_m.tolist(), strict=True):
        along = abs(axis[0] * away[0] + axis[1] * away[1] + axis[2] * away[2])
        square += max(along - half, 0.0) ** 2
    return math.sqrt(square)


def _approach(each: _Following, snapshot: Snapshot, gap: float) -> None:
    handling = each.handling
    # An arm that stands still trembles by micrometres.
    if gap < handling.closest_m - _TREMBLE_M:
        handling.closest_m, handling.closest_s = gap, snapshot.time_s
    each.approach.append((snapshot.time_s, handling.closest_m))
    while each.approach[0][0] < snapshot.time_s - LATELY_S - 1e-9:
        each.approach.popleft()


def _follow_push(each: _Following, snapshot: Snapshot, name: str, gap: float) -> None:
    x, y, z = snapshot.objects[name].position_m.tolist()
    # What is sent moves by itself.
    if each.before_m is not None and gap <= BESIDE_M and not snapshot.accounts:
        each.pushed_m = each.pushed_m[0] + x - each.before_m[0], each.pushed_m[1] + y - each.before_m[1]
        each.handling.pushed_m = max(each.handling.pushed_m, math.hypot(*each.pushed_m))
    each.before_m = x, y
    if each.handling.pushed_m > 0:
        start_z_m = float(snapshot.objects[name].start_position_m[2])
        each.handling.fallen_m = max(each.handling.fallen_m, start_z_m - z)


def _follow_hold(each: _Following, snapshot: Snapshot, name: str, held: bool) -> None:
    handling, now_s, z_m = each.handling, snapshot.time_s, float(snapshot.objects[name].position_m[2])
    handling.in_hand = held
    if held:
        if now_s - each.seen_s > HELD_S + 1e-9:
            each.since_s, each.taken_z_m = now_s, z_m
        each.seen_s, each.last_z_m = now_s, z_m
        handling.held_s = max(handling.held_s, now_s - each.since_s)
        if handling.was_held:
            handling.raised_m = max(handling.raised_m, z_m - each.taken_z_m)
            handling.lost_s, handling.fell_m = None, 0.0
    elif handling.was_held and now_s - each.seen_s > HELD_S + 1e-9:
        handling.lost_s = each.seen_s
        handling.fell_m = max(handling.fell_m, each.last_z_m - z_m)
