"""Taking an object from above and putting it down somewhere else, planned as a whole before anything moves.

The sampler that certifies scenes and the state that executes call the same function.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graspline.grasping.candidates import JawParameters
from graspline.grasping.cartesian_lines import ReachParameters
from graspline.grasping.topdown import GraspPlan, plan_grasp
from graspline.motion.path import Command, at_rest
from graspline.perception.core.beliefs import Belief
from graspline.perception.core.held import HeldObject
from graspline.placement.carry import plan_carry
from graspline.placement.held import held_after
from graspline.placement.parameters import PlaceParameters
from graspline.placement.query import CarryQuery, Support
from graspline.planning.batched_planning import Planning, together
from graspline.planning.collision import CollisionWorld
from graspline.refusal import Refusal

# Grasps for which the rest of the way is planned too.
_GRASPS = 4
# How much higher than it has to be over its support an object is lifted.
_HIGHER_M = 0.004
# It is lifted by no less than this, and fingertips come down from no less than this over it.
_LEAST_LIFT_M, _LEAST_STANDOFF_M = 0.01, 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferQuery:
    """What taking an object and putting it down depends on. Grasps that were `tried` before come last."""

    world: CollisionWorld
    estimate: Belief
    start: Command
    support: Support
    others: tuple[Belief, ...]
    jaw: JawParameters
    reach: ReachParameters
    put: PlaceParameters
    tried: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """A grasp from straight above after which the object can be put down, and how it will be in the hand."""

    plan: GraspPlan
    held: HeldObject


@together
def plan_transfer(query: TransferQuery) -> Planning[Transfer | Refusal]:
    """The best grasp that passes every check, the way to the support and away from it included; or why none does.

    Where the arm cannot come down from as high as usual, or lift as high, it goes as low as it may.
    """
    found = yield from _planned(query, query.jaw, _lifting(query, query.reach.lift_m))
    if isinstance(found, Refusal):
        low = query.jaw.model_copy(update={"standoff_m": min(query.jaw.standoff_m, _LEAST_STANDOFF_M)})
        again = yield from _planned(query, low, _lifting(query, 0.0))
        found = found if isinstance(again, Refusal) else again
    return found


def _planned(query: TransferQuery, jaw: JawParameters, reach: ReachParameters) -> Planning[Transfer | Refusal]:
    robot, tried = query.world.robot, query.tried
    refusal: Refusal | None = None
    for _ in range(_GRASPS):
        plan = yield from plan_grasp.steps(
            robot, query.world, query.estimate, query.start, jaw, reach, tried, query.others
        )
        if isinstance(plan, Refusal):
            return refusal or plan
        if refusal is not None and plan.grasp.label in tried:
            break
        held = held_after(robot, query.estimate, plan.grasp, plan.branch)
        carry = CarryQuery(
            world=query.world,
            held=held,
            start=at_rest(np.append(plan.lift.end[robot.arm], plan.grasp.touch_rad)),
            obstacles=query.others,
            settings=query.put.whole(),
            margin_rad=reach.joint_margin_rad / 2,
        )
        down = yield from plan_carry.steps(carry, (query.support,))
        if not isinstance(down, Refusal):
            return Transfer(plan=plan, held=held)
        refusal = refusal or down
        tried = (*tried, plan.grasp.label)
    assert refusal is not None
    return refusal


def _lifting(query: TransferQuery, high_m: float) -> ReachParameters:
    """Straight down, as things are put down; lifted so high over the table, but at least over what it is put on."""
    bottom_m = max(float(query.estimate.position_m[2]) - query.estimate.half_height_m, 0.0)
    over_m = query.support.z_m + query.put.clearance_m + _HIGHER_M
    lift_m = max(max(high_m, over_m) - bottom_m, _LEAST_LIFT_M)
    return query.reach.model_copy(update={"lift_m": lift_m, "max_tilt_rad": 0.0})
