"""What many faults need: an object, one in the hand, a camera, a person."""

from __future__ import annotations

from graspline.engine.actors import Meeting
from graspline.faults.context import FaultContext
from graspline.faults.kind import Need


def no_target(context: FaultContext) -> str:
    """Why no object can be struck; nothing if one can."""
    if not context.target:
        return "no object is there"
    return "" if context.is_here(context.target) else f"{context.target} is not on the table"


def target_of(context: FaultContext) -> str:
    """The name of the object that the fault affects."""
    return context.target


def _not_in_hand(context: FaultContext) -> str:
    return no_target(context) if context.pressed() else "nothing in the hand"


def _no_person(context: FaultContext) -> str:
    return "" if isinstance(context.actor, Meeting) and context.actor.attended else "no person is there"


OBJECT = Need(words="an object to work on", now=no_target, struck=target_of)
"""There is an object that the task works on."""
HELD = Need(
    words="an object in the hand",
    in_state=lambda rehearsed: "" if rehearsed.ever_gripping else "nothing in the hand",
    now=_not_in_hand,
    struck=target_of,
)
"""The object that the task works on is in the hand."""
CAMERA = Need(words="a camera", in_state=lambda rehearsed: "" if rehearsed.looked else "the task never looks")
"""The task looks with a camera or an estimator."""
PERSON = Need(
    words="a person to hand over to",
    in_scene=lambda scene: "" if scene.people else "the scene has no person",
    in_state=lambda rehearsed: "" if rehearsed.met else "no person ever comes",
    now=_no_person,
)
"""A person is there that the robot hands something over to."""
