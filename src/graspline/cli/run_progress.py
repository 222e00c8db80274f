"""Progress of episodes that are played side by side."""

from __future__ import annotations

import math
import time

from graspline.cli.progress import Progress
from graspline.engine.protocol import Engine
from graspline.episodes.episode import Episode
from graspline.episodes.statistics import wilson

# How often a bar is refreshed while lanes play.
_SHOW_EVERY_S = 0.1
# An episode that runs has a little left, however long it has taken.
_NEARLY = 0.95


class RunProgress(Progress):
    """Of episodes that are played side by side: the estimate counts what every lane has played, ended or not.

    With `rate` it shows the success rate with its interval.
    """

    def __init__(
        self,
        what: str,
        total: int,
        *,
        rate: bool = True,
        beside_output: bool = False,
        lines: bool = True,
        bar: bool = True,
    ) -> None:
        super().__init__(what, total, said="compiling and planning", beside_output=beside_output, lines=lines, bar=bar)
        self._rate = rate and total > 1
        self.succeeded = self.accepted = 0
        self._lanes, self._shown = 1, time.monotonic()
        # Simulated time: of each lane, of all lanes together, and of the episodes that have ended.
        self._lane_s: float = 0.0
        self._played_s: float = 0.0
        self._ended_s: float = 0.0

    def add_recorded(self, *, succeeded: bool) -> None:
        """An episode that was played before."""
        self.succeeded += succeeded
        self.accepted += 1
        self.done += 1
        self.began_with += 1

    def add(self, episode: Episode) -> None:
        """An episode that has ended."""
        self.succeeded += episode.succeeded
        self.accepted += not episode.declined
        self._ended_s += episode.sim_time_s
        self.done += 1
        self.show(self._said())

    def tick(self, engine: Engine) -> None:
        """Every lane that plays an episode has played another tick of it."""
        dt_s, self._lanes = engine.scene.robot.dt_s, engine.count
        self._lane_s += dt_s
        self._played_s += dt_s * min(engine.count, self.total - self.done)
        now = time.monotonic()
        if now - self._shown >= _SHOW_EVERY_S:
            self._shown = now
            self.show(self._said())

    def _said(self) -> str:
        if self.done == 0 and self._lane_s:
            return f"{self._lane_s:.0f} s simulated"
        return success_text(self.succeeded, self.accepted) if self._rate and self.accepted else ""

    def _fraction(self) -> float:
        ended, left = self.done - self.began_with, self.total - self.done
        # The first to end are the shortest ones.
        if ended < min(self._lanes, math.ceil((ended + left) / 4)):
            return 0.0
        if not self._played_s:
            return super()._fraction()
        mean_s = max(self._ended_s / max(ended, 1), 1e-9)
        running = min(self._lanes, left)
        begun = min(max(self._played_s - self._ended_s, 0.0) / mean_s, _NEARLY * running)
        return (ended + begun) / max(ended + left, 1)


def success_text(succeeded: int, count: int) -> str:
    """The success rate with its 95 % interval, as text."""
    low, high = wilson(succeeded, count)
    return f"success {100 * succeeded / count:.1f} % ({100 * low:.1f}–{100 * high:.1f})"
