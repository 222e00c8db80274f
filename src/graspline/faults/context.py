"""The world of one lane as a fault sees it: by ground truth."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graspline.engine.actors import Actor
from graspline.engine.events import Event
from graspline.engine.odometry import base_m, in_world
from graspline.engine.protocol import Engine
from graspline.faults.hints import FaultHints
from graspline.scenes.scene import Scene
from graspline.scenes.variation import Variation

Array = NDArray[np.float64]

# Both pads press at least this hard while something is in the hand.
PRESS_N = 0.05


@dataclass(slots=True, kw_only=True)
class FaultContext:
    """One lane, what its task works on, and what faults have made of it so far."""

    engine: Engine
    lane: int
    variation: Variation
    # A fault takes random numbers from nothing else, so that a scenario gives the same bits in any lane.
    random: np.random.Generator
    # The object that a fault strikes: what the task announced last, until `aim` asks the task's hints.
    target: str
    # Parameters of the task, for its hints.
    parameters: Any = None
    hints: FaultHints[Any] = field(default_factory=FaultHints)
    # What acts in the world by itself.
    actor: Actor | None = None
    # How the task has last referred to an object in an outcome; it may know no name for it.
    spoken_of: str = ""
    # Objects that faults have taken away.
    taken: list[str] = field(default_factory=list)
    # Numbers that a fault leaves for those that strike later.
    memory: dict[str, float] = field(default_factory=dict)

    @property
    def scene(self) -> Scene:
        """The scene."""
        return self.engine.scene

    def aim(self) -> None:
        """Find the object that the task works on at this moment."""
        self.target = self.hints.target(self)

    def bay_of(self, name: str) -> str:
        """The bay where an object belongs, by name; empty if the task has none for it."""
        return self.hints.bay_of(self.parameters, name)

    def is_here(self, name: str) -> bool:
        """Whether an object or place is where the robot works."""
        return self.scene.in_work_area(self.position_m(name))

    def here(self) -> list[str]:
        """Objects that are where the robot works."""
        return [name for name in self.scene.object_names if self.is_here(name)]

    def nearest(self, names: Iterable[str], point_m: Array) -> str:
        """The object nearest to a point of W; empty if there is none."""
        return min(names, key=lambda name: float(np.linalg.norm(self.position_m(name) - point_m)), default="")

    def position_m(self, name: str) -> Array:
        """The position of an object in the world."""
        at = self.scene.joint_address(name)
        return self.engine.qpos[self.lane, at : at + 3].copy()

    def quaternion(self, name: str) -> Array:
        """The rotation of an object in the world."""
        at = self.scene.joint_address(name)
        return self.engine.qpos[self.lane, at + 3 : at + 7].copy()

    def velocity_m_s(self, name: str) -> Array:
        """The velocity of an object in the world."""
        return self.engine.truth[self.lane, self.engine.layout.truth[f"{name}.velocity"]].copy()

    def half_extents_m(self, name: str) -> Array:
        """Half the sizes along the object's own axes."""
        return self.engine.half_extents_m(self.lane, name)

    def tool_m(self) -> Array:
        """(3,): where the tool is, in W."""
        tool = self.engine.readings[self.lane, self.engine.layout.readings["tool_position"]].copy()
        return in_world(self.engine, self.lane, tool)

    def base_m(self) -> Array:
        """(3,): where the robot's base is, in W."""
        return base_m(self.engine, self.lane)

    def pressed(self) -> bool:
        """Whether both pads press on something."""
        return pads_press(self.engine, self.lane)

    def number(self, field: str, element: str) -> tuple[float, ...]:
        """A number of the model as this lane has had it from its start."""
        return self.variation.values(self.scene.model, field, element)

    def mass_kg(self, name: str) -> float:
        """The mass of an object."""
        return self.number("body_mass", name)[0]


def pads_press(engine: Engine, lane: int) -> bool:
    """Whether both pads of a lane press on something."""
    readings, parts = engine.readings[lane], engine.layout.readings
    return bool(np.linalg.norm(readings[parts["pad_force"]].reshape(2, 3), axis=1).min() >= PRESS_N)


# An event, or a function that returns it when its time has come.
Deed = Event | Callable[[FaultContext], Event]
Timed = tuple[float, Deed]
"""An event, or a function that returns it when its time has come, and the seconds after the strike at which that is."""
