"""Carrying what is in the hand to a place, letting go of it and leaving: the whole way, checked before it is played.

One planner for every support, be it a table, a plate or another object, and for every object: a ball may be put down
with the hand turned or leaning in any way, and is let go among others; what is upright is put down from straight above.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from graspline.evidence import at_least
from graspline.kinematics.arm import STRAIGHT_DOWN_RAD
from graspline.motion.path import Path
from graspline.perception.core.held import HeldObject
from graspline.placement.placing import TILT_STEP_RAD, Placing
from graspline.placement.query import CarryPlan, CarryQuery, Support
from graspline.planning.batched_planning import Planning, together
from graspline.refusal import Refusal

# An object that sits this near to where a plan believed it is carried by that plan.
_AS_PLANNED_M = 0.001


@together
def plan_carry(query: CarryQuery, supports: Sequence[Support]) -> Planning[CarryPlan | Refusal]:
    """The first support with a way to it and away from it that passes every check, or why the first has none."""
    refusal: Refusal | None = None
    for support in supports:
        found = yield from _to_support(query, support)
        if isinstance(found, CarryPlan):
            return found
        refusal = refusal or found
    return refusal or no_support(query.held.name)


def no_support(name: str) -> Refusal:
    """There is no place to put it at all."""
    return Refusal(label=name, stage="carry", check="no_spot", evidence=(at_least("free_spots", 0, 1),))


@together
def plan_raise(query: CarryQuery) -> Planning[Path | None]:
    """Straight up to carrying height from wherever the hand is, also out of a crowd it has come too close to.

    Nothing is farther from everything than up, so only limits are checked. None where the arm cannot get there.
    """
    here, now, settings = query.held_m(), query.posture(), query.settings
    top = here + np.array([0.0, 0.0, settings.clear_height_m + query.held.half_height_m - here[2]])
    if top[2] - here[2] < settings.already_there_m:
        return None
    way = Placing(query, Support(x_m=float(here[0]), y_m=float(here[1])), here, top)
    for pitch in sorted(
        STRAIGHT_DOWN_RAD - np.arange(0.0, settings.max_tilt_rad, TILT_STEP_RAD), key=lambda each: abs(each - now.pitch)
    ):
        path = yield from way.rise(now, float(pitch))
        if path is not None:
            return path
    return None


def _to_support(query: CarryQuery, support: Support) -> Planning[CarryPlan | Refusal]:
    planned = query.planned
    as_planned = planned is not None and planned.support == support and _alike(query.held, planned.held)
    if planned is not None and as_planned:
        query = replace(query, held=replace(planned.held, jaw_rad=query.held.jaw_rad))
    held, settings, here = query.held, query.settings, query.held_m()
    target = np.array([support.x_m, support.y_m, support.z_m + held.half_height_m + settings.gap_m])
    height = settings.clear_height_m + held.half_height_m if settings.clear_height_m else float(here[2])
    above = np.array([support.x_m, support.y_m, height])
    there = float(np.linalg.norm(here - above)) <= settings.already_there_m
    placing = Placing(query, support, target, here if there else above)
    if planned is not None and not there:
        found = yield from placing.plan(planned.posture, planned if as_planned else None)
        if isinstance(found, CarryPlan):
            return found
    postures = [query.posture()] if there else (yield from placing.postures())
    if isinstance(postures, Refusal):
        return postures
    refusal: Refusal | None = None
    for posture in postures:
        found = yield from placing.plan_from_here(posture) if there else placing.plan(posture)
        if isinstance(found, CarryPlan):
            return found
        refusal = refusal or found
    assert refusal is not None
    return refusal


def _alike(held: HeldObject, planned: HeldObject) -> bool:
    apart = np.subtract(held.centre_m, planned.centre_m)
    same = (held.spread_m, held.branch) == (planned.spread_m, planned.branch)
    return same and bool(np.abs(apart).max() <= _AS_PLANNED_M)
