"""What lanes keep an eye on while they move: watched objects, seen at a rate, by an estimator."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from graspline.engine.protocol import Engine
from graspline.execution.reel import NEVER
from graspline.execution.requests import Watch

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]


class Sights:
    """The last sighting of every lane's watched object, and when the next one is due."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        count = engine.count
        # Position of each lane's object as last seen; nan while nothing is watched or seen.
        self.watched = np.full((count, 3), np.nan)
        self._columns = np.zeros((count, 3), np.intp)
        self._every = np.arange(count)[:, None]
        self._due = np.full(count, NEVER)
        self._period = np.ones(count, np.int64)
        self._blurs: dict[int, Callable[[Array], Array]] = {}
        self.next_due = NEVER

    def aim(self, lane: int, watch: Watch | None, now: int) -> None:
        """Follow an object from the next tick on, or nothing."""
        self._blurs.pop(lane, None)
        self.watched[lane] = np.nan
        self._due[lane] = NEVER
        if watch is not None:
            if watch.blur is not None:
                self._blurs[lane] = watch.blur
            columns = self._engine.layout.truth[f"{watch.target}.position"]
            self._columns[lane] = np.arange(columns.start, columns.stop)
            self._period[lane] = max(1, round(self._engine.scene.robot.control_hz / watch.rate_hz))
            self._due[lane] = now + 1
        self.next_due = int(self._due.min())

    def see(self, now: int) -> Flags:
        """Look at everything that is due; which lanes saw something new."""
        fresh = self._due <= now
        self._due[fresh] += self._period[fresh]
        self.next_due = int(self._due.min())
        seen = self._engine.truth[self._every, self._columns]
        for lane, blur in self._blurs.items():
            if fresh[lane]:
                seen[lane] = blur(seen[lane])
        self.watched[:] = np.where(fresh[:, None], seen, self.watched)
        return fresh
