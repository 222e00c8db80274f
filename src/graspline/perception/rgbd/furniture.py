"""Furniture that is about where it is believed to be: where to look for its levels, and what a look says of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from graspline.perception.core.beliefs import Belief
from graspline.perception.rgbd.planes import Plane, SearchBox
from graspline.perception.rgbd.surfaces import Surface
from graspline.scenes.fittings import Fitting, Level

Array = NDArray[np.float64]

# Furniture is looked for this far around where it is believed to be, and this far above and below.
_AROUND_M, _ABOVE_M = 0.12, 0.06
# Corrections of where furniture stands that are believed.
_MOST_SHIFT_M, _MOST_TURN_RAD = 0.10, 0.12
# What opposite sides of a surface say of where it is differs by less; else something that stands before one hides it.
_AGREEING_M = 0.02
# What is thinner than this, half of it, and this near to the rim of a level is a part of a wall.
_SHEET_M, _RIM_M = 0.016, 0.06


def surface_of(shelf: Fitting, board: str) -> Surface:
    """All of a board between its walls, where a shelf is believed to stand."""
    level = shelf.level(board)
    middle = shelf.in_world(level.position_m)
    return Surface(
        plane=Plane(normal=np.array([0.0, 0.0, 1.0]), offset_m=float(middle[2])),
        middle_m=middle,
        yaw_rad=shelf.yaw_rad,
        half_m=level.half_extents_m,
        near="drop",
        far="rise",
        right="rise",
        left="rise",
    )


def bounds(fitting: Fitting, level: Level) -> SearchBox:
    """Where a surface may be, given where it is believed to be."""
    x, y, z = level.position_m
    half_x, half_y = level.half_extents_m
    corners = [fitting.in_world((x + a * half_x, y + b * half_y, z)) for a in (-1, 1) for b in (-1, 1)]
    low, high = np.min(corners, axis=0) - _AROUND_M, np.max(corners, axis=0) + _AROUND_M
    middle = float(fitting.in_world(level.position_m)[2])
    return SearchBox(
        low_m=(float(low[0]), float(low[1]), middle - _ABOVE_M),
        high_m=(float(high[0]), float(high[1]), middle + _ABOVE_M),
    )


def as_seen(fitting: Fitting, level_name: str, surface: Surface) -> Fitting:
    """A piece of furniture where one of its surfaces was seen; what was not seen of it stays as believed."""
    level, off = fitting.level(level_name), surface.yaw_rad - fitting.yaw_rad
    turn = float(np.arctan2(np.sin(off), np.cos(off)))
    x, y, _ = fitting.in_world(level.position_m).tolist()
    up = surface.plane.height_m(x, y) - float(fitting.in_world(level.position_m)[2])
    if abs(turn) > _MOST_TURN_RAD:
        return fitting.moved((0.0, 0.0, up), 0.0)
    # Where the seen rectangle's middle is from the believed one's, along its sides; each side that was seen tells.
    apart = -surface.in_own_frame(np.array([x, y, surface.middle_m[2]]))
    shift = list[float]()
    for axis, (before, beyond) in enumerate(((surface.near, surface.far), (surface.right, surface.left))):
        longer = surface.half_m[axis] - level.half_extents_m[axis]
        seen = [float(apart[axis] + sign * longer) for sign, side in ((-1, before), (1, beyond)) if side != "unseen"]
        shift.append(_believed(seen))
    return fitting.moved((shift[0], shift[1], up), turn)


def _believed(offs_m: Sequence[float]) -> float:
    """How far off something is, given what each of two sides says: of two that disagree, one is no side."""
    offs = sorted((off for off in offs_m if abs(off) <= _MOST_SHIFT_M), key=abs)
    if not offs:
        return 0.0
    agreeing = [off for off in offs if abs(off - offs[0]) <= _AGREEING_M]
    return float(np.mean(agreeing))


def standing_on(fitting: Fitting, level_name: str, things: Sequence[Belief]) -> tuple[Belief, ...]:
    """Those whose middle is above a level, and that are no sheets at its rim: walls are none of them."""
    level, found = fitting.level(level_name), list[Belief]()
    for each in things:
        inside = np.array(level.half_extents_m) - np.abs(fitting.above(level, each.position_m)[:2])
        sheet = float(each.half_extents_m[:2].min()) < _SHEET_M
        if inside.min() > (_RIM_M if sheet else 0.0):
            found.append(each)
    return tuple(found)
