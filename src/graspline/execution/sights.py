"""What lanes keep an eye on while they move: watched objects, seen at a rate, by an estimator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.engine.protocol import Engine
from graspline.execution.eyesight import Eyesight
from graspline.execution.reel import NEVER
from graspline.execution.requests import Watch

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(slots=True)
class _Aim:
    columns: slice
    period: int
    due: int
    blur: Callable[[Array], Array] | None


class Sights:
    """The last sighting of every lane's watched object, and when the next one is due."""

    def __init__(self, engine: Engine, eyesight: Eyesight) -> None:
        self._engine, self._eyesight = engine, eyesight
        # Position of each lane's object as last seen; nan while nothing is watched or seen.
        self.watched = np.full((engine.count, 3), np.nan)
        self._fresh = np.zeros(engine.count, bool)
        self._aims: dict[int, _Aim] = {}
        self.next_due = NEVER

    def aim(self, lane: int, watch: Watch | None, now: int) -> None:
        """Follow an object from the next tick on, or nothing."""
        self.watched[lane] = np.nan
        if watch is None:
            if self._aims.pop(lane, None) is None:
                return
        else:
            columns = self._engine.layout.truth[f"{watch.target}.position"]
            period = max(1, round(self._engine.scene.robot.control_hz / watch.rate_hz))
            self._aims[lane] = _Aim(columns=columns, period=period, due=now + 1, blur=watch.blur)
        self.next_due = min((aim.due for aim in self._aims.values()), default=NEVER)

    def see(self, now: int) -> Flags:
        """Look at everything that is due; which lanes saw something new (valid until the next call)."""
        self._fresh[:] = False
        self.next_due = NEVER
        # A few lanes are due at a time: one by one is faster than arrays over all of them.
        for lane, aim in self._aims.items():
            if aim.due <= now:
                row = self._eyesight.truth(lane)
                if row is not None:
                    seen = row[aim.columns]
                    self.watched[lane] = seen if aim.blur is None else aim.blur(seen)
                    self._fresh[lane] = True
                aim.due += aim.period
            self.next_due = min(self.next_due, aim.due)
        return self._fresh
