"""What a fault of your own is made of: what it needs, the world as it finds it, and the events that it returns.

A fault is a `graspline.FaultKind`. Its function `strike` is given a `FaultContext` and returns events, each with the
seconds after the strike at which it happens:

>>> from graspline import FaultKind, faults
>>> def blow(context: faults.FaultContext) -> list[faults.Timed]:
...     gust = faults.Push(body=context.target, force_n=(0.2, 0.0, 0.0))
...     return [(0.0, gust), (0.2, faults.Push(body=context.target, force_n=(0.0, 0.0, 0.0)))]
>>> gust = FaultKind(name="gust", description="Wind pushes the object.", strike=blow, needs=(faults.OBJECT,))
>>> gust.needs[0].words
'an object to work on'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graspline.lazy_names import imported_when_used

if TYPE_CHECKING:
    from graspline.engine.events import Blind, Change, CorruptControl, Misjudge, Place, Push, Roughen, See
    from graspline.faults.context import FaultContext, Timed
    from graspline.faults.kind import Need
    from graspline.faults.needs import CAMERA, HELD, OBJECT, PERSON
    from graspline.scenes.variation import Edit

__all__ = [
    "CAMERA",
    "HELD",
    "OBJECT",
    "PERSON",
    "Blind",
    "Change",
    "CorruptControl",
    "Edit",
    "FaultContext",
    "Misjudge",
    "Need",
    "Place",
    "Push",
    "Roughen",
    "See",
    "Timed",
]

_EVENTS = ("Blind", "Change", "CorruptControl", "Misjudge", "Place", "Push", "Roughen", "See")
_HOMES = {
    **{name: f"graspline.engine.events:{name}" for name in _EVENTS},
    **{name: f"graspline.faults.needs:{name}" for name in ("CAMERA", "HELD", "OBJECT", "PERSON")},
    "Edit": "graspline.scenes.variation:Edit",
    "FaultContext": "graspline.faults.context:FaultContext",
    "Need": "graspline.faults.kind:Need",
    "Timed": "graspline.faults.context:Timed",
}

if not TYPE_CHECKING:
    # Hidden from type checkers, so that they report names that do not exist.
    __getattr__, __dir__ = imported_when_used(__name__, _HOMES)
