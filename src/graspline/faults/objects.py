"""Faults of the object that a task works on: it is dropped, shoved or taken away."""

from __future__ import annotations

import numpy as np

from graspline.engine.events import Change, Place, Push
from graspline.faults.context import FaultContext, Timed
from graspline.faults.kind import FaultKind
from graspline.faults.needs import HELD, OBJECT
from graspline.scenes.variation import Edit, friction_of, weight_of

# Pads as slippery as oil; an object falls out of them within this time.
_OILED = (0.01, 0.0001, 0.00001)
_OILED_S = 0.3
# What helps it out: the jaws of an SO-101 lean and may wedge a cube even without friction.
_DROP_N = 2.0
# A shove gives the object its speed within this time, less what friction takes meanwhile.
_SHOVE_S = 0.05
# Where taken objects are put that have no parking place, one beside the other.
_FAR_AWAY_M = (3.0, 3.0)
_APART_M = 0.3


def released(body: str) -> Push:
    """No force on a body from now on. For goals, one that was pushed is not as the robot left it."""
    return Push(body=body, force_n=(0.0, 0.0, 0.0))


def _drop(context: FaultContext) -> list[Timed]:
    pads = context.scene.robot.pads
    before = tuple(
        Edit(field="geom_friction", element=geom, values=context.number("geom_friction", geom)) for geom in pads
    )
    return [
        (0.0, Change(edits=friction_of(pads, _OILED))),
        (0.0, Push(body=context.target, force_n=(0.0, 0.0, -_DROP_N))),
        (_OILED_S, released(context.target)),
        (_OILED_S, Change(edits=before)),
        *_may_be_hit(context),
    ]


def _may_be_hit(context: FaultContext) -> list[Timed]:
    """Pushes without force at what the object may hit."""
    at, reach_m = context.position_m(context.target), context.hints.hit_m
    others = [name for name in context.scene.object_names if name != context.target] if reach_m else []
    near = [name for name in others if np.linalg.norm((context.position_m(name) - at)[:2]) < reach_m]
    return [(0.0, released(name)) for name in near]


def _shove(context: FaultContext) -> list[Timed]:
    speed_m_s = context.hints.shove_m_s[context.scene.object(context.target).shape]
    angle = context.random.uniform(-np.pi, np.pi)
    force = context.mass_kg(context.target) * speed_m_s / _SHOVE_S
    push = Push(body=context.target, force_n=(force * float(np.cos(angle)), force * float(np.sin(angle)), 0.0))
    return [(0.0, push), (_SHOVE_S, released(context.target)), *_may_be_hit(context)]


def _remove(context: FaultContext) -> list[Timed]:
    context.taken.append(context.target)
    parked_m = context.scene.object(context.target).parked_m
    if parked_m is not None:
        # Where objects are parked there is nothing to stand on.
        return [
            (0.0, released(context.target)),
            (0.0, Change(edits=(weight_of(context.target, weightless=True),))),
            (0.0, Place(body=context.target, position_m=parked_m)),
        ]
    x, y = _FAR_AWAY_M
    z = float(context.half_extents_m(context.target)[2])
    return [(0.0, Place(body=context.target, position_m=(x, y + _APART_M * len(context.taken), z)))]


DROP = FaultKind(
    name="drop",
    description="The pads lose their grip for a moment, and something tugs at the object.",
    strike=_drop,
    needs=(HELD,),
    recoverable=True,
)
SHOVE = FaultKind(
    name="shove",
    description="A person pushes the object sideways.",
    strike=_shove,
    needs=(OBJECT,),
    recoverable=True,
)
REMOVE = FaultKind(
    name="remove",
    description="A person takes the object away.",
    strike=_remove,
    needs=(OBJECT,),
)
