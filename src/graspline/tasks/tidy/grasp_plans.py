"""Plans of ExecuteGrasp: which grasp comes first, and the ways to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import at_least
from graspline.execution.requests import Reply, solved
from graspline.grasping.hand_poses import HandPose
from graspline.grasping.whole_body_reach import (
    UP,
    Reach,
    ReachQuery,
    Step,
    Surroundings,
    Todo,
    Touching,
    as_evidence,
    first_reach,
    order,
    tool_of,
)
from graspline.machine.outcome import Gives, Outcome, Producing
from graspline.perception.core.beliefs import UNKNOWN, Belief
from graspline.perception.core.held import HeldObject
from graspline.refusal import Refusal
from graspline.scenes.household import KNOWN
from graspline.spatial.rotations import wrap
from graspline.tasks.tidy.areas import area_of
from graspline.tasks.tidy.base_motion import TidyCell, felt_kg
from graspline.tasks.tidy.believed_room import House, around, whole, without
from graspline.tasks.tidy.parameters import Tidy
from graspline.tasks.tidy.robot import BODY

Array = NDArray[np.float64]

# So much room must be left above a thing on a board: for what it keeps clear of, and for how well heights are known.
SPARE_M = 0.012
_TOP_BACK_M = 0.075
# What stands on tables, by name.
_THINGS = {UNKNOWN, *(item.name for item in KNOWN)}
# Farther than this wheels are not to be trusted: first the robot goes to that side of the table, and looks from there.
_FAR_M = 1.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ordered:
    """Grasps still to be tried, each with the postures that reach it, and why others were refused."""

    todo: Todo
    refused: tuple[Refusal, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reaching(Ordered):
    """A pose within reach, and the weight of the empty hand."""

    reach: Reach
    # Of the hand alone, felt before it takes anything.
    hand_kg: float


def sort_poses(
    last: Reply, cell: TidyCell, target: Belief, grasp_poses: tuple[HandPose, ...]
) -> Producing[Gives[Literal["sorted"], Ordered] | Outcome[Literal["unreachable"]]]:
    """Closest first, those from the top last; after all of them, those with which it would not fit where it belongs."""
    placing = cell.settings.placing
    room = area_of(placing, target.name).level.clear_m - placing.above_m - SPARE_M
    tools_m = [float(tool_of(cell.robot, pose).position_m[2]) - target.bottom_m for pose in grasp_poses]
    needed_m = [up + BODY.hand_above_m(pose.rotation) for up, pose in zip(tools_m, grasp_poses, strict=True)]
    # As if it faced the thing: it has turned its arm aside to look.
    start = last.command.position.copy()
    apart = target.position_m[:2] - start[:2]
    start[2] += wrap(np.arctan2(apart[1], apart[0]) - start[2])
    todo: Todo = ()
    for high in (False, True):
        poses = [pose for pose, needed in zip(grasp_poses, needed_m, strict=True) if (needed > room) == high]
        todo += yield from solved(order, cell.robot, poses, start)
    if not any(len(postures) for _, postures in todo):
        return Outcome("unreachable", (at_least("poses_in_reach", 0, 1),), about=target.name)
    return Gives("sorted", Ordered(todo=todo, refused=()), about=target.name)


def plan_grasp(
    last: Reply, cell: TidyCell, house: House, target: Belief, todo: Todo, refused: tuple[Refusal, ...]
) -> Producing[Gives[Literal["planned", "far"], Reaching] | Outcome[Literal["none_left"]]]:
    """The next grasp that a whole plan is found for, and whether that is far away."""
    start = last.command.position
    found, why = yield from solved(first_grasp, cell, around(house), target, start, todo)
    refused = (*refused, *why)
    if found is None:
        return Outcome("none_left", as_evidence(refused), about=target.name)
    index, reach = found
    left = (*todo[:index], *todo[index + 1 :])
    planned = Reaching(todo=left, refused=refused, reach=reach, hand_kg=felt_kg(last))
    far = float(np.linalg.norm((reach.at - start)[:2])) > _FAR_M
    return Gives("far" if far else "planned", planned, about=target.name)


def first_grasp(
    cell: TidyCell, among: Surroundings, target: Belief, start: Array, todo: Todo
) -> tuple[tuple[int, Reach] | None, tuple[Refusal, ...]]:
    """The first grasp with a whole plan, by its number, and why others were refused."""

    def tries() -> Iterator[tuple[int, ReachQuery, HandPose, Array]]:
        for index, (pose, postures) in enumerate(todo):
            yield index, grasp_query(cell, among, target, start, pose, seed=index), pose, postures

    return first_reach(cell.robot, cell.world, tries)


def grasp_query(
    cell: TidyCell, among: Surroundings, target: Belief, start: Array, pose: HandPose, *, seed: int
) -> ReachQuery:
    """In around the thing, and up with it."""
    grasp, law = cell.settings.grasp, cell.robot.jaw_law
    top = next(solid for solid in among.solids if solid.name == "table_top")
    lifting = without(among, target, HeldObject.of(whole(target), tool_of(cell.robot, pose)))
    touching: Touching = tuple(("held", each) for each in lifting.solids if each is top or each.name in _THINGS)
    return ReachQuery(
        start=start,
        jaw_rad=float(law.angle_rad(min(pose.width_m + grasp.wider_m, float(law.gaps_m[-1])))),
        inwards=Step(way_m=inwards_m(cell.settings, pose), around=among, touching=(("hand", whole(target)),)),
        # What stands free can be lifted straight up past anything.
        onwards=(Step(way_m=grasp.lift_m * UP, around=lifting, touching=touching),),
        seed=seed,
        gaze_m=target.position_m,
    )


def inwards_m(settings: Tidy, pose: HandPose) -> Array:
    """The straight way in, (3,); from the top the lift has less to spare."""
    return (_TOP_BACK_M if pose.top else settings.grasp.back_m) * pose.rotation[:, 0]
