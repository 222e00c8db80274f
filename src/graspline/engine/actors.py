"""What acts in the world by itself while an episode runs: a belt's feeder, a person that waits with an open hand.

An actor sees everything, for it is part of the world, and acts by events, which are logged like all others: replaying
them needs no actor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from graspline.engine.events import Event
from graspline.engine.protocol import Engine

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneView:
    """One lane at one instant, as an actor finds it."""

    engine: Engine
    lane: int
    time_s: float

    def position_m(self, name: str) -> Array:
        """The position of an object in the world."""
        at = self.engine.scene.joint_address(name)
        return self.engine.qpos[self.lane, at : at + 3].copy()

    def number(self, field: str, element: str) -> Array:
        """A number of the model as the lane has it now."""
        return self.engine.number(self.lane, field, element)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """One thing that was sent during an episode, and what became of it."""

    # The object's name; objects may be sent more than once.
    name: str
    colour: str
    size_m: tuple[float, float, float]
    sent_s: float
    # When and where it left; while it has not, nan and where it is.
    left_s: float
    where: str


class Actor(Protocol):
    """Acts every `period_s`, from the start of an episode on."""

    @property
    def period_s(self) -> float:
        """The time between two calls of `act`."""
        ...

    def act(self, world: LaneView) -> Sequence[Event]:
        """What happens now."""
        ...

    def accounts(self, world: LaneView) -> tuple[Account, ...]:
        """What has been sent so far, in that order."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How a person takes what is held out: not at all, or with this force for a while before it is pulled.

    The force is along the way out of the robot's hand; one that is negative pushes it back.
    """

    away: bool = False
    first_n: float = 0.0
    first_s: float = 0.0


@runtime_checkable
class Meeting(Protocol):
    """An actor with a person, if there is one, whose manner may change."""

    @property
    def attended(self) -> bool:
        """Whether a person is there."""
        ...

    def behave(self, manner: Manner) -> None:
        """Take the next thing in this manner; a person that goes away stays away."""
        ...
