"""One lane played frame by frame, towards targets from outside.

It does what an executor does for a driver that follows targets, to the same bits. Drivers, guards, looks and logs are
of no use to an environment of one lane, and would cost it half as much as its physics.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from graspline.engine.actors import Actor, LaneView
from graspline.engine.events import Event
from graspline.engine.protocol import Engine
from graspline.motion.joint_moves import ramp
from graspline.motion.path import controls_of
from graspline.tasks.task import Draw

Array = NDArray[np.float64]

_LANES = np.zeros(1, np.intp)


class Frames:
    """The world of one episode, in the only lane of an engine."""

    def __init__(self, engine: Engine, sampled: Draw, actor: Actor | None, notify: Callable[[Event], None]) -> None:
        """The world as it was sampled; `tell` is called with every event."""
        self.engine, self.robot = engine, engine.scene.robot
        self.actor, self._notify = actor, notify
        engine.reset(0, sampled.start, sampled.variation)
        # Where the reference stands.
        self.command_rad = sampled.start[[engine.scene.joint_address(name) for name in self.robot.joints]]
        self._velocity_rad_s = np.zeros_like(self.command_rad)
        self._ticks = 0
        # What has happened, with the tick before which it did.
        self.events: list[tuple[int, Event]] = []
        self._act()

    @property
    def time_s(self) -> float:
        """The simulated time."""
        return self._ticks * self.robot.dt_s

    def play(self, target_rad: Array, ticks: int) -> bool:
        """Go towards a target for `ticks` ticks; whether physics diverged, which ends the frame."""
        path = ramp(self.robot, self.command_rad, target_rad, ticks, self._velocity_rad_s)
        diverged = False
        for row, controls in enumerate(controls_of(self.robot, path.positions, path.velocities), 1):
            if self._ticks == self._acts_at:
                self._act()
            diverged = self.engine.step(controls, _LANES)
            self._ticks += 1
            self.command_rad, self._velocity_rad_s = path.positions[row], path.velocities[row]
            if diverged:
                break
        return diverged

    def apply(self, event: Event) -> None:
        """Let the world act before the next tick."""
        self.engine.apply(0, event)
        self.events.append((self._ticks, event))
        self._notify(event)

    def _act(self) -> None:
        """Let what acts in this world act now, and say when next."""
        self._acts_at = -1
        if self.actor is not None:
            for event in self.actor.act(LaneView(engine=self.engine, lane=0, time_s=self.time_s)):
                self.apply(event)
            self._acts_at = self._ticks + max(1, round(self.actor.period_s * self.robot.control_hz))
