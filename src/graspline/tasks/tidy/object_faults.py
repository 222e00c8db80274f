"""Faults of objects on furniture: one is moved, hidden, or finds its board full."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from graspline.faults.context import FaultContext, Timed
from graspline.faults.kind import FaultKind, Need
from graspline.faults.needs import OBJECT, no_target, target_of
from graspline.scenes.fittings import SHELF, TABLE, Level
from graspline.tasks.tidy.fault_surfaces import (
    FURNITURE,
    CoveredArea,
    OccupiedLevel,
    covered_m,
    farthest_m,
    on_level,
    radius_m,
    stands_on,
    waiting,
)

Array = NDArray[np.float64]

_TOP = TABLE.levels[0]
# How far something is moved while the robot does not look, and in how many directions that is tried.
_SHIFTS_M = (0.05, 0.08, 0.12)
_HEADINGS_RAD = np.radians(np.arange(0, 360, 15))
# How far behind what hides it something stands.
_HIDDEN_M = (0.015, 0.03, 0.045)
# A board is full where something finds no place with this much room around it, on a grid of this step.
_MARGIN_M = 0.015
_GRID_M = 0.02


def _not_on_table(context: FaultContext) -> str:
    if missing := no_target(context):
        return missing
    if context.pressed():
        return f"{context.target} is in the hand"
    return "" if stands_on(context, TABLE, _TOP, context.target) else f"{context.target} is not on the table"


ON_TABLE = Need(
    words="an object that stands on the table",
    in_state=lambda rehearsed: "what it strikes is in the hand" if rehearsed.always_gripping else "",
    now=_not_on_table,
    struck=target_of,
)


def _shift(context: FaultContext) -> list[Timed]:
    surface, found = OccupiedLevel(context, TABLE, _TOP, context.target), _shifts(context)
    ground = found[int(context.random.integers(len(found)))]
    # It keeps its weight, and was never away.
    return surface.put(context.target, ground)[1:]


def _shifts(context: FaultContext) -> list[CoveredArea]:
    surface = OccupiedLevel(context, TABLE, _TOP, context.target)
    at, half = on_level(context, TABLE, _TOP, context.target)[:2], covered_m(context, context.target)
    # It is not taken from between the fingers.
    if not surface.takes(CoveredArea(middle_m=at, half_m=np.zeros(2))):
        return []
    grounds = (
        CoveredArea(middle_m=at + way_m * np.array([np.cos(heading), np.sin(heading)]), half_m=half, turn_rad=heading)
        for way_m in _SHIFTS_M
        for heading in _HEADINGS_RAD
    )
    return [ground for ground in grounds if surface.takes(ground)]


def _covers(context: FaultContext) -> Iterator[tuple[str, CoveredArea]]:
    """What could stand in front of the object, its broad side to the robot; what hides most first."""
    surface = OccupiedLevel(context, TABLE, _TOP)
    at, height = on_level(context, TABLE, _TOP, context.target)[:2], context.half_extents_m(context.target)[2]
    way = surface.point(context.base_m())[:2] - at
    way /= np.linalg.norm(way)
    for name in waiting(context):
        half = covered_m(context, name)
        for gap_m in _HIDDEN_M if context.half_extents_m(name)[2] >= height else ():
            middle = at + (farthest_m(context, context.target) + gap_m + half[0]) * way
            ground = CoveredArea(middle_m=middle, half_m=half, turn_rad=float(np.arctan2(way[1], way[0])))
            if surface.takes(ground):
                yield name, ground


def _fill_board(context: FaultContext) -> list[Timed]:
    surface = OccupiedLevel(context, SHELF, SHELF.level(context.bay_of(context.target)))
    needed_m = radius_m(context, context.target) + _MARGIN_M
    free, found = _free(surface, needed_m), list[Timed]()
    for name in waiting(context):
        half = covered_m(context, name)
        # What it covers for sure, however the place that is looked for lies beside it.
        radius = float(min(context.half_extents_m(name)[:2])) - _GRID_M / 2
        grounds = [CoveredArea(middle_m=spot, half_m=half) for spot in _grid(surface.level)]
        # Where it takes most of the places that are left.
        taken = [int((np.linalg.norm(free - each.middle_m, axis=1) < radius + needed_m).sum()) for each in grounds]
        ranked = sorted(zip(taken, range(len(grounds)), strict=True), key=lambda each: (-each[0], each[1]))
        best = next((index for count, index in ranked if count and surface.takes(grounds[index])), None)
        if best is None:
            continue
        found += surface.put(name, grounds[best])
        free = free[np.linalg.norm(free - grounds[best].middle_m, axis=1) >= radius + needed_m]
    return found


def _grid(level: Level) -> Array:
    """(n, 2): places all over a level."""
    x, y = (np.arange(-half, half + 1e-9, _GRID_M) for half in level.half_extents_m)
    return np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2)


def _free(surface: OccupiedLevel, needed_m: float) -> Array:
    """(n, 2): places that have so much room around them."""
    grid = _grid(surface.level)
    inside = (np.abs(grid) <= np.array(surface.level.half_extents_m) - needed_m).all(axis=1)
    for at, radius in surface.standing:
        inside &= np.linalg.norm(grid - at, axis=1) >= radius + needed_m
    return grid[inside]


_fault = functools.partial(FaultKind, at_once=True)
SHIFT = _fault(
    name="shift",
    description="A person moves the object 5 to 12 cm over the table and turns it.",
    strike=_shift,
    needs=(FURNITURE, ON_TABLE),
    hindered=lambda context: "" if _shifts(context) else f"there is no room beside {context.target}",
    recoverable=True,
)
OCCLUDE = _fault(
    name="occlude",
    description="A person puts something tall between the robot and the object.",
    strike=lambda context: OccupiedLevel(context, TABLE, _TOP).put(*next(_covers(context))),
    needs=(FURNITURE, ON_TABLE),
    hindered=lambda context: "" if next(_covers(context), None) else f"nothing fits in front of {context.target}",
)
BOARD_FULL = _fault(
    name="board-full",
    description="Extra objects take every place on the board where the object belongs, as long as there are enough of "
    "them.",
    strike=_fill_board,
    needs=(FURNITURE, OBJECT),
)
