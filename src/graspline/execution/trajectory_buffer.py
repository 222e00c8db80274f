"""The motions in play, one per lane, flattened so that a tick takes its rows in one gather."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graspline.motion.path import Command, Path, controls_of
from graspline.robots.robot import Robot

Array = NDArray[np.float64]
Lanes = NDArray[np.intp] | slice

NEVER = int(np.iinfo(np.int64).max)


class Reel:
    """Controls and references of every lane's path, and when each begins and ends, in the executor's ticks."""

    def __init__(self, robot: Robot, lanes: int) -> None:
        self._robot, self._lanes = robot, lanes
        self._paths: dict[int, Path] = {}
        self._since = [0] * lanes
        # Row of each lane in the flattened buffers, less the tick it is wanted at.
        self._row = np.zeros(lanes, np.int64)
        self.stop = np.full(lanes, NEVER)
        self._use(self._buffer(128), self._buffer(128))

    def put(self, lane: int, path: Path, now: int, ticks: int) -> None:
        """Play this path from tick `now` on, for at most `ticks`."""
        length = path.ticks
        if length >= self._controls.shape[1]:
            self._grow(length)
        self._paths[lane] = path
        self._controls[lane, :length] = controls_of(self._robot, path.positions, path.velocities)
        self._references[lane, : length + 1] = path.positions
        self._since[lane] = now
        self._row[lane] = lane * self._controls.shape[1] - now
        self.stop[lane] = now + min(ticks, length)

    def clear(self, lane: int) -> None:
        """Drop a lane's trajectory."""
        self.stop[lane] = NEVER

    def controls(self, lanes: Lanes, now: int) -> Array:
        """What the servos get in the tick that begins now, (n, nu)."""
        return self._flat_controls.take(self._row[lanes] + now, axis=0)

    def references(self, lanes: Lanes, now: int) -> Array:
        """Where the reference stands now, (n, nu)."""
        return self._flat_references.take(self._row[lanes] + now, axis=0)

    def played(self, lane: int, now: int) -> int:
        """How many ticks of its path a lane has played."""
        return min(now - self._since[lane], self._paths[lane].ticks)

    def command(self, lane: int, now: int) -> Command:
        """The command in force: position, velocity and acceleration of the reference now."""
        return self._paths[lane].command_at(self.played(lane, now))

    def _grow(self, ticks: int) -> None:
        """Make room for longer paths; what is in play keeps its place."""
        old, width = self._controls.shape[1], max(ticks + 1, 2 * self._controls.shape[1])
        controls, references = self._buffer(width), self._buffer(width)
        controls[:, :old], references[:, :old] = self._controls, self._references
        self._use(controls, references)
        self._row[:] = np.arange(self._lanes) * width - np.array(self._since)

    def _buffer(self, width: int) -> Array:
        return np.zeros((self._lanes, width, len(self._robot.joints)))

    def _use(self, controls: Array, references: Array) -> None:
        self._controls, self._references = controls, references
        self._flat_controls = controls.reshape(-1, controls.shape[2])
        self._flat_references = references.reshape(-1, references.shape[2])
