"""What faults do in a room: to things on table and shelf, to wheels, to a camera that measures depth, and to people.

Things that appear are household items that wait out of sight, as they are made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.engine.actors import Manner, Meeting
from graspline.engine.events import Change, Place, Push, Roughen
from graspline.episodes.context import Context, Timed
from graspline.robots.hsr import SLIPS
from graspline.scenes.fittings import SHELF, TABLE, Fitting, Level
from graspline.scenes.household_bodies import is_parked, weight_of
from graspline.scenes.variation import held_at
from graspline.spatial.rotations import rotate, rotation_z

Array = NDArray[np.float64]

# How far something is moved while the robot does not look, and in how many directions that is tried.
_SHIFTS_M = (0.05, 0.08, 0.12)
_HEADINGS_RAD = np.radians(np.arange(0, 360, 15))
# What appears keeps this much room to others, to edges, and to the hand.
_ROOM_M = 0.012
_EDGE_M = 0.02
_HAND_ROOM_M = 0.20
# How far behind what hides it something stands.
_HIDDEN_M = (0.015, 0.03, 0.045)
# A board is full where something finds no place with this much room around it, on a grid of this step.
_MARGIN_M = 0.015
_GRID_M = 0.02
# How far wheels slip, and how far the base turns then.
_SLIP_M = (0.010, 0.025)
_SLIP_RAD = 0.02
# How much noisier depth is than usual, and what share of it is missing.
_ROUGH = (3.0, 6.0)
_HOLES = (0.3, 0.5)
# Forces of people: too weak to be meant, towards the robot, and of something that hits what is held.
_SOFT_N, _SOFT_S = (1.0, 2.5), 4.0
_PUSH_N, _PUSH_S = (4.0, 10.0), 1.5
_BUMP_N, _BUMP_S = (10.0, 20.0), 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ground:
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


class _Surface:
    """A level of a piece of furniture, and what stands there and in the way."""

    def __init__(self, context: Context, fitting: Fitting, level: Level, without: str = "") -> None:
        self._context, self.level = context, level
        self.standing = [
            (context.on(fitting, level, name)[:2], _radius_m(context, name))
            for name in context.engine.scene.object_names
            if name != without and context.stands_on(fitting, level, name)
        ]
        self._real = fitting.in_variation(context.variation)
        self._hand_m = self.point(context.tool_m())

    def point(self, world_m: Array) -> Array:
        """(3,): a point of W from the level's middle, along the furniture's axes."""
        return rotate(rotation_z(-self._real.yaw_rad), world_m - self._real.in_world(self.level.position_m))

    def takes(self, ground: _Ground) -> bool:
        """Whether there is room for it, away from edges, from others and from the hand."""
        above = 0.0 <= self._hand_m[2] < 0.4
        in_hand = above and ground.gap_m(self._hand_m[:2], _HAND_ROOM_M) < 0
        clear = all(ground.gap_m(at, radius) >= _ROOM_M for at, radius in self.standing)
        return ground.within(self.level) and clear and not in_hand

    def put(self, name: str, ground: _Ground) -> list[Timed]:
        """The events with which an object stands there."""
        x, y, z = self.level.position_m
        half = float(self._context.half_extents_m(name)[2])
        at = self._real.in_world((x + float(ground.middle_m[0]), y + float(ground.middle_m[1]), z + half)).tolist()
        turn = (self._real.yaw_rad + ground.turn_rad) / 2
        upright = (float(np.cos(turn)), 0.0, 0.0, float(np.sin(turn)))
        self.standing.append((ground.middle_m, _radius_m(self._context, name)))
        return [
            (0.0, Change(edits=(weight_of(name, weightless=False),))),
            (0.0, Place(body=name, position_m=(at[0], at[1], at[2]), quaternion=upright)),
        ]


def _radius_m(context: Context, name: str) -> float:
    """Of what an object covers, however it is turned."""
    shape = next(each.shape for each in context.engine.scene.objects if each.name == name)
    x, y, _ = context.half_extents_m(name)
    return float(np.hypot(x, y) if shape == "box" else x)


def waiting(context: Context) -> list[str]:
    """Items out of sight, those that hide most first."""
    parked = [name for name in context.engine.scene.object_names if is_parked(context.position_m(name).tolist())]
    return sorted(parked, key=lambda name: -float(np.prod(context.half_extents_m(name)[1:])))


def not_standing(context: Context) -> str:
    """Why nothing on the table can be struck; nothing if something can."""
    if context.pressed():
        return f"{context.target} is in the hand"
    return "" if context.stands_on(TABLE, TABLE.levels[0], context.target) else f"{context.target} is not on the table"


def no_room_to_shift(context: Context) -> str:
    """Why the object cannot be moved a little; nothing if it can."""
    return not_standing(context) or ("" if _shifts(context) else f"there is no room beside {context.target}")


def shift(context: Context) -> list[Timed]:
    """A person moves the object 5 to 12 cm over the table and turns it."""
    surface, found = _Surface(context, TABLE, TABLE.levels[0], context.target), _shifts(context)
    ground = found[int(context.random.integers(len(found)))]
    # It keeps its weight, and was never away.
    return surface.put(context.target, ground)[1:]


def _shifts(context: Context) -> list[_Ground]:
    surface = _Surface(context, TABLE, TABLE.levels[0], context.target)
    at, half = context.on(TABLE, surface.level, context.target)[:2], context.half_extents_m(context.target)[:2]
    # It is not taken from between the fingers.
    if not surface.takes(_Ground(middle_m=at, half_m=np.zeros(2))):
        return []
    grounds = (
        _Ground(middle_m=at + way_m * np.array([np.cos(heading), np.sin(heading)]), half_m=half, turn_rad=heading)
        for way_m in _SHIFTS_M
        for heading in _HEADINGS_RAD
    )
    return [ground for ground in grounds if surface.takes(ground)]


def nothing_to_hide_with(context: Context) -> str:
    """Why the object cannot be hidden; nothing if it can."""
    fits = not_standing(context) or next(_covers(context), None)
    return fits if isinstance(fits, str) else "" if fits else f"nothing fits in front of {context.target}"


def occlude(context: Context) -> list[Timed]:
    """A person puts something tall between the robot and the object."""
    name, ground = next(_covers(context))
    return _Surface(context, TABLE, TABLE.levels[0]).put(name, ground)


def _covers(context: Context) -> Iterator[tuple[str, _Ground]]:
    """What could stand in front of the object, its broad side to the robot; what hides most first."""
    surface = _Surface(context, TABLE, TABLE.levels[0])
    at, height = context.on(TABLE, surface.level, context.target)[:2], context.half_extents_m(context.target)[2]
    way = surface.point(context.base_m())[:2] - at
    way /= np.linalg.norm(way)
    for name in waiting(context):
        half = context.half_extents_m(name)
        for gap_m in _HIDDEN_M if half[2] >= height else ():
            middle = at + (_radius_m(context, context.target) + gap_m + half[0]) * way
            ground = _Ground(middle_m=middle, half_m=half[:2], turn_rad=float(np.arctan2(way[1], way[0])))
            if surface.takes(ground):
                yield name, ground


def board_full(context: Context) -> list[Timed]:
    """Extra objects take every place on the board where the object belongs, as long as there are enough of them."""
    surface = _Surface(context, SHELF, SHELF.level(context.bay_of(context.target)))
    needed_m = _radius_m(context, context.target) + _MARGIN_M
    free, found = _free(surface, needed_m), list[Timed]()
    for name in waiting(context):
        half = context.half_extents_m(name)[:2]
        # What it covers for sure, however the place that is looked for lies beside it.
        radius = float(min(half)) - _GRID_M / 2
        grounds = [_Ground(middle_m=spot, half_m=half) for spot in _grid(surface.level)]
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


def _free(surface: _Surface, needed_m: float) -> Array:
    """(n, 2): places that have so much room around them."""
    grid = _grid(surface.level)
    inside = (np.abs(grid) <= np.array(surface.level.half_extents_m) - needed_m).all(axis=1)
    for at, radius in surface.standing:
        inside &= np.linalg.norm(grid - at, axis=1) >= radius + needed_m
    return grid[inside]


def base_slip(context: Context) -> list[Timed]:
    """The wheels slip: the robot is 1 to 2.5 cm from where it believes it is, and turned by up to a degree."""
    x, y, turn = (float(context.engine.number(context.lane, "eq_data", name)[0]) for name in SLIPS)
    way_m, heading = context.random.uniform(*_SLIP_M), context.random.uniform(-np.pi, np.pi)
    turned = context.random.uniform(-_SLIP_RAD, _SLIP_RAD)
    # The frame that slips lies far from the base; it turns about the base.
    arm = context.base_m() - np.array([x, y, 0.0])
    swing = arm - rotate(rotation_z(turned), arm)
    targets = (
        x + float(swing[0]) + way_m * float(np.cos(heading)),
        y + float(swing[1]) + way_m * float(np.sin(heading)),
        turn + turned,
    )
    return [(0.0, Change(edits=tuple(held_at(name, each) for name, each in zip(SLIPS, targets, strict=True))))]


def depth_noise(context: Context) -> list[Timed]:
    """Depth is measured with 3 to 6 times the usual noise from now on."""
    return [(0.0, Roughen(sigma_factor=context.random.uniform(*_ROUGH)))]


def depth_holes(context: Context) -> list[Timed]:
    """From now on 30 to 50 % of all pixels have no depth."""
    return [(0.0, Roughen(hole_share=context.random.uniform(*_HOLES)))]


def bump(context: Context) -> list[Timed]:
    """A person bumps into the held object with 10 to 20 N for 20 ms from any side."""
    way = context.random.normal(size=3)
    x, y, z = (context.random.uniform(*_BUMP_N) * way / np.linalg.norm(way)).tolist()
    still = Push(body=context.target, force_n=(0.0, 0.0, 0.0))
    return [(0.0, Push(body=context.target, force_n=(x, y, z))), (_BUMP_S, still)]


def nobody_there(context: Context) -> str:
    """Why no person can behave otherwise; nothing if one can."""
    return "" if isinstance(context.actor, Meeting) and context.actor.attended else "no person is there"


def no_person(context: Context) -> list[Timed]:
    """The person who takes objects has left."""
    return _behave(context, Manner(away=True))


def soft_pull(context: Context) -> list[Timed]:
    """The next object held out is pulled with 1 to 2.5 N for 4 s before it is pulled as usual."""
    return _behave(context, Manner(first_n=context.random.uniform(*_SOFT_N), first_s=_SOFT_S))


def push_back(context: Context) -> list[Timed]:
    """The next object held out is pushed towards the robot with 4 to 10 N for 1.5 s before it is pulled."""
    return _behave(context, Manner(first_n=-context.random.uniform(*_PUSH_N), first_s=_PUSH_S))


def _behave(context: Context, manner: Manner) -> list[Timed]:
    """No event says so: all that people then do is one."""
    assert isinstance(context.actor, Meeting)
    context.actor.behave(manner)
    return []
