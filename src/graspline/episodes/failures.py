"""How an episode failed, named by truth, with the measurements that decided it.

The modes, in the order of how far an episode got, and what each means. Nothing here knows a task: what is held and what
is placed is what the task's own claims say by truth.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from graspline.episodes.hand_contacts import HELD_S, Handling, HandlingTracker
from graspline.evidence import Evidence, at_least, at_most, failures

NEVER_REACHED, MISSED, PUSHED_AWAY, SLIPPED = "never_reached", "missed", "pushed_away", "slipped"
DROPPED, NOT_PLACED, PARTLY_DONE, OUT_OF_TIME = "dropped", "not_placed", "partly_done", "out_of_time"
MODES: Mapping[str, str] = MappingProxyType(
    {
        NEVER_REACHED: "the hand never came near an object it was to take",
        MISSED: "the hand came near an object and never held it",
        PUSHED_AWAY: "an object that was never held was pushed away, or off what it lay on",
        SLIPPED: "an object was held and lost before it was raised",
        DROPPED: "an object was raised and fell",
        NOT_PLACED: "an object was raised and let go low, where it does not count",
        PARTLY_DONE: "a part of what was asked for is done",
        OUT_OF_TIME: "at the end the hand held an object or was closing in on one, or every object was in place",
        "policy_error": "the policy gave no action",
        "physics_diverged": "the simulation broke down",
    }
)

# The middle of the pads within this distance of an object's bounding box is near it: about half an open jaw.
NEAR_M = 0.03
# An object this far from where it lay has been pushed away; one this far below has fallen off what it lay on.
PUSHED_M = 0.05
FALLEN_M = 0.05
# An object this high above where it was taken has been raised; one that fell this far was dropped, not let go.
RAISED_M = 0.02
FELL_M = 0.02
# A hand that came closer by this much within the last second was closing in.
CLOSING_IN_M = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """How an episode failed: the mode, the object it is about, and what was measured."""

    mode: str
    about: str = ""
    # The telling moment: the closest approach, or when the object was held last before it was lost.
    t_s: float | None = None
    moment: Literal["", "closest", "last_held"] = ""
    evidence: Evidence = ()
    # Objects asked for, and those of them that are where they belong.
    wanted: tuple[str, ...] = ()
    done: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "mode": self.mode,
            "about": self.about,
            "t_s": None if self.t_s is None else round(self.t_s, 6),
            "moment": self.moment,
            "evidence": [each.as_dict() for each in self.evidence],
            "wanted": list(self.wanted),
            "done": list(self.done),
        }


def failure_of(verdict: str, tracker: HandlingTracker, goal: Evidence) -> Failure:
    """Name how an episode failed that ended with a verdict and with this of its goal."""
    done, wanted = tracker.done(), tracker.wanted
    left = {name: each for name, each in tracker.objects.items() if name not in done}
    if verdict != OUT_OF_TIME or not tracker.objects:
        return Failure(mode=verdict, wanted=wanted, done=done)
    if not left:
        return Failure(mode=OUT_OF_TIME, evidence=failures(goal), wanted=wanted, done=done)
    name = min(left, key=lambda each: (-_stage(left[each]), left[each].closest_m))
    mode, evidence = _mode(left[name], tracker.closing_in_m(name))
    part = _part(done, wanted, goal)
    if part and mode != OUT_OF_TIME:
        # The object that came next tells why the rest is not done.
        mode, evidence = PARTLY_DONE, (*part, *evidence)
    lost_s, closest_s = left[name].lost_s, left[name].closest_s
    return Failure(
        mode=mode,
        about=name,
        t_s=closest_s if lost_s is None else lost_s,
        moment="closest" if lost_s is None else "last_held",
        evidence=evidence,
        wanted=wanted,
        done=done,
    )


def _stage(handling: Handling) -> int:
    """How far it got with an object: not near, near, held, raised, in the hand now."""
    if handling.in_hand:
        return 4
    if handling.was_held:
        return 3 if handling.raised_m >= RAISED_M else 2
    return 1 if handling.closest_m <= NEAR_M else 0


def _mode(handling: Handling, closing_in_m: float) -> tuple[str, Evidence]:
    """The mode of an object that is not where it belongs, and what decided it."""
    raised = at_least("raised", handling.raised_m, RAISED_M, "m")
    if handling.in_hand:
        return OUT_OF_TIME, (at_least("held", handling.held_s, HELD_S, "s"), raised)
    if handling.was_held:
        fell = at_least("fell", handling.fell_m, FELL_M, "m")
        if not raised.passed:
            return SLIPPED, (at_least("held", handling.held_s, HELD_S, "s"), raised)
        return (DROPPED if fell.passed else NOT_PLACED), (raised, fell)
    closing_in = at_least("closing_in", closing_in_m, CLOSING_IN_M, "m")
    near = at_most("closest_approach", handling.closest_m, NEAR_M, "m")
    if closing_in.passed:
        return OUT_OF_TIME, (closing_in, near)
    pushed = at_least("pushed", handling.pushed_m, PUSHED_M, "m")
    fallen = at_least("fallen", handling.fallen_m, FALLEN_M, "m")
    if pushed.passed or fallen.passed:
        return PUSHED_AWAY, (pushed, fallen)
    if not near.passed:
        return NEVER_REACHED, (near,)
    return MISSED, (near, at_least("held", handling.held_s, HELD_S, "s"))


def _part(done: tuple[str, ...], wanted: tuple[str, ...], goal: Evidence) -> Evidence:
    """What says that a part is done: objects that are where they belong, or a count of the goal if none are named."""
    if wanted:
        return (at_least("objects_done", len(done), len(wanted)),) if done else ()
    return tuple(each for each in goal if each.relation == ">=" and not each.unit and 0 < each.value < each.limit)
