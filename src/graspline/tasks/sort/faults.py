"""Faults of a conveyor belt, and where faults strike on a sorting line."""

from __future__ import annotations

from graspline.engine.events import Change, Event
from graspline.faults.context import FaultContext, Timed
from graspline.faults.hints import FaultHints
from graspline.faults.kind import FaultKind, Need
from graspline.scenes.belt_line import BELT
from graspline.scenes.variation import Edit
from graspline.tasks.sort.parameters import Sort

# A belt that changes its speed runs at one of these shares of what was ordered.
_PACES = (0.6, 1.6)
_JAM_S = (2.0, 4.0)
_REVERSAL_S = 1.5
# The share of the ordered speed at which the belt runs now, among what faults remember.
_PACE = "belt_pace"
# Over a belt a block slides 3 cm when it is shoved at this speed.
_SHOVE_M_S = 0.8


def _nearest_to_hand(context: FaultContext) -> str:
    """The task knows no name for what rides past. It is in the hand, before it, or was just left by it."""
    return context.nearest(context.here(), context.tool_m())


FAULT_HINTS: FaultHints[Sort] = FaultHints(
    target=_nearest_to_hand,
    shove_m_s={"box": _SHOVE_M_S, "cylinder": _SHOVE_M_S, "ball": _SHOVE_M_S},
)
CONVEYOR = Need(
    words="a conveyor belt",
    in_scene=lambda scene: "" if BELT in scene.surfaces else "the scene has no belt",
)


def _change_speed(context: FaultContext) -> list[Timed]:
    context.memory[_PACE] = float(context.random.choice(_PACES))
    return [(0.0, _at_pace)]


def _jam(context: FaultContext) -> list[Timed]:
    return [(0.0, _at_share(context, 0.0)), (context.random.uniform(*_JAM_S), _at_pace)]


def _reverse(context: FaultContext) -> list[Timed]:
    return [(0.0, _at_share(context, -_pace(context))), (_REVERSAL_S, _at_pace)]


def _at_pace(context: FaultContext) -> Event:
    return _at_share(context, _pace(context))


def _pace(context: FaultContext) -> float:
    return context.memory.get(_PACE, 1.0)


def _at_share(context: FaultContext, share: float) -> Change:
    """The belt at a share of the speed that was ordered."""
    velocity = tuple(share * each for each in context.number("geom_surfacevel", BELT))
    return Change(edits=(Edit(field="geom_surfacevel", element=BELT, values=velocity),))


BELT_STEP = FaultKind(
    name="belt-step",
    description="The belt runs at 1.6 or 0.6 times its speed from now on.",
    strike=_change_speed,
    needs=(CONVEYOR,),
    recoverable=True,
)
BELT_JAM = FaultKind(
    name="belt-jam",
    description="The belt stops for 2 to 4 s, then continues.",
    strike=_jam,
    needs=(CONVEYOR,),
    recoverable=True,
)
BELT_REVERSE = FaultKind(
    name="belt-reverse",
    description="The belt runs backwards for 1.5 s, then as before.",
    strike=_reverse,
    needs=(CONVEYOR,),
    recoverable=True,
)
