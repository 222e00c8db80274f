"""Functions that look at episodes while they are played, and what they are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from graspline.engine.actors import Actor
from graspline.engine.events import Event
from graspline.engine.protocol import Engine
from graspline.episodes.scenario import Scenario
from graspline.episodes.snapshots import snapshot_of
from graspline.execution.notifications import Happening
from graspline.tasks.task import Draw, Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Instant:
    """A moment of an episode that is being played, and the world it happens in."""

    scenario: Scenario
    sampled: Draw
    engine: Engine
    lane: int
    time_s: float
    # What acts in that world, if anything does.
    actor: Actor | None = None
    # What has happened to it, with the tick before which it did; grows while the episode is played.
    events: Sequence[tuple[int, Event]] = ()

    def snapshot(self) -> Snapshot:
        """What the simulator knows now."""
        return snapshot_of(self.engine, self.lane, self.sampled, self.time_s, self.actor, self.events)


class Onlooker(Protocol):
    """Told of everything that happens in an episode, with the world at hand. It only looks."""

    def __call__(self, instant: Instant, notification: Happening) -> None:
        """Is called with every notification of an episode."""
        ...


class NotingObserver(Protocol):
    """An onlooker whose notes the episode carries; None where there is nothing to note. It may be in another process,
    so it is a plain function."""

    def __call__(self, instant: Instant, notification: Happening) -> object:
        """Is called with every notification; what it returns is kept."""
        ...
