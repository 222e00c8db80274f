"""Where faults strike in a room: what is in the hand, what the task spoke of, or what it will turn to next."""

from __future__ import annotations

import numpy as np

from graspline.faults.context import FaultContext
from graspline.faults.hints import FaultHints
from graspline.perception.core.beliefs import UNKNOWN
from graspline.scenes.fittings import TABLE
from graspline.tasks.tidy.fault_surfaces import stands_on
from graspline.tasks.tidy.goal import level_of
from graspline.tasks.tidy.parameters import Tidy

# What is this close to a person's palm is in that hand.
_IN_HAND_M = 0.15
# What is this close to the robot's hand is what it reaches for.
_AT_HAND_M = 0.25


def _meant(context: FaultContext) -> str:
    """What is in the hand, or was spoken of, or what the task will turn to: the nearest on the table.

    Where the task knows no name, it means something unknown; of several, the one before the hand, or else the one
    nearest to the robot.
    """
    tool, here = context.tool_m(), context.here()
    if context.pressed():
        return context.nearest(here, tool)
    here = [name for name in here if not _given(context, name)]
    unknown = [name for name in here if context.spoken_of == UNKNOWN and name.startswith(UNKNOWN)]
    alike = [name for name in here if name == context.spoken_of] or unknown
    laid = [name for name in alike or here if stands_on(context, TABLE, TABLE.levels[0], name)]
    at_hand = [name for name in alike if np.linalg.norm(context.position_m(name) - tool) < _AT_HAND_M]
    return context.nearest(at_hand, tool) or context.nearest(laid or alike, context.base_m())


def _given(context: FaultContext, name: str) -> bool:
    """Whether a person has it."""
    at = context.position_m(name)
    return any(np.linalg.norm(context.position_m(person) - at) < _IN_HAND_M for person in context.scene.people)


def _bay_of(parameters: Tidy, name: str) -> str:
    return level_of(parameters, name).name


FAULT_HINTS = FaultHints(
    target=_meant,
    bay_of=_bay_of,
    # Boxes slide 2 cm, and what is slender falls over; balls roll.
    shove_m_s={"box": 0.8, "cylinder": 0.8, "ball": 0.2},
    hit_m=0.35,
    jam_creep=0.01,
)
