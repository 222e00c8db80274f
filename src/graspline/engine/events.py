"""Things the world does between two ticks. Events are plain values: they are logged and replayed."""

from __future__ import annotations

from dataclasses import dataclass

from graspline.scenes.variation import Edit


@dataclass(frozen=True, slots=True, kw_only=True)
class Push:
    """A force (N, world frame) on a body's centre of mass from now on; zero ends it."""

    body: str
    force_n: tuple[float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Model numbers that change while running: friction, gains, masses."""

    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """An object appears somewhere at rest: fed by a belt, or taken away by a person."""

    body: str
    position_m: tuple[float, float, float]
    quaternion: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class CorruptControl:
    """The next tick's control of one joint is not a number."""

    joint: str


Event = Push | Change | Place | CorruptControl
