"""What an object in the hand comes too close to on its way."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Evidence, at_least, failures
from graspline.kinematics.questions import Stances
from graspline.perception.beliefs import Belief
from graspline.placement.query import CarryQuery
from graspline.planning.together import Planning, together

Array = NDArray[np.float64]


@together
def held_clearance(query: CarryQuery, samples: Array, others: tuple[Belief, ...]) -> Planning[Evidence]:
    """What the object in the hand comes too close to along these joint positions (T, nu); empty if nothing.

    A ball is taken as it is, what is upright as a cylinder around it.
    """
    centre: Array = yield Stances(arm=query.arm, joints_rad=samples, tool_m=query.held.centre_m)
    held, clearance_m = query.held, query.settings.clearance_m
    found = []
    for other in others:
        apart, beside = other.distance_m(centre), np.ones(len(centre), bool)
        if not held.round:
            # Of two things that stand, only the part of the way counts on which they are at the same height.
            top_m = float(other.position_m[2] + other.half_extents_m[2]) if other.solid is None else other.top_m
            beside = centre[:, 2] - held.half_height_m < top_m + clearance_m
            apart = other.distance_m(np.column_stack([centre[:, :2], np.full(len(centre), other.position_m[2])]))
        if apart is None or not beside.any():
            continue
        gap_m = float(apart[beside].min()) - held.spread_m
        found.append(at_least(f"held_to_{other.name}", gap_m, clearance_m, "m"))
    return failures(tuple(found))
