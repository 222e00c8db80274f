"""What faults need to know about a task's scene. Every default suits objects on a table in front of an arm."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from graspline.parameters import Parameters
from graspline.scenes.scene import ObjectShape

if TYPE_CHECKING:
    from graspline.faults.context import FaultContext

P = TypeVar("P", bound=Parameters)

# A box slides 4 mm over a table when it is shoved at this speed, a ball rolls 5 to 10 cm.
_TABLE_SHOVE_M_S: Mapping[ObjectShape, float] = {"box": 0.5, "mesh": 0.5, "cylinder": 0.4, "ball": 0.2}


def announced_target(context: FaultContext) -> str:
    """The object that the task announced last."""
    return context.target


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultHints(Generic[P]):
    """What faults need to know about a task's scene: what they strike, and how hard.

    >>> from graspline import FaultHints
    >>> FaultHints(hit_m=0.1).shove_m_s["ball"]
    0.2
    """

    # The object that the task works on at this moment, by ground truth; empty if there is none.
    target: Callable[[FaultContext], str] = announced_target
    # The same parameters with everything in the scene that faults may need.
    equipped: Callable[[P], P] = lambda parameters: parameters
    # The bay where an object belongs, by their names.
    bay_of: Callable[[P, str], str] = lambda parameters, name: ""
    # The speed that a shove gives an object, by its shape.
    shove_m_s: Mapping[ObjectShape, float] = field(default_factory=lambda: _TABLE_SHOVE_M_S)
    # An object that falls or is shoved may hit others this close to it. The log notes a push of each, so that a goal
    # that the others must not be moved does not blame the robot; 0 where no goal says so.
    hit_m: float = 0.0
    # How fast the full force of its servo may still move a jammed joint, in rad/s or m/s.
    jam_creep: float = math.inf
