"""Plans of ExecuteGrasp: which grasp comes first, and the ways to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import at_least
from graspline.execution.requests import Reply, solved
from graspline.grasping.hand_poses import HandPose
from graspline.grasping.reaching import (
    STRAIGHT_CLEARANCES_M,
    UP,
    Reach,
    ReachQuery,
    Step,
    Surroundings,
    Touching,
    order,
    plan_reach,
    told,
    tool_of,
)
from graspline.machine.outcome import Gives, Outcome, Producing
from graspline.perception.beliefs import UNKNOWN, Belief
from graspline.perception.held import HeldObject
from graspline.planning.collision import CollisionWorld
from graspline.refusal import Refusal
from graspline.robots.robot import Robot
from graspline.scenes.household import KNOWN
from graspline.tasks.tidy.areas import area_of
from graspline.tasks.tidy.house import House
from graspline.tasks.tidy.moving import SPARE_M, around, felt_kg, whole, without
from graspline.tasks.tidy.parameters import Tidy
from graspline.tasks.tidy.robot import BODY

Array = NDArray[np.float64]

_TOP_BACK_M = 0.075
# What stands on tables, by name.
_THINGS = {UNKNOWN, *(item.name for item in KNOWN)}
# Farther than this wheels are not to be trusted: first the robot goes to that side of the table, and looks from there.
_FAR_M = 1.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ordered:
    """Grasps still to be tried, each with the postures that reach it."""

    todo: tuple[tuple[HandPose, Array], ...]
    refused: tuple[Refusal, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reaching:
    todo: tuple[tuple[HandPose, Array], ...]
    refused: tuple[Refusal, ...]
    reach: Reach
    # Of the hand alone, felt before it takes anything.
    hand_kg: float


def sort_poses(
    last: Reply,
    robot: Robot,
    settings: Tidy,
    grasp_poses: tuple[HandPose, ...],
    grasp_object_bb: Belief,
    grasp_object_name: str,
) -> Producing[Gives[Literal["sorted"], Ordered] | Outcome[Literal["unreachable"]]]:
    """Closest first, those from the top last; after all of them, those with which it would not fit where it belongs."""
    room = area_of(settings.placing, grasp_object_name).level.clear_m - settings.placing.above_m - SPARE_M
    tools_m = [float(tool_of(robot, pose).position_m[2]) - grasp_object_bb.bottom_m for pose in grasp_poses]
    needed_m = [up + BODY.hand_above_m(pose.rotation) for up, pose in zip(tools_m, grasp_poses, strict=True)]
    # As if it faced the thing: it has turned its arm aside to look.
    start = last.command.position.copy()
    apart = grasp_object_bb.position_m[:2] - start[:2]
    start[2] += float((np.arctan2(apart[1], apart[0]) - start[2] + np.pi) % (2 * np.pi) - np.pi)
    todo = list[tuple[HandPose, Array]]()
    for high in (False, True):
        poses = [pose for pose, needed in zip(grasp_poses, needed_m, strict=True) if (needed > room) == high]
        todo += yield from solved(order, robot, poses, start)
    if not any(len(postures) for _, postures in todo):
        return Outcome("unreachable", (at_least("poses_in_reach", 0, 1),), about=grasp_object_name)
    return Gives("sorted", Ordered(todo=tuple(todo), refused=()), about=grasp_object_name)


def plan_grasp(
    last: Reply,
    robot: Robot,
    world: CollisionWorld,
    house: House,
    settings: Tidy,
    things: tuple[Belief, ...],
    grasp_object_bb: Belief,
    todo: tuple[tuple[HandPose, Array], ...],
    refused: tuple[Refusal, ...],
) -> Producing[Gives[Literal["planned", "far"], Reaching] | Outcome[Literal["none_left"]]]:
    """The next grasp that a whole plan is found for, and whether that is far away."""
    among = around(house, things)
    reach, left, why = yield from solved(
        first_reach, robot, world, settings, among, grasp_object_bb, last.command.position, todo
    )
    if reach is None:
        return Outcome("none_left", told((*refused, *why)), about=grasp_object_bb.name)
    found = Reaching(todo=left, refused=(*refused, *why), reach=reach, hand_kg=felt_kg(last))
    far = float(np.linalg.norm((reach.at - last.command.position)[:2])) > _FAR_M
    return Gives("far" if far else "planned", found, about=grasp_object_bb.name)


def first_reach(
    robot: Robot,
    world: CollisionWorld,
    settings: Tidy,
    among: Surroundings,
    target: Belief,
    start: Array,
    todo: Sequence[tuple[HandPose, Array]],
) -> tuple[Reach | None, tuple[tuple[HandPose, Array], ...], tuple[Refusal, ...]]:
    """The first grasp with a whole plan, what is left after it, and why others before it were refused."""
    refused: tuple[Refusal, ...] = ()
    for clearance in STRAIGHT_CLEARANCES_M:
        why = list[Refusal]()
        for index, (pose, postures) in enumerate(todo):
            query = replace(grasp_query(robot, settings, among, target, start, pose, seed=index), clearance_m=clearance)
            found = plan_reach(robot, world, query, pose, postures)
            if isinstance(found, Reach):
                left = tuple(each for each in todo if each[0] is not pose)
                return found, left, tuple(why)
            why.append(found)
        refused = tuple(why)
    return None, (), refused


def grasp_query(
    robot: Robot, settings: Tidy, among: Surroundings, target: Belief, start: Array, pose: HandPose, *, seed: int
) -> ReachQuery:
    """In around the thing, and up with it."""
    grasp = settings.grasp
    top = next(solid for solid in among.solids if solid.name == "table_top")
    held = HeldObject.of(whole(target), tool_of(robot, pose))
    widest = float(robot.jaw_law.gaps_m[-1])
    lifting = without(among, target, held)
    touching: Touching = tuple(("held", each) for each in lifting.solids if each is top or each.name in _THINGS)
    return ReachQuery(
        start=start,
        jaw_rad=float(robot.jaw_law.angle_rad(min(pose.width_m + grasp.wider_m, widest))),
        inwards=Step(way_m=inwards_m(settings, pose), around=among, touching=(("hand", whole(target)),)),
        # What stands free can be lifted straight up past anything.
        onwards=(Step(way_m=grasp.lift_m * UP, around=lifting, touching=touching),),
        seed=seed,
        gaze_m=target.position_m,
    )


def inwards_m(settings: Tidy, pose: HandPose) -> Array:
    """The straight way in, (3,); from the top the lift has less to spare."""
    return (_TOP_BACK_M if pose.top else settings.grasp.back_m) * pose.rotation[:, 0]
