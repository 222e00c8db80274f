"""Faults of the plate: a person slides it or puts it away, or it is full of other fruit."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from graspline.engine.events import Event, Place, Push
from graspline.faults.context import FaultContext, Timed
from graspline.faults.kind import FaultKind, Need
from graspline.faults.objects import released
from graspline.scenes.scene import Scene, ScenePlace

Array = NDArray[np.float64]

# A plate is slid this far in this time; fruit on it rolls but stays within the rim.
_SLIDE_M = (0.03, 0.06)
_SLIDE_S = 0.3
# It stays between these distances from the robot, or where it was if that is farther.
_NEAR_M, _FAR_M = 0.17, 0.30
# A person that slides a plate overcomes its friction on the table and follows a speed with half of a tick's error.
_PLATE_FRICTION = 0.8
_GRAVITY_M_S2 = 9.81
_FOLLOW = 0.5
# Well out of an SO-101's reach, and still on the table.
_OUT_OF_REACH_M = 0.75
# Extra fruit, parked until it fills a plate. It keeps this much room to others, and this much to the hand.
EXTRA = "stranger_"
_ROOM_M = 0.001
_HAND_ROOM_M = 0.04
# What is held higher than this is above all fruit.
_LOW_M = 0.09
# What is this close above a plate's floor lies on it.
_LYING_M = 0.006


def plate_of(context: FaultContext) -> ScenePlace:
    """The scene's plate."""
    return context.scene.places[0]


def on_plate(context: FaultContext) -> list[str]:
    """Objects whose lowest point is on the plate's floor."""
    plate, found = plate_of(context), []
    middle = context.position_m(plate.name)
    for name in context.scene.object_names:
        apart = context.position_m(name) - middle
        above_m = apart[2] - plate.floor_m - context.half_extents_m(name)[2]
        if np.hypot(apart[0], apart[1]) < plate.radius_m and above_m < _LYING_M:
            found.append(name)
    return found


def extra_fruit(scene: Scene) -> list[str]:
    """The names of fruit that faults add to the scene."""
    return [name for name in scene.object_names if name.startswith(EXTRA)]


def _no_plate(context: FaultContext) -> str:
    return "" if context.is_here(plate_of(context).name) else "the plate is not on the table"


PLATE = Need(
    words="a plate",
    in_scene=lambda scene: "" if scene.places else "the scene has no plate",
    now=_no_plate,
    struck=lambda context: plate_of(context).name,
)
EXTRA_FRUIT = Need(
    words="extra fruit",
    in_scene=lambda scene: "" if extra_fruit(scene) else f"the scene has no objects named {EXTRA}…",
)


def _slide(context: FaultContext) -> list[Timed]:
    plate = plate_of(context).name
    way_m = context.random.uniform(*_SLIDE_M)
    heading = _heading(context, context.position_m(plate)[:2], way_m)
    load_kg = context.mass_kg(plate) + sum(context.mass_kg(name) for name in on_plate(context))
    hz = context.scene.robot.control_hz
    ticks = round(_SLIDE_S * hz)

    def hand(speed_m_s: float) -> Callable[[FaultContext], Event]:
        def push(now: FaultContext) -> Event:
            grip_n = _PLATE_FRICTION * _GRAVITY_M_S2 * load_kg * min(1.0, speed_m_s / 0.05)
            error = speed_m_s * heading - now.velocity_m_s(plate)[:2]
            x, y = (grip_n * heading + _FOLLOW * hz * load_kg * error).tolist()
            return Push(body=plate, force_n=(x, y, 0.0))

        return push

    # The speed of a smooth start and stop, whose mean is the way over the time.
    speeds = 2 * way_m / _SLIDE_S * np.sin(np.pi * (np.arange(ticks) + 0.5) / ticks) ** 2
    pushes: list[Timed] = [(index / hz, hand(float(speed))) for index, speed in enumerate(speeds)]
    return [*pushes, (ticks / hz, released(plate))]


def _heading(context: FaultContext, at_m: Array, way_m: float) -> Array:
    """A random direction in which the plate stays in reach and clear of the robot."""
    far_m = max(_FAR_M, float(np.hypot(*at_m)))
    angles = context.random.uniform(-np.pi, np.pi, 64)
    headings = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    away_m = np.hypot(*(at_m + way_m * headings).T)
    good = headings[(away_m >= _NEAR_M) & (away_m <= far_m)]
    # Sideways it comes neither nearer nor much farther.
    return good[0] if len(good) else np.array([-at_m[1], at_m[0]]) / np.hypot(*at_m)


def _put_away(context: FaultContext) -> list[Timed]:
    plate = plate_of(context).name
    before = context.position_m(plate)
    outward = before[:2] / max(float(np.hypot(*before[:2])), 1e-9)
    shift = np.array([*(outward * _OUT_OF_REACH_M - before[:2]), 0.0])
    return [(0.0, _moved(context, name, shift)) for name in (plate, *on_plate(context))]


def _moved(context: FaultContext, name: str, shift: Array) -> Event:
    x, y, z = (context.position_m(name) + shift).tolist()
    w, i, j, k = context.quaternion(name).tolist()
    return Place(body=name, position_m=(x, y, z), quaternion=(w, i, j, k))


def _fill(context: FaultContext) -> list[Timed]:
    plate = plate_of(context)
    middle = context.position_m(plate.name)
    # Footprints of what is there already: what lies on the plate, and what is held low over it.
    taken = [
        (context.position_m(name)[:2], float(context.half_extents_m(name)[:2].max()))
        for name in context.scene.object_names
        if context.position_m(name)[2] - context.half_extents_m(name)[2] < _LOW_M
    ]
    if context.tool_m()[2] < _LOW_M:
        taken.append((context.tool_m()[:2], _HAND_ROOM_M))
    found: list[Timed] = []
    for name in extra_fruit(context.scene):
        half = context.half_extents_m(name)
        radius_m = float(half[:2].max())
        for spot in _spots(middle[:2], plate.radius_m - radius_m - 0.008):
            if all(np.hypot(*(spot - at)) >= radius_m + room_m + _ROOM_M for at, room_m in taken):
                x, y, z = float(spot[0]), float(spot[1]), float(middle[2]) + plate.floor_m + float(half[2])
                found.append((0.0, Place(body=name, position_m=(x, y, z))))
                taken.append((spot, radius_m))
                break
    return found


def _spots(middle_m: Array, outermost_m: float) -> Iterator[Array]:
    """Rings of places from the rim inwards, close enough that things in them leave no gap."""
    for radius_m in np.arange(outermost_m, 0.0, -0.005):
        for angle in np.radians(np.arange(0, 360, 3)):
            yield middle_m + radius_m * np.array([np.cos(angle), np.sin(angle)])
    yield middle_m


MOVE_PLATE = FaultKind(
    name="move-plate",
    description="A person slides the plate 3 to 6 cm over the table; what is on it moves along and may roll within "
    "the rim.",
    strike=_slide,
    needs=(PLATE,),
    recoverable=True,
)
PLATE_AWAY = FaultKind(
    name="plate-away",
    description="A person puts the plate, with everything on it, out of the arm's reach.",
    strike=_put_away,
    needs=(PLATE,),
)
PLATE_FULL = FaultKind(
    name="plate-full",
    description="Extra fruit takes every free spot on the plate.",
    strike=_fill,
    needs=(PLATE, EXTRA_FRUIT),
)
