"""Things the world does between two ticks. Events are plain values: they are logged and replayed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
    """An object appears somewhere, at rest or moving: fed by a belt, or taken away by a person."""

    body: str
    position_m: tuple[float, float, float]
    quaternion: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    velocity_m_s: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class CorruptControl:
    """The next tick's control of one joint is not a number."""

    joint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Blind:
    """Pictures turn black, or stay as they are at this moment; physics does not notice.

    One camera by name, or with no name all of them and whatever else knows where objects are.
    """

    kind: Literal["black", "frozen"]
    camera: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Misjudge:
    """Estimates of poses are wrong by a noise (1σ per coordinate, sampled with this seed) and late by a delay."""

    sigma_m: float = 0.0
    delay_s: float = 0.0
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Roughen:
    """Depths are `sigma_factor` times as noisy as usual, and `hole_share` of the pixels more have none.

    Those of one camera by name, or with no name of all of them.
    """

    sigma_factor: float = 1.0
    hole_share: float = 0.0
    camera: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class See:
    """All eyes are well again."""


# What happens to eyes and not to bodies.
SightEvent = Blind | Misjudge | Roughen | See
Event = Push | Change | Place | CorruptControl | SightEvent
