"""Controls between their source and the servos: some lanes' arrive late, and some are spoilt."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Wires:
    """What is on its way to the servos of each lane."""

    def __init__(self) -> None:
        # Lanes whose controls arrive late: those on their way, the next to arrive first.
        self._on_the_way: dict[int, deque[Array]] = {}
        # Actuators whose next control is spoilt.
        self._spoilt: dict[int, list[int]] = {}

    def connect(self, lane: int, on_the_way: Sequence[Array], spoilt: Sequence[int] = ()) -> None:
        """From now on as many controls are on their way in a lane as these."""
        self._on_the_way.pop(lane, None)
        self._spoilt.pop(lane, None)
        if on_the_way:
            self._on_the_way[lane] = deque(on_the_way)
        if spoilt:
            self._spoilt[lane] = list(spoilt)

    def spoil(self, lane: int, actuator: int) -> None:
        """Have this actuator's controls ignored from now on."""
        self._spoilt.setdefault(lane, []).append(actuator)

    def spoilt(self, lane: int) -> tuple[int, ...]:
        """The actuators whose controls are ignored."""
        return tuple(self._spoilt.get(lane, ()))

    def on_the_way(self, lane: int) -> tuple[Array, ...]:
        """Controls that are delayed and not applied yet."""
        return tuple(self._on_the_way.get(lane, ()))

    def pass_on(self, controls: NDArray[np.floating], lanes: NDArray[np.intp]) -> None:
        """Send this tick's controls, rows of (N, nu), on their way; in their place are those that arrive."""
        if self._on_the_way:
            for lane in self._on_the_way.keys() & set(lanes.tolist()):
                line = self._on_the_way[lane]
                line.append(controls[lane].copy())
                controls[lane] = line.popleft()
        if self._spoilt:
            for lane in self._spoilt.keys() & set(lanes.tolist()):
                controls[lane, self._spoilt.pop(lane)] = np.nan
