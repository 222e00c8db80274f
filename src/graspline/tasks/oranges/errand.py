"""One orange from where it lies to a free spot, planned as a whole before anything moves.

The sampler that certifies scenes and the state that executes call the same function.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graspline.grasping.topdown import GraspPlan, plan_grasp
from graspline.motion.path import Command, at_rest
from graspline.perception.beliefs import Belief
from graspline.perception.held import HeldObject
from graspline.placement.carry import no_support, plan_carry
from graspline.placement.held import held_ball
from graspline.placement.plate import Plate, Resting
from graspline.placement.query import CarryPlan, CarryQuery, Support
from graspline.placement.spots import spots
from graspline.planning.collision import CollisionWorld
from graspline.planning.together import Planning, together
from graspline.refusal import Refusal
from graspline.robots.robot import Robot
from graspline.tasks.oranges.parameters import Oranges

Array = NDArray[np.float64]

# Grasps of one orange for which the rest of the way is planned too.
_GRASPS = 4
# Spots for which a way is sought; the plate offers up to a hundred, of which neighbours are much alike.
_SPOTS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """The whole way of one orange."""

    pick: GraspPlan
    carry: CarryPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """What an errand depends on besides the robot: the orange, everything around it, and the plate's free room."""

    target: Belief
    # Everything else, a real plate included.
    around: tuple[Belief, ...]
    plate: Plate
    resting: tuple[Resting, ...]
    still_to_come_m: tuple[float, ...]


@together
def plan_errand(
    robot: Robot, world: CollisionWorld, where: Where, start: Command, settings: Oranges, tried: tuple[str, ...] = ()
) -> Planning[Errand | Refusal]:
    """A grasp and a way to a spot that pass every check, or why there are none."""
    free = free_spots(where, settings)
    if not free:
        return Refusal(check="plate_full", evidence=no_support(where.target.name).evidence)
    refusal: Refusal | None = None
    skipped: tuple[str, ...] = tried
    for _ in range(_GRASPS):
        pick = yield from plan_pick.steps(robot, world, where, start, settings, skipped)
        if isinstance(pick, Refusal):
            return refusal or Refusal(check="unreachable", evidence=pick.evidence)
        if refusal is not None and pick.grasp.label in skipped:
            return refusal
        held = nominal_hold(robot, pick, settings)
        top = np.append(pick.lift.end[robot.arm], held.jaw_rad)
        carry = yield from plan_way.steps(robot, world, where, held, at_rest(top), settings, free)
        if isinstance(carry, CarryPlan):
            return Errand(pick=pick, carry=carry)
        refusal = refusal or Refusal(check="plate_unreachable", evidence=carry.evidence)
        skipped = (*skipped, pick.grasp.label)
    assert refusal is not None
    return refusal


def free_spots(where: Where, settings: Oranges) -> list[tuple[float, float]]:
    """Spots on the plate to try, best first; near ones of many that are much alike are left out."""
    found = spots(where.plate, where.target.radius_m, where.resting, where.still_to_come_m, settings.spots)
    return [(each.x_m, each.y_m) for each in found]


@together
def plan_pick(
    robot: Robot,
    world: CollisionWorld,
    where: Where,
    start: Command,
    settings: Oranges,
    tried: tuple[str, ...] = (),
) -> Planning[GraspPlan | Refusal]:
    """The grasp alone, raised as high as oranges are carried."""
    raised = settings.carry.clear_height_m + where.target.radius_m - float(where.target.position_m[2])
    reach = settings.reach.whole(lift_m=max(raised, 0.02))
    return plan_grasp.steps(
        robot, world, where.target, start, settings.jaw.whole(), reach, tried, others=where.around, posture_apart=True
    )


@together
def plan_way(
    robot: Robot,
    world: CollisionWorld,
    where: Where,
    held: HeldObject,
    start: Command,
    settings: Oranges,
    free: Sequence[tuple[float, float]],
    planned: CarryPlan | None = None,
) -> Planning[CarryPlan | Refusal]:
    """The carrying alone, from wherever the hand is."""
    query = carry_query(robot, world, held, start, where.around, settings, planned)
    supports = [Support(x_m=x, y_m=y, z_m=where.plate.floor_m) for x, y in _unlike(free)]
    return plan_carry.steps(query, supports)


def carry_query(
    robot: Robot,
    world: CollisionWorld,
    held: HeldObject,
    start: Command,
    obstacles: tuple[Belief, ...],
    settings: Oranges,
    planned: CarryPlan | None = None,
) -> CarryQuery:
    """Carrying as this task does it, half of its distance to joint limits kept."""
    margin_rad = settings.reach.joint_margin_rad / 2
    return CarryQuery(
        robot=robot,
        world=world,
        held=held,
        start=start,
        obstacles=obstacles,
        settings=settings.carry,
        margin_rad=margin_rad,
        planned=planned,
    )


def _unlike(free: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The best spots that are at least a centimetre apart."""
    chosen: list[tuple[float, float]] = []
    for spot in free:
        if all(math.dist(spot, other) >= 0.01 for other in chosen):
            chosen.append(spot)
        if len(chosen) == _SPOTS:
            break
    return chosen


def nominal_hold(robot: Robot, pick: GraspPlan, settings: Oranges) -> HeldObject:
    """Where an orange sits in the hand once the fixed jaw has come up to it and the other has closed."""
    grasp, radius = pick.grasp, pick.grasp.width_m / 2
    centre = (grasp.tool_m[0], 0.0, robot.hand.across_m(0.0, radius))
    jaw_rad = grasp.touch_rad - settings.close.squeeze_rad * robot.jaw_unit
    return held_ball("", centre, radius, jaw_rad=jaw_rad, branch=pick.branch)


def with_room(settings: Oranges, hair_rad: float) -> Oranges:
    """The same with a hair more distance to joint limits: what is certified settles a little before it is looked at."""
    reach = settings.reach.model_copy(update={"joint_margin_rad": settings.reach.joint_margin_rad + hair_rad})
    return settings.model_copy(update={"reach": reach})


def at_spot(target: Belief, spot: tuple[float, float], plate: Plate) -> Belief:
    """The orange where it will lie."""
    return replace(target, position_m=np.array([*spot, plate.floor_m + target.radius_m]))
