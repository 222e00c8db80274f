"""What stands on table and shelf by ground truth, and where there is room for more: for faults that put objects there.

Objects that appear are household items that wait out of sight, as they are made.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.engine.events import Change, Place
from graspline.faults.context import FaultContext, Timed
from graspline.faults.kind import Need
from graspline.scenes.fittings import FITTINGS, Fitting, Level
from graspline.scenes.footprints import half_box_m, outlines_of, reach_m
from graspline.scenes.household import KNOWN
from graspline.scenes.household_bodies import is_parked
from graspline.scenes.variation import weight_of
from graspline.spatial.rotations import rotate, rotation_z

Array = NDArray[np.float64]

# What stands on a level has its lowest point no farther from it.
_STANDING_M = 0.02
# What appears keeps this much room to others, to edges, and to the hand.
_ROOM_M = 0.012
_EDGE_M = 0.02
_HAND_ROOM_M = 0.20
# Of known items around their middle, handles included.
_OUTLINES = {item.name: outlines_of(item, 0.0, 0.0, 0.0) for item in KNOWN}

FURNITURE = Need(
    words="a table and a shelf",
    in_scene=lambda scene: (
        "" if {each.name for each in FITTINGS} <= {*scene.furniture} else "the scene has no furniture"
    ),
)


def on_level(context: FaultContext, fitting: Fitting, level: Level, name: str) -> Array:
    """(3,): an object's middle from the middle of a level, along the axes of its furniture as it really stands."""
    return fitting.in_variation(context.variation).above(level, context.position_m(name))


def stands_on(context: FaultContext, fitting: Fitting, level: Level, name: str) -> bool:
    """Whether an object stands upright on a level of a piece of furniture."""
    at = on_level(context, fitting, level, name)
    above_m = float(at[2] - context.half_extents_m(name)[2])
    return bool((abs(at[:2]) <= level.half_extents_m).all() and abs(above_m) <= _STANDING_M)


def radius_m(context: FaultContext, name: str) -> float:
    """Of what an object covers without its handle, however it is turned."""
    x, y, _ = context.half_extents_m(name)
    return float(np.hypot(x, y) if context.scene.object(name).shape == "box" else x)


def farthest_m(context: FaultContext, name: str) -> float:
    """The same with its handle."""
    return reach_m(_OUTLINES[name]) if name in _OUTLINES else radius_m(context, name)


def covered_m(context: FaultContext, name: str) -> Array:
    """(2,): half sides of the rectangle that an object covers along its own axes."""
    return half_box_m(_OUTLINES[name]) if name in _OUTLINES else context.half_extents_m(name)[:2]


def waiting(context: FaultContext) -> list[str]:
    """Items out of sight, those that hide most first."""
    parked = [name for name in context.scene.object_names if is_parked(context.position_m(name).tolist())]
    return sorted(parked, key=lambda name: -float(np.prod(context.half_extents_m(name)[1:])))


@dataclass(frozen=True, slots=True, kw_only=True)
class CoveredArea:
    """What something covers of a level: a rectangle along axes turned by `turn_rad`, from the level's middle."""

    middle_m: Array
    half_m: Array
    turn_rad: float = 0.0

    def gap_m(self, point_m: Array, radius_m: float) -> float:
        """From here to something round."""
        apart = rotate(rotation_z(-self.turn_rad)[:2, :2], point_m - self.middle_m)
        return float(np.hypot(*np.maximum(np.abs(apart) - self.half_m, 0.0))) - radius_m

    def within(self, level: Level) -> bool:
        """Whether all of it is on the level, away from its edges."""
        reach = np.abs(self.middle_m) + rotate(np.abs(rotation_z(self.turn_rad))[:2, :2], self.half_m)
        return bool((reach + _EDGE_M <= level.half_extents_m).all())


class OccupiedLevel:
    """A level of a piece of furniture, and what stands there and in the way."""

    def __init__(self, context: FaultContext, fitting: Fitting, level: Level, without: str = "") -> None:
        self._context, self.level = context, level
        self.standing = [
            (on_level(context, fitting, level, name)[:2], farthest_m(context, name))
            for name in context.scene.object_names
            if name != without and stands_on(context, fitting, level, name)
        ]
        self._real = fitting.in_variation(context.variation)
        self._hand_m = self.point(context.tool_m())

    def point(self, world_m: Array) -> Array:
        """(3,): a point of W from the level's middle, along the furniture's axes."""
        return self._real.above(self.level, world_m)

    def takes(self, ground: CoveredArea) -> bool:
        """Whether there is room for it, away from edges, from others and from the hand."""
        above = 0.0 <= self._hand_m[2] < 0.4
        in_hand = above and ground.gap_m(self._hand_m[:2], _HAND_ROOM_M) < 0
        clear = all(ground.gap_m(at, radius) >= _ROOM_M for at, radius in self.standing)
        return ground.within(self.level) and clear and not in_hand

    def put(self, name: str, ground: CoveredArea) -> list[Timed]:
        """The events with which an object stands there."""
        x, y, z = self.level.position_m
        half = float(self._context.half_extents_m(name)[2])
        at = self._real.in_world((x + float(ground.middle_m[0]), y + float(ground.middle_m[1]), z + half)).tolist()
        turn = (self._real.yaw_rad + ground.turn_rad) / 2
        upright = (float(np.cos(turn)), 0.0, 0.0, float(np.sin(turn)))
        self.standing.append((ground.middle_m, farthest_m(self._context, name)))
        return [
            (0.0, Change(edits=(weight_of(name, weightless=False),))),
            (0.0, Place(body=name, position_m=(at[0], at[1], at[2]), quaternion=upright)),
        ]
