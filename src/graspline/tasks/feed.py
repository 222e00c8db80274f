"""What a task whose objects arrive by themselves tells `graspline rates`: how to send them, and what became of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from graspline.evidence import Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """What became of the objects that one episode sent: in ground truth, and as the task reports it."""

    sent: int
    right: int
    wrong: int
    # As many as the task says are where they belong.
    claimed: int
    # How many it let pass, by cause.
    missed: Mapping[str, int] = field(default_factory=dict)
    # None for an episode too short to tell.
    picks_per_min: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """A task's objects arrive at a speed and density that `graspline rates` chooses."""

    # Settings, as `--set` reads them, in which they arrive at a speed in m/s with this many per metre.
    settings: Callable[[float, float], tuple[str, ...]]
    # From `Episode.truth` and `Episode.evidence`.
    count: Callable[[Mapping[str, Any], Evidence], Delivered]
