"""What lanes keep an eye on while they move: watched objects, seen at a rate, by an estimator."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.engine.protocol import Engine
from graspline.errors import WiringError
from graspline.execution.requests import Look, Watch
from graspline.execution.sensor_faults import Eyesight
from graspline.execution.trajectory_buffer import NEVER
from graspline.rendering.picture import Picture

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]


# Over this many sightings an object's distance from the tool must be steady.
STEADY_OVER = 10


@dataclass(slots=True)
class _Aim:
    watch: Watch
    columns: slice
    period: int
    due: int
    # The last horizontal distances between tool and object, if a guard asks how steady they are.
    apart_m: deque[float] | None


class Sights:
    """The last sighting of every lane's watched object, and when the next one is due."""

    def __init__(
        self,
        engine: Engine,
        eyesight: Eyesight,
        photograph: Callable[[int, Look], Picture] | None = None,
    ) -> None:
        self._engine, self._eyesight, self._photograph = engine, eyesight, photograph
        self._tool = engine.readings[:, engine.layout.readings["tool_position"]]
        self._axes = engine.readings[:, engine.layout.readings["tool_axes"]]
        # Position of each lane's object as last seen; nan while nothing is watched or seen.
        self.watched = np.full((engine.count, 3), np.nan)
        # Variance of its horizontal distance from the tool; nan until it has been seen often enough.
        self.spread = np.full(engine.count, np.nan)
        self._fresh = np.zeros(engine.count, bool)
        self._aims: dict[int, _Aim] = {}
        self.next_due = NEVER

    def aim(self, lane: int, watch: Watch | None, now: int, began: int, *, steadiness: bool = False) -> None:
        """Follow an object from now on, or nothing; sightings keep the beat of a lane that began at this tick.

        The `spread` of its distance is found only where its `steadiness` is asked for.
        """
        if lane in self._aims:
            self.watched[lane] = np.nan
            self.spread[lane] = np.nan
        if watch is None:
            self._aims.pop(lane, None)
            return
        columns = self._engine.layout.truth[f"{watch.target}.position"]
        period = max(1, round(self._engine.scene.robot.control_hz / watch.rate_hz))
        apart: deque[float] | None = deque(maxlen=STEADY_OVER) if steadiness else None
        due = now + 1 + (began - now - 1) % period
        self._aims[lane] = _Aim(watch=watch, columns=columns, period=period, due=due, apart_m=apart)
        self.next_due = min(self.next_due, due)

    def see(self, now: int) -> Flags | None:
        """Look at everything that is due; which lanes saw something new (valid until the next call), or None if none.

        It may turn out that nothing is due: that a lane has looked away is not noticed before.
        """
        self._fresh[:] = False
        next_due, looked = NEVER, False
        # A few lanes are due at a time: one by one is faster than arrays over all of them.
        for lane, aim in self._aims.items():
            if aim.due <= now:
                looked = True
                seen = self._position(lane, aim)
                if seen is not None:
                    self._note(lane, aim, seen)
                aim.due += aim.period
            next_due = min(next_due, aim.due)
        self.next_due = next_due
        return self._fresh if looked else None

    def _position(self, lane: int, aim: _Aim) -> Array | None:
        """Where the estimator has the object now, if it sees it."""
        look, track = aim.watch.look, aim.watch.track
        if look is not None and track is not None:
            if self._photograph is None:
                raise WiringError(f"{aim.watch.target!r} is watched by camera, but nothing here can take pictures")
            # Axes come one after the other; as columns they turn tool coordinates into the world's.
            rotation = self._axes[lane].reshape(3, 3).T
            return track(self._photograph(lane, look), self._tool[lane].copy(), rotation)
        row = self._eyesight.truth(lane)
        if row is None:
            return None
        seen = row[aim.columns]
        return seen if aim.watch.blur is None else aim.watch.blur(seen)

    def _note(self, lane: int, aim: _Aim, seen: Array) -> None:
        self.watched[lane] = seen
        self._fresh[lane] = True
        if aim.apart_m is not None:
            self.spread[lane] = self._spread_m2(lane, aim.apart_m, seen)

    def _spread_m2(self, lane: int, apart_m: deque[float], seen: Array) -> float:
        """Variance of the horizontal distance over the last sightings; nan until there are enough."""
        # Plain numbers: arithmetic on a few elements of arrays costs several times as much.
        (seen_x, seen_y, _), (tool_x, tool_y, _) = seen.tolist(), self._tool[lane].tolist()
        x, y = seen_x - tool_x, seen_y - tool_y
        apart_m.append((x * x + y * y) ** 0.5)
        if len(apart_m) < STEADY_OVER:
            return math.nan
        mean = sum(apart_m) / STEADY_OVER
        return sum([(each - mean) ** 2 for each in apart_m]) / STEADY_OVER
