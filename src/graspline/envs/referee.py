"""Success by truth: the task's own goal, judged at the end of every frame."""

from __future__ import annotations

from graspline.episodes.scenario import Scenario
from graspline.evidence import Evidence, passes
from graspline.tasks.task import Draw, Snapshot

# The goal must have been met in every frame for this long: as an orange must have lain still to count as placed, and
# longer than a cube that swings past the right place is slow.
STEADY_S = 0.3


class Referee:
    """Watches one episode."""

    def __init__(self, scenario: Scenario, draw: Draw) -> None:
        self._scenario, self._draw = scenario, draw
        self._met_since_s: float | None = None
        # What the goal measured last.
        self.evidence: Evidence = ()

    def succeeded(self, snapshot: Snapshot) -> bool:
        """Whether by this instant the goal has been met for long enough."""
        self.evidence = self._scenario.task.judge(self._scenario.parameters, self._draw, snapshot)
        if not passes(self.evidence):
            self._met_since_s = None
            return False
        if self._met_since_s is None:
            self._met_since_s = snapshot.time_s
        # Times are sums of ticks, which round.
        return snapshot.time_s - self._met_since_s >= STEADY_S - 1e-9
