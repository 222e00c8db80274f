"""The whole pick of one thing, planned before anything moves: grab, lift, and a way to put it down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Evidence, at_most
from graspline.grasping.cartesian_lines import Lines, ToolLine
from graspline.grasping.commanded_grasp_values import Check, GrabPlan, GrabQuery, GrabRefusal
from graspline.grasping.nearest_feasible import plan_grab
from graspline.grasping.topdown import GraspPlan
from graspline.kinematics.arm import STRAIGHT_DOWN_RAD
from graspline.motion.path import at_rest
from graspline.perception.core.held import HeldObject
from graspline.placement.carry import plan_carry
from graspline.placement.held import held_after
from graspline.placement.parameters import PlaceParameters
from graspline.placement.query import CarryPlan, CarryQuery, Support
from graspline.refusal import Refusal

Array = NDArray[np.float64]

# Places are tried so far apart.
_PLACE_STEP_M = 0.01
# Lifts that are tried, over the one that is asked for.
_LIFTS = (1.0, 0.8, 0.6, 0.45)


@dataclass(frozen=True, slots=True, kw_only=True)
class PickPlan:
    """A grab, the motions that follow it, and how the thing will be in the hand."""

    grab: GrabPlan
    # The same grasp as the stages that all tasks share know it.
    plan: GraspPlan
    held: HeldObject


def plan_pick(
    query: GrabQuery,
    support: Support,
    settings: PlaceParameters,
    grabbed: Callable[[GrabQuery], GrabPlan | GrabRefusal] = plan_grab,
) -> PickPlan | GrabRefusal:
    """The grab, and if it passes its lift and a way to the spot; all of it checked."""
    grab = grabbed(query)
    if isinstance(grab, GrabRefusal):
        return grab
    name, straight = query.estimate.name, (STRAIGHT_DOWN_RAD, STRAIGHT_DOWN_RAD)
    lines = Lines(query.robot, query.reach, grab.grasp, grab.branch)
    heading = np.array([np.cos(grab.yaw_rad), np.sin(grab.yaw_rad), 0.0])
    centre = np.array(grab.centre_m)
    seated, found, lift_m = centre + grab.grasp.seat_m * heading, None, 0.0
    for share in _LIFTS:
        lift_m = share * query.reach.lift_m
        up = np.array([0.0, 0.0, lift_m])
        found = lines.plan(
            ToolLine("descend", centre + up, centre, straight, query.reach.descend_speed_m_s),
            ToolLine("seat", centre, seated, straight, query.reach.seat_speed_m_s),
            ToolLine("lift", centre, centre + up, straight, query.reach.lift_speed_m_s),
            ToolLine("lift", seated, seated + up, straight, query.reach.lift_speed_m_s),
        )
        if not isinstance(found, Refusal):
            break
    assert found is not None
    if isinstance(found, Refusal):
        return GrabRefusal(label=name, stage="lift", check="ik", evidence=found.evidence)
    descend, seat, lift, seated_lift = found
    seat.positions[0] = grab.final.joints_rad
    plan = GraspPlan(
        grasp=grab.grasp,
        pitch_rad=STRAIGHT_DOWN_RAD,
        top_pitch_rad=STRAIGHT_DOWN_RAD,
        branch=grab.branch,
        approach=grab.stages[0].path,
        posture=None,
        descend=descend,
        seat=seat,
        lift=lift,
        lift_m=lift_m,
    )
    along_m = query.robot.hand.tool_m[0] + float(centre[2]) - float(query.estimate.position_m[2])
    beside_m = query.estimate.position_m[:2] - centre[:2]
    held = held_after(query.robot, query.estimate, grab.grasp, grab.branch, along_m, beside_m)
    for lifted in (lift, seated_lift):
        carry = CarryQuery(
            world=query.world,
            held=held,
            start=at_rest(np.append(lifted.end[query.robot.arm], held.jaw_rad)),
            obstacles=query.others,
            settings=settings.whole(),
            margin_rad=query.reach.joint_margin_rad / 2,
        )
        down = plan_carry(carry, (support,))
        if not isinstance(down, CarryPlan):
            return _too_far(query, grab, support, settings) or GrabRefusal(
                label=name, stage="place", check=_check_of(down), evidence=down.evidence
            )
    return PickPlan(grab=grab, plan=plan, held=held)


def _too_far(query: GrabQuery, grab: GrabPlan, support: Support, settings: PlaceParameters) -> GrabRefusal | None:
    """A refusal that says so, with the farthest place towards there that works, if no hand gets there at all."""
    bounds = query.workspace.envelope(query.robot)
    axis = np.array(bounds.axis_m)
    way = np.array([support.x_m, support.y_m]) - axis
    # What is held lies half its width from the tip of the fixed jaw.
    radius, limit = float(np.hypot(*way)), bounds.radius_m[1] + grab.jaws.width_m / 2
    if radius <= limit:
        return None
    evidence = (at_most("place_distance_from_pan_axis", radius, limit, "m"),)
    refused = GrabRefusal(label=query.estimate.name, stage="place", check="workspace", evidence=evidence)
    for nearer_m in np.arange(limit - _PLACE_STEP_M, 0.1, -_PLACE_STEP_M):
        x, y = (float(each) for each in axis + way * (nearer_m / radius))
        if isinstance(plan_pick(query, Support(x_m=x, y_m=y), settings, lambda _: grab), PickPlan):
            return replace(refused, advice=f"the farthest place that works towards there is x {x:.3f} y {y:.3f} m")
    return replace(refused, advice="no place in that direction works")


def _check_of(refused: Refusal) -> Check:
    return "ik" if refused.check == "reach" else "limits" if refused.check == "limits" else "collision"


def as_evidence(rejected: GrabRefusal) -> Evidence:
    """What a rejection measured, each under the stage and check it belongs to."""
    return tuple(replace(each, name=f"{rejected.stage}.{rejected.check}.{each.name}") for each in rejected.evidence)
