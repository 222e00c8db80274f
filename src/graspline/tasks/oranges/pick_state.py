"""One orange's way to the plate, planned as a whole before anything moves, and what the states hand to each other.

The sampler that certifies scenes and the state that executes call the same planner.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graspline.execution.requests import Reply, Request
from graspline.grasping.topdown import GraspPlan, plan_grasp
from graspline.kinematics.arms import arm_of
from graspline.motion.path import Command, at_rest
from graspline.perception.core.beliefs import Belief
from graspline.perception.core.held import HeldObject
from graspline.placement.carry import no_support, plan_carry
from graspline.placement.held import held_ball
from graspline.placement.plate import Plate, Resting, inside_m
from graspline.placement.query import CarryPlan, CarryQuery, Support
from graspline.placement.spots import spots
from graspline.planning.batched_planning import Planning, together
from graspline.planning.collision import CollisionWorld
from graspline.refusal import Refusal
from graspline.robots.robot import Robot
from graspline.tasks.oranges.parameters import Oranges
from graspline.tasks.oranges.sight import FruitEye, Survey, lying, plate_shape
from graspline.tasks.stages.grasp import HoldReference

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
    """What a plan depends on besides the robot: the orange, its surroundings, and free room on the plate."""

    target: Belief
    # Everything else, a real plate included.
    around: tuple[Belief, ...]
    plate: Plate
    resting: tuple[Resting, ...]
    still_to_come_m: tuple[float, ...]


@together
def plan_pick_and_place(
    world: CollisionWorld, where: Where, start: Command, settings: Oranges, tried: tuple[str, ...] = ()
) -> Planning[Errand | Refusal]:
    """A grasp and a way to a spot that pass every check, or why there are none."""
    free = free_spots(where, settings)
    if not free:
        return Refusal(check="plate_full", evidence=no_support(where.target.name).evidence)
    refusal: Refusal | None = None
    skipped: tuple[str, ...] = tried
    for _ in range(_GRASPS):
        pick = yield from plan_pick.steps(world, where, start, settings, skipped)
        if isinstance(pick, Refusal):
            return refusal or Refusal(check="unreachable", evidence=pick.evidence)
        if refusal is not None and pick.grasp.label in skipped:
            return refusal
        held, top = nominal_hold(pick, settings)
        carry = yield from plan_way.steps(world, where, held, top, settings, free)
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
    world: CollisionWorld, where: Where, start: Command, settings: Oranges, tried: tuple[str, ...] = ()
) -> Planning[GraspPlan | Refusal]:
    """The grasp alone, raised as high as oranges are carried."""
    raised = settings.carry.clear_height_m + where.target.radius_m - float(where.target.position_m[2])
    reach = settings.reach.whole(lift_m=max(raised, 0.02))
    jaw = settings.jaw.whole()
    return plan_grasp.steps(
        world.robot, world, where.target, start, jaw, reach, tried, others=where.around, posture_apart=True
    )


@together
def plan_way(
    world: CollisionWorld,
    where: Where,
    held: HeldObject,
    start: Command,
    settings: Oranges,
    free: Sequence[tuple[float, float]],
    planned: CarryPlan | None = None,
) -> Planning[CarryPlan | Refusal]:
    """The carrying alone, from wherever the hand is."""
    query = carry_query(world, held, start, where.around, settings, planned)
    supports = [Support(x_m=x, y_m=y, z_m=where.plate.floor_m) for x, y in _unlike(free)]
    return plan_carry.steps(query, supports)


def carry_query(
    world: CollisionWorld,
    held: HeldObject,
    start: Command,
    obstacles: tuple[Belief, ...],
    settings: Oranges,
    planned: CarryPlan | None = None,
) -> CarryQuery:
    """Carrying as this task does it, half of its distance to joint limits kept."""
    return CarryQuery(
        world=world,
        held=held,
        start=start,
        obstacles=obstacles,
        settings=settings.carry,
        margin_rad=settings.reach.joint_margin_rad / 2,
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


def nominal_hold(pick: GraspPlan, settings: Oranges) -> tuple[HeldObject, Command]:
    """Where an orange sits in the hand once the fixed jaw has come up to it and the other has closed; and the arm as
    it is then with the orange raised."""
    robot, grasp, radius = settings.the_robot, pick.grasp, pick.grasp.width_m / 2
    centre = (grasp.tool_m[0], 0.0, robot.hand.across_m(0.0, radius))
    jaw_rad = grasp.touch_rad - settings.close.squeeze_rad * robot.jaw_unit
    held = held_ball("", centre, radius, jaw_rad=jaw_rad, branch=pick.branch)
    return held, at_rest(np.append(pick.lift.end[robot.arm], jaw_rad))


def in_gripper_m(reply: Reply, robot: Robot, point_m: Array) -> Array:
    """A point (3,) in W as it is in the gripper frame, by the joints."""
    origin, rotation = arm_of(robot).forward(reply.readings.joints[None, robot.arm], np.zeros(3))
    return rotation[0].T @ (point_m - origin[0])


def with_room(settings: Oranges, hair_rad: float) -> Oranges:
    """The same with a hair more distance to joint limits: what is certified settles a little before it is looked at."""
    reach = settings.reach.model_copy(update={"joint_margin_rad": settings.reach.joint_margin_rad + hair_rad})
    return settings.model_copy(update={"reach": reach})


def at_spot(target: Belief, spot: tuple[float, float], plate: Plate) -> Belief:
    """The orange where it will lie."""
    return replace(target, position_m=np.array([*spot, plate.floor_m + target.radius_m]))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OrangesCell:
    """What stays the same through an episode: what the robot must not touch, its eye, and the settings."""

    world: CollisionWorld
    eye: FruitEye
    settings: Oranges

    @property
    def robot(self) -> Robot:
        """The robot that picks."""
        return self.world.robot


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlacementRecord:
    """One attempt to place a fruit: where it came to lie, (3,) in the world, and whether that was verified."""

    name: str
    position_m: Array
    succeeded: bool
    time_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OrangesProgress:
    """What has been done so far: which oranges are asked for, what was put where, and what was tried."""

    wanted: tuple[str, ...] = ()
    # Every attempt to place one, in the order they were made.
    records: tuple[PlacementRecord, ...] = ()
    # Grasps tried for each orange since it was last placed.
    tried: tuple[tuple[str, str], ...] = ()
    # Oranges for which no plan was found since the last look from elsewhere.
    skipped: tuple[str, ...] = ()

    @property
    def placed(self) -> tuple[str, ...]:
        """Oranges that lie on the plate by the last attempt with each: one that was placed can be lost again."""
        latest = {each.name: each for each in self.records}
        return tuple(name for name, each in latest.items() if each.succeeded)

    def tried_for(self, name: str) -> tuple[str, ...]:
        """The grasps that were tried for an orange."""
        return tuple(label for orange, label in self.tried if orange == name)

    def untried(self, name: str) -> OrangesProgress:
        """No grasp of this orange has been tried where it lies now."""
        return replace(self, tried=tuple(each for each in self.tried if each[0] != name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One pick and place: the orange, what was seen when it was chosen, and the plan once there is one."""

    target: str
    survey: Survey
    where: Where
    plan: Errand | None = None
    # The orange in the hand, once it is there.
    held: HeldObject | None = None
    hold: HoldReference | None = None

    @property
    def pick(self) -> GraspPlan:
        """The grasp plan."""
        assert self.plan is not None
        return self.plan.pick

    @property
    def carry(self) -> CarryPlan:
        """The plan that carries and places."""
        assert self.plan is not None
        return self.plan.carry

    @property
    def reference(self) -> HoldReference:
        """The hold that guards compare with."""
        assert self.hold is not None
        return self.hold

    @property
    def in_hand(self) -> HeldObject:
        """What the hand holds."""
        assert self.held is not None
        return self.held

    def held_m(self, reply: Reply, robot: Robot) -> Array:
        """Where what is in the hand must be, by the joints."""
        return arm_of(robot).forward(reply.readings.joints[None, robot.arm], np.array(self.in_hand.centre_m))[0][0]

    def look(self, last: Reply, cell: OrangesCell) -> Generator[Request, Reply, Survey]:
        """Everything as it is now, with the orange in the hand."""
        return cell.eye.survey_holding(self.target, self.held_m(last, cell.robot), self.survey)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenJob:
    """A planned pick and place, and the progress so far."""

    job: Job
    progress: OrangesProgress


