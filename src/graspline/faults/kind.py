"""What a fault is: a name, a sentence, what it needs, and what it does to the world."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from graspline.faults.context import FaultContext, Timed
from graspline.scenes.scene import Scene


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsed:
    """What undisturbed episodes show of one state, and of whole episodes."""

    # Whether both pads pressed on something in some visit of the state, and in every visit.
    ever_gripping: bool
    always_gripping: bool
    # Whether the task used a camera or an estimate, and whether a person came, in any episode.
    looked: bool
    met: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """One thing there must be for a fault. Each check returns why it is missing, or nothing."""

    # For lists of faults, such as "an object in the hand".
    words: str
    in_scene: Callable[[Scene], str] = lambda scene: ""
    in_state: Callable[[Rehearsed], str] = lambda rehearsed: ""
    now: Callable[[FaultContext], str] = lambda context: ""
    # The name of what a fault with this need strikes; empty if that is no object or place.
    struck: Callable[[FaultContext], str] = lambda context: ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultKind:
    """A fault that can be injected, `--fault NAME@STATE`: what it needs, and the events that it causes.

    Events and needs are in `graspline.faults`.

    >>> from graspline import FAULTS
    >>> drop = FAULTS["drop"]
    >>> drop.recoverable, [need.words for need in drop.needs]
    (True, ['an object in the hand'])
    """

    name: str
    # One sentence that says what happens.
    description: str
    # What it does, as events with the seconds after the strike at which they happen.
    strike: Callable[[FaultContext], list[Timed]]
    needs: tuple[Need, ...] = ()
    # Why it cannot be done at this moment although all its needs are met; nothing if it can.
    hindered: Callable[[FaultContext], str] = lambda context: ""
    # Whether a task is expected to recover from it; otherwise a failure with a name is all it may leave.
    recoverable: bool = False
    # Whether it strikes as the state is entered and not with the next tick, since the state may look at once.
    at_once: bool = False

    def missing_in(self, scene: Scene) -> str:
        """Why it can never strike in a scene; nothing if it can."""
        return next(filter(None, (need.in_scene(scene) for need in self.needs)), "")

    def senseless_in(self, rehearsed: Rehearsed) -> str:
        """Why it makes no sense in a state, by undisturbed episodes; nothing if it does."""
        return next(filter(None, (need.in_state(rehearsed) for need in self.needs)), "")

    def missing_now(self, context: FaultContext) -> str:
        """Why it cannot strike at this moment; nothing if it can."""
        return next(filter(None, (need.now(context) for need in self.needs)), "") or self.hindered(context)

    def struck(self, context: FaultContext) -> str:
        """The name of what it strikes, if that is one object or place."""
        return next(filter(None, (need.struck(context) for need in self.needs)), "")
