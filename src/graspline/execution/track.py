"""What a lane has played: with its start, everything a replay needs."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from graspline.engine.events import Event
from graspline.scenes.variation import Variation

Array = NDArray[np.float64]


@dataclass(slots=True)
class Track:
    """Grown motion by motion while a lane plays; times are ticks since its start."""

    start: Array
    variation: Variation
    _controls: list[Array] = field(default_factory=list)
    _references: list[Array] = field(default_factory=list)
    _states: list[Array] = field(default_factory=list)
    events: list[tuple[int, Event]] = field(default_factory=list)
    ticks: int = 0

    def append(self, controls: Array, references: Array) -> None:
        """The controls of some ticks, (n, nu), and the reference at the end of each."""
        self._controls.append(controls.copy())
        self._references.append(references.copy())
        self.ticks += len(controls)

    def append_state(self, qpos: Array) -> None:
        self._states.append(qpos.copy())

    @property
    def controls(self) -> Array:
        return np.concatenate(self._controls) if self._controls else np.zeros((0, 0))

    @property
    def references(self) -> Array:
        return np.concatenate(self._references) if self._references else np.zeros((0, 0))

    @property
    def states(self) -> Array:
        """qpos after each tick, (T, nq), if states were recorded."""
        return np.stack(self._states) if self._states else np.zeros((0, len(self.start)))
