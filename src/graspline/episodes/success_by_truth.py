"""Success by truth: the task's own goal, judged at the end of every frame."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from graspline.episodes.scenario import Scenario
from graspline.evidence import Evidence, at_least, passes
from graspline.tasks.task import Draw, Snapshot

T = TypeVar("T")

# The goal must have been met in every frame for this long: as an object must have lain still to count as placed, and
# longer than one that swings past the right place is slow.
STEADY_S = 0.3


class Referee:
    """Watches one episode."""

    def __init__(self, scenario: Scenario, sampled: Draw) -> None:
        self._scenario, self._sampled = scenario, sampled
        self._met_since_s: float | None = None
        # Whether the task's milestone has been reached, if it has one.
        self._reached = False
        # What the goal measured last, and whether its milestone was reached.
        self.evidence: Evidence = ()

    def succeeded(self, snapshot: Snapshot) -> bool:
        """Whether by this instant the goal has been met for long enough."""
        self.evidence = (
            *self._scenario.task.goal(self._scenario.parameters, self._sampled, snapshot),
            *self._milestone(snapshot),
        )
        if not passes(self.evidence):
            self._met_since_s = None
            return False
        if self._met_since_s is None:
            self._met_since_s = snapshot.time_s
        return _is_steady(self._met_since_s, snapshot.time_s)

    def _milestone(self, snapshot: Snapshot) -> Evidence:
        milestone = self._scenario.task.policy.milestone
        if milestone is None:
            return ()
        if not self._reached:
            self._reached = passes(milestone.check(self._scenario.parameters, self._sampled, snapshot))
        return (at_least(milestone.name, float(self._reached), 1),)


class SparseReferee(Generic[T]):
    """Rules as a `Referee` does, frame by frame, but has few frames judged.

    A frame in which the goal is not met rules out success for `STEADY_S`. The frames of that time are kept, and judged
    only if the goal is met at its end: the newest first, until one is found in which it was not.
    """

    def __init__(self, met: Callable[[T, float], bool]) -> None:
        """`met` is given what was kept of a frame, and its time, at any time later."""
        self._met = met
        # Time and frame since the last that is known to have failed; no frame where it is known to have passed.
        self._kept: list[tuple[float, T | None]] = []

    def succeeded(self, frame: T, time_s: float) -> bool:
        """Whether by this instant the goal has been met for long enough."""
        kept = self._kept
        kept.append((time_s, frame))
        if not _is_steady(kept[0][0], time_s):
            return False
        for index in range(len(kept) - 1, -1, -1):
            at_s, unjudged = kept[index]
            if unjudged is None:
                continue
            if not self._met(unjudged, at_s):
                del kept[: index + 1]
                return bool(kept) and _is_steady(kept[0][0], time_s)
            kept[index] = at_s, None
        del kept[1:]
        return True


def _is_steady(since_s: float, time_s: float) -> bool:
    # Times are sums of ticks, which round.
    return time_s - since_s >= STEADY_S - 1e-9
