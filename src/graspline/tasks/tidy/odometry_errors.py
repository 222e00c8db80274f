"""Odometry that is not quite right: where the robot starts is known to a centimetre, and wheels slip as they turn."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from graspline.engine.actors import LaneView
from graspline.engine.events import Change, Event
from graspline.scenes.scene import Scene
from graspline.scenes.variation import Variation, held_at
from graspline.tasks.task import Draw
from graspline.tasks.tidy.parameters import BaseParameters

Array = NDArray[np.float64]

# Slips smaller than this, in m or rad, wait until they have grown.
_LEAST = 0.0005


def misplaced(base: BaseParameters, scene: Scene, sampled: Draw, random: np.random.Generator) -> Draw:
    """The same room with the robot not quite where it believes to be."""
    shift, turn = random.uniform(-1, 1, 2) * base.shift_m, random.uniform(-1, 1) * base.turn_rad
    offsets = dict(zip(scene.robot.slip_joints, (*shift.tolist(), float(turn)), strict=True))
    start = sampled.start.copy()
    for name, offset in offsets.items():
        start[scene.joint_address(name)] = offset
    edits = tuple(held_at(name, offset) for name, offset in offsets.items())
    described = {f"base.{name}": offset for name, offset in offsets.items()}
    return replace(sampled, start=start, variation=sampled.variation + Variation(edits=edits, described=described))


@dataclass(slots=True)
class Wheels:
    """Lets the odometry frame creep while the base moves: by these shares of the way along x, y and of turns."""

    shares: tuple[float, float, float]
    _last: Array | None = None
    _owed: Array = field(default_factory=lambda: np.zeros(3))

    def act(self, world: LaneView) -> list[Event]:
        """Events of the next moment: forces of wheels that slip."""
        scene, row = world.engine.scene, world.engine.qpos[world.lane]
        at = np.array([row[scene.joint_address(name)] for name in scene.robot.base_joints])
        moved = np.zeros(3) if self._last is None else at - self._last
        self._last = at
        self._owed += np.array(self.shares) * moved
        if np.abs(self._owed).max() < _LEAST:
            return []
        targets = [float(world.number("eq_data", name)[0]) for name in scene.robot.slip_joints]
        turn = targets[2]
        # Slips are along the axes of the world, ways along those of the odometry frame.
        x = np.cos(turn) * self._owed[0] - np.sin(turn) * self._owed[1]
        y = np.sin(turn) * self._owed[0] + np.cos(turn) * self._owed[1]
        slipped = (targets[0] + x, targets[1] + y, turn + float(self._owed[2]))
        self._owed = np.zeros(3)
        edits = tuple(held_at(name, float(value)) for name, value in zip(scene.robot.slip_joints, slipped, strict=True))
        return [Change(edits=edits)]
