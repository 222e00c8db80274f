"""The world of one lane as a mishap finds it: by truth, for a person who pulls a plate away sees it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from graspline.engine.actors import Actor
from graspline.engine.events import Event
from graspline.engine.protocol import Engine
from graspline.perception.solids import UNKNOWN
from graspline.robots.hsr import SLIPS
from graspline.robots.hsr_chain import JOINTS
from graspline.scenes.belt_line import BELT
from graspline.scenes.fittings import SHELF, TABLE, Fitting, Level
from graspline.scenes.room import WALL_Y_M
from graspline.scenes.scene import Scene, ScenePlace
from graspline.scenes.variation import Variation
from graspline.spatial.rotations import multiply, rotate, rotation_z

Array = NDArray[np.float64]

# Both pads press at least this hard while something is in the hand.
PRESS_N = 0.05
# What is farther from the robot than this, along any axis, is on no table and on no belt: it was put away, or waits.
_HERE_M = 1.5
# In a room it is outside of this box, (lowest, highest), that nothing is within anybody's reach.
_ROOM_M = np.array([[-1.6, -2.0, -0.1], [2.0, WALL_Y_M, 2.0]])
# What is this close to a person's palm is in that hand.
_IN_HAND_M = 0.15
# What is this close to the hand in a room is what it reaches for.
_AT_HAND_M = 0.25
# What is this close above a plate's floor lies on it.
_LYING_M = 0.006
# What stands on a level has its lowest point no farther from it.
_STANDING_M = 0.02


@dataclass(slots=True, kw_only=True)
class Context:
    """One lane, what its task works on, and what faults have made of it so far."""

    engine: Engine
    lane: int
    variation: Variation
    random: np.random.Generator
    # The object the task is working on.
    target: str
    taken: list[str] = field(default_factory=list)
    # How fast the belt runs by itself, as a share of what was ordered.
    pace: float = 1.0
    # What the task has last called something it spoke of; it may know no name for it.
    spoken_of: str = ""
    # The bay an object belongs in.
    bay_of: Callable[[str], str] = lambda name: ""
    # Who acts in the world by itself.
    actor: Actor | None = None

    def aim(self) -> None:
        """Find out what the task is working on where it cannot say: what rides past on a belt has no name for it.

        That is what is nearest to the hand: in it, before it, or just left by it; nothing where there is nothing.
        """
        if has_belt(self.engine.scene):
            self.target = self._nearest(filter(self.is_here, self.engine.scene.object_names), self.tool_m())
        elif has_room(self.engine.scene):
            self.target = self._meant()

    def _meant(self) -> str:
        """What is in the hand in a room, or was spoken of, or what the task will turn to: the nearest on the table.

        Where the task knows no name, it means something unknown; of several, the one before the hand, or else
        the one nearest to the robot.
        """
        tool, here = self.tool_m(), [name for name in self.engine.scene.object_names if self.is_here(name)]
        if self.pressed():
            return self._nearest(here, tool)
        here = [name for name in here if not self._given(name)]
        unknown = [name for name in here if self.spoken_of == UNKNOWN and name.startswith(UNKNOWN)]
        alike = [name for name in here if name == self.spoken_of] or unknown
        laid = [name for name in alike or here if self.stands_on(TABLE, TABLE.levels[0], name)]
        at_hand = [name for name in alike if np.linalg.norm(self.position_m(name) - tool) < _AT_HAND_M]
        return self._nearest(at_hand, tool) or self._nearest(laid or alike, self.base_m())

    def _given(self, name: str) -> bool:
        """Whether a person has it."""
        at, people = self.position_m(name), self.engine.scene.people
        return any(np.linalg.norm(self.position_m(person) - at) < _IN_HAND_M for person in people)

    def _nearest(self, names: Iterable[str], point_m: Array) -> str:
        return min(names, key=lambda name: float(np.linalg.norm(self.position_m(name) - point_m)), default="")

    def is_here(self, name: str) -> bool:
        """Whether an object or place is where the robot works."""
        at = self.position_m(name)
        if has_room(self.engine.scene):
            return bool(((at >= _ROOM_M[0]) & (at <= _ROOM_M[1])).all())
        return bool((abs(at) <= _HERE_M).all())

    def position_m(self, name: str) -> Array:
        at = self.engine.scene.joint_address(name)
        return self.engine.qpos[self.lane, at : at + 3].copy()

    def quaternion(self, name: str) -> Array:
        at = self.engine.scene.joint_address(name)
        return self.engine.qpos[self.lane, at + 3 : at + 7].copy()

    def velocity_m_s(self, name: str) -> Array:
        return self.engine.truth[self.lane, self.engine.layout.truth[f"{name}.velocity"]].copy()

    def half_extents_m(self, name: str) -> Array:
        return self.engine.half_extents_m(self.lane, name)

    def tool_m(self) -> Array:
        """In W: what a robot on wheels reads is where it believes the tool to be."""
        tool = self.engine.readings[self.lane, self.engine.layout.readings["tool_position"]].copy()
        return tool if not has_room(self.engine.scene) else in_world(self.engine, self.lane, tool)

    def base_m(self) -> Array:
        """(3,): where a robot on wheels stands, in W."""
        x, y = _joints(self.engine, self.lane, JOINTS[:2])
        return in_world(self.engine, self.lane, np.array([x, y, 0.0]))

    def pressed(self) -> bool:
        """Whether both pads press on something."""
        return pads_press(self.engine, self.lane)

    def number(self, field: str, element: str) -> tuple[float, ...]:
        """A number of the model as this lane has had it from its start."""
        return self.variation.values(self.engine.scene.model, field, element)

    def mass_kg(self, name: str) -> float:
        return self.number("body_mass", name)[0]

    def place(self) -> ScenePlace:
        return self.engine.scene.places[0]

    def lying_on(self, place: ScenePlace) -> list[str]:
        """Objects whose lowest point is on a place's floor."""
        middle, found = self.position_m(place.name), []
        for name in self.engine.scene.object_names:
            apart = self.position_m(name) - middle
            above_m = apart[2] - place.floor_m - self.half_extents_m(name)[2]
            if np.hypot(apart[0], apart[1]) < place.radius_m and above_m < _LYING_M:
                found.append(name)
        return found

    def stands_on(self, fitting: Fitting, level: Level, name: str) -> bool:
        """Whether an object stands upright on a level of a piece of furniture."""
        at = self.on(fitting, level, name)
        above_m = float(at[2] - self.half_extents_m(name)[2])
        return bool((abs(at[:2]) <= level.half_extents_m).all() and abs(above_m) <= _STANDING_M)

    def on(self, fitting: Fitting, level: Level, name: str) -> Array:
        """(3,): an object's middle from the middle of a level, along the axes of its furniture as it really stands."""
        real = fitting.in_variation(self.variation)
        return rotate(rotation_z(-real.yaw_rad), self.position_m(name) - real.in_world(level.position_m))