@dataclass(frozen=True, slots=True, kw_only=True)
class Working:
    """A pick and place that is being done."""

    job: Job


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """A pick and place with the orange in the hand."""

    job: Job
    # What the hand holds, where only the fact that it holds something is known.
    held: HeldObject | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotedProgress:
    """The progress so far."""

    progress: OrangesProgress


def on_plate(survey: Survey, settings: Oranges) -> dict[str, Belief]:
    """Oranges that by this look lie inside the rim, on the plate's floor."""
    if survey.plate is None:
        return {}
    plate, rest = plate_shape(survey.plate), settings.rest
    found = {}
    for name, each in survey.things.items():
        if each.shape == "ball":
            x, y, z = each.position_m - survey.plate.position_m
            height = abs(z - plate.floor_m - each.radius_m)
            inside = x * x + y * y <= inside_m(plate, rest.inside_margin_m) ** 2
            if inside and height <= rest.height_m + 6 * each.position_sigma_m:
                found[name] = each
    return found


def where_of(target: str, survey: Survey, wanted: tuple[str, ...], settings: Oranges) -> Where:
    """What a pick-and-place plan depends on, by one look. The plate must have been seen."""
    assert survey.plate is not None
    plate = plate_shape(survey.plate)
    placed = on_plate(survey, settings)
    things = {name: lying(each, survey.plate) for name, each in survey.things.items()}
    around = replace(survey, things=things).others(target)
    inside = [each for name, each in things.items() if name != target and _over(each, plate)]
    to_come = [name for name in wanted if name in things and name not in placed and name != target]
    return Where(
        target=things[target],
        around=around,
        plate=plate,
        resting=tuple(
            Resting(
                name=each.name,
                x_m=float(each.position_m[0]),
                y_m=float(each.position_m[1]),
                radius_m=float(each.half_extents_m[:2].max()),
            )
            for each in inside
        ),
        still_to_come_m=tuple(things[name].radius_m for name in to_come),
    )


def _over(thing: Belief, plate: Plate) -> bool:
    apart = np.hypot(thing.position_m[0] - plate.x_m, thing.position_m[1] - plate.y_m)
    return bool(apart < plate.radius_m + thing.half_extents_m[:2].max())
