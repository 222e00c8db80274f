"""What a lane has played: with its start, everything a replay needs."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from graspline.engine.events import Event
from graspline.execution.requests import Disturbed
from graspline.motion.path import Path
from graspline.motion.path_offsets import step
from graspline.scenes.variation import Variation

Array = NDArray[np.float64]

# Where a motion ends while the arm is pushed off its path, what is intended gives way to where the arm is over this
# many ticks: the next motion starts from there.
_GIVE_WAY = 12


@dataclass(slots=True)
class LaneRecording:
    """Grown motion by motion while a lane plays; times are ticks since its start."""

    start: Array
    variation: Variation
    _positions: list[Array] = field(default_factory=list)
    _velocities: list[Array] = field(default_factory=list)
    _states: list[Array] = field(default_factory=list)
    # Of motions that were disturbed: the tick each began at, what was intended and where it was off.
    _disturbed: list[tuple[int, Array, NDArray[np.bool_]]] = field(default_factory=list)
    # Where the reference stands after the last tick.
    _end: tuple[Array, Array] | None = None
    events: list[tuple[int, Event]] = field(default_factory=list)
    ticks: int = 0

    def append(self, path: Path, played: int, disturbed: Disturbed | None = None) -> None:
        """The first `played` ticks of a path: the reference each of them started from, and what was intended."""
        if disturbed is not None:
            intended = disturbed.intended[:played].copy()
            off = intended - path.positions[:played]
            last = min(_GIVE_WAY, played)
            if played < path.ticks and last:
                off[-last:] *= 1 - step(last)[0][1:, None]
                intended = path.positions[:played] + off
            self._disturbed.append((self.ticks, intended, disturbed.off[:played]))
        self._positions.append(path.positions[:played])
        self._velocities.append(path.velocities[:played])
        self._end = path.positions[played : played + 1], path.velocities[played : played + 1]
        self.ticks += played

    def append_state(self, qpos: Array) -> None:
        """Keep a copy of a state."""
        self._states.append(qpos.copy())

    def reference(self) -> tuple[Array, Array]:
        """Position and velocity of the reference at the start of each tick and at the end, (T + 1, nu) each."""
        if self._end is None:
            return np.zeros((0, 0)), np.zeros((0, 0))
        return np.concatenate([*self._positions, self._end[0]]), np.concatenate([*self._velocities, self._end[1]])

    def intention(self) -> tuple[Array, NDArray[np.bool_]]:
        """What was intended at each row of the reference, (T + 1, nu), and where the arm was off; empty if never."""
        if not self._disturbed:
            return np.zeros((0, 0)), np.zeros(0, bool)
        intended, _ = self.reference()
        off = np.zeros(len(intended), bool)
        for begin, rows, flags in self._disturbed:
            intended[begin : begin + len(rows)], off[begin : begin + len(rows)] = rows, flags
        return intended, off

    @property
    def states(self) -> Array:
        """qpos after each tick, (T, nq), if states were recorded."""
        return np.stack(self._states) if self._states else np.zeros((0, len(self.start)))