def in_world(engine: Engine, lane: int, point_O: Array) -> Array:
    """(3,): in W, where a robot on wheels believes a point to be, which knows only its odometry."""
    x, y, turn = _joints(engine, lane, SLIPS)
    return rotate(rotation_z(turn), point_O) + np.array([x, y, 0.0])


def turned_in_world(engine: Engine, lane: int, R_O: Array) -> Array:
    """(3, 3): the same of how something is turned."""
    (turn,) = _joints(engine, lane, SLIPS[2:])
    return multiply(rotation_z(turn), R_O)


def _joints(engine: Engine, lane: int, names: Iterable[str]) -> list[float]:
    return [float(engine.qpos[lane, engine.scene.joint_address(name)]) for name in names]


def has_belt(scene: Scene) -> bool:
    """Whether things ride past the robot."""
    return BELT in scene.surfaces


def has_room(scene: Scene) -> bool:
    """Whether a robot on wheels works between table and shelf, with a person about."""
    return SHELF.name in scene.furniture


def pads_press(engine: Engine, lane: int) -> bool:
    """Whether both pads of a lane press on something."""
    readings, parts = engine.readings[lane], engine.layout.readings
    return bool(np.linalg.norm(readings[parts["pad_force"]].reshape(2, 3), axis=1).min() >= PRESS_N)


# An event, or how to find it when its time has come; and how many seconds after the strike that is.
Deed = Event | Callable[[Context], Event]
Timed = tuple[float, Deed]
