"""Keeping pace with the wall clock. What is simulated never depends on it."""

from __future__ import annotations

import time
from collections.abc import Callable

# The clock that lease, pictures and pace go by: the only one in the house that is no front door's.
now_s: Callable[[], float] = time.monotonic

# While the simulation is behind, it runs this much faster than the clock.
_CATCH_UP = 0.25
# What is behind by more is let go: after its machine has slept, a simulation does not race for minutes.
MOST_BEHIND_S = 2.0
# At no pace at all a moment is left to others now and then.
_BREATH_S = 0.0005


class Pacer:
    """Absolute deadlines, one per tick.

    A tick that is late by less than a period is caught up with at once. If more is lost, because planning took long,
    the clock waits: the schedule shifts, and what it shifted by is paid back little by little.
    """

    def __init__(
        self,
        dt_s: float,
        pace: float = 1.0,
        clock: Callable[[], float] = now_s,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if not pace > 0:
            raise ValueError(f"a pace is above 0, got {pace}")
        self._period_s = dt_s / pace
        self._clock, self._sleep = clock, sleep
        self._due_s, self._owed_s = clock(), 0.0

    @property
    def behind_s(self) -> float:
        """How far the simulation is behind the clock now."""
        if not self._period_s:
            return 0.0
        return self._owed_s + max(0.0, self._clock() - self._due_s)

    def restart(self) -> None:
        """The next tick is due now."""
        self._due_s, self._owed_s = self._clock(), 0.0

    def wait(self, *, breathe: bool = False) -> None:
        """Sleep until the next tick is due; at an infinite pace not at all, or for a moment."""
        if not self._period_s:
            if breathe:
                self._sleep(_BREATH_S)
            return
        paid_s = min(self._owed_s, self._period_s * _CATCH_UP / (1 + _CATCH_UP))
        self._owed_s -= paid_s
        self._due_s += self._period_s - paid_s
        early_s = self._due_s - self._clock()
        if early_s > 0:
            self._sleep(early_s)
        elif -early_s > self._period_s:
            self._owed_s = min(self._owed_s - early_s, MOST_BEHIND_S)
            self._due_s -= early_s
