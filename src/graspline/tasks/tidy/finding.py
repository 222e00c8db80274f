"""FindGrasp: a look at the table, things recognised, and grasps for the one that is wanted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from graspline.evidence import at_least, at_most
from graspline.execution.happenings import Targeted
from graspline.execution.requests import Announce, Reply, solved
from graspline.grasping.hand_poses import HandPose, hand_poses
from graspline.machine.machine import Machine, by_name
from graspline.machine.outcome import Gives, Outcome, Producing, Stage
from graspline.machine.table import End, Retry
from graspline.perception.beliefs import UNKNOWN, Belief
from graspline.perception.planes import NoPlane
from graspline.planning.collision import CollisionWorld
from graspline.robots.robot import Robot
from graspline.scenes.annotated_grasps import WIDEST_M
from graspline.scenes.household import KNOWN
from graspline.spatial.rotations import rotation_z
from graspline.tasks.tidy.correcting import unknown_before
from graspline.tasks.tidy.house import House, before
from graspline.tasks.tidy.moving import TABLE_AWAY_M, Stopped, around, travel
from graspline.tasks.tidy.parameters import Tidy
from graspline.tasks.tidy.robot import BODY
from graspline.tasks.tidy.sight import Eye, SightFailed, TableSeen
from graspline.tasks.tidy.slips import slip_between

# A thing this near to where one was given up is that one.
_SAME_M = 0.03
# How far aside the robot goes to see behind things.
_ASIDE_M = 0.65
_GRASPS = {item.name: item.grasps for item in KNOWN}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sighted:
    """What stands on the table, the room with the table as it was seen, and all of that look."""

    things: tuple[Belief, ...]
    house: House
    table_seen: TableSeen


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SeenAside:
    """What stands on the table as seen from both places, and the room as it was seen last."""

    things: tuple[Belief, ...]
    house: House


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Chosen:
    grasp_object_bb: Belief
    grasp_object_name: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Graspable:
    grasp_poses: tuple[HandPose, ...]


def look(
    last: Reply, eye: Eye, house: House
) -> Producing[Gives[Literal["seen"], Sighted] | Outcome[Literal["no_table", "failed"]]]:
    """The newest picture of the table, and what stands on it."""
    seen = yield from eye.table(last, house)
    if isinstance(seen, SightFailed):
        return Outcome("failed", seen.told, about=seen.why)
    if isinstance(seen, NoPlane):
        return Outcome("no_table", seen.told)
    return Gives("seen", Sighted(things=seen.things, house=seen.house, table_seen=seen))


def step_aside(
    last: Reply, robot: Robot, world: CollisionWorld, house: House, things: tuple[Belief, ...]
) -> Stage[Literal["aside", "blocked"]]:
    """To the left of where the robot looks from, or from there to the right: things hide each other."""
    middle = house.table.in_world((0.0, 0.0, house.table.levels[0].position_m[2]))
    across = float((rotation_z(house.table.yaw_rad).T @ (last.command.position[:3] - middle))[1])
    x, y, _ = before(house.table, TABLE_AWAY_M, -_ASIDE_M if across > _ASIDE_M / 2 else _ASIDE_M)
    goal = last.command.position.copy()
    goal[:3] = x, y, float(np.arctan2(middle[1] - y, middle[0] - x))
    reply = yield from travel(last, robot, world, around(house, things), BODY.gazing(goal, middle)[None])
    return Outcome("blocked", reply.evidence) if isinstance(reply, Stopped) else Outcome("aside")


def look_from_aside(
    last: Reply, eye: Eye, house: House, things: tuple[Belief, ...]
) -> Producing[Gives[Literal["seen"], SeenAside] | Outcome[Literal["no_table", "failed"]]]:
    """Another picture of the table; what was seen before and is hidden now is still there."""
    seen = yield from eye.table(last, house)
    if isinstance(seen, SightFailed):
        return Outcome("failed", seen.told, about=seen.why)
    if isinstance(seen, NoPlane):
        return Outcome("no_table", seen.told)
    slip = slip_between(house.table, seen.house.table)
    hidden = unknown_before(seen.things, [slip.solid(each) for each in things])
    return Gives("seen", SeenAside(things=(*seen.things, *hidden), house=seen.house))


def choose(
    last: Reply, things: tuple[Belief, ...], object_to_grasp: str, given_up: tuple[Belief, ...]
) -> Producing[Gives[Literal["chosen"], Chosen] | Outcome[Literal["empty", "not_there"]]]:
    """The thing of that name, or the closest; one that was given up only if there is no other."""
    if object_to_grasp:
        yield Announce(Targeted(object_to_grasp))
    if not things:
        return Outcome("empty", (at_least("things", 0, 1),))
    named = [each for each in things if not object_to_grasp or each.name == object_to_grasp]
    if not named:
        return Outcome("not_there", (at_least("things_of_that_name", 0, 1),), about=object_to_grasp)
    base = last.command.position[:2]

    def rank(thing: Belief) -> tuple[bool, float]:
        tried = any(np.linalg.norm(thing.position_m - each.position_m) < _SAME_M for each in given_up)
        return tried, float(np.linalg.norm(thing.position_m[:2] - base))

    found = min(named, key=rank)
    if found.name != UNKNOWN:
        yield Announce(Targeted(found.name))
    return Gives("chosen", Chosen(grasp_object_bb=found, grasp_object_name=found.name), about=found.name)


def find_poses(
    robot: Robot, settings: Tidy, grasp_object_bb: Belief
) -> Producing[Gives[Literal["found"], Graspable] | Outcome[Literal["too_wide"]]]:
    """Grasps from annotations, or from the thing's shape, that the hand can open for."""
    known = _GRASPS.get(grasp_object_bb.name, ())
    poses = yield from solved(hand_poses, grasp_object_bb, known)
    widest = min(float(robot.jaw_law.gaps_m[-1]) - 0.01, WIDEST_M)
    fitting = tuple(pose for pose in poses if pose.width_m <= widest)
    if not fitting:
        narrow = min((pose.width_m for pose in poses), default=2 * float(min(grasp_object_bb.half_extents_m[:2])))
        return Outcome("too_wide", (at_most("width", narrow, widest, "m"),), about=grasp_object_bb.name)
    evidence = (at_least("grasp_poses", len(fitting), 1),)
    return Gives("found", Graspable(grasp_poses=fitting), evidence, about=grasp_object_bb.name)


def find_grasp(settings: Tidy) -> Machine:
    """The component, with the seed's names at its edges."""
    failed = End("failed")
    again = Retry(to="look", budget="looks", otherwise=failed)
    aside = Retry(to="step_aside", budget="sides", otherwise=failed)
    return Machine(
        name="find_grasp",
        start="look",
        states=by_name(look, step_aside, look_from_aside, choose, find_poses),
        table={
            "look": {"seen": "choose", "no_table": again, "failed": failed},
            "choose": {"chosen": "find_poses", "empty": failed, "not_there": aside},
            "step_aside": {"aside": "look_from_aside", "blocked": failed},
            "look_from_aside": {"seen": "choose", "no_table": aside, "failed": failed},
            "find_poses": {"found": End("end_find_grasp"), "too_wide": failed},
        },
        inputs={
            "world": CollisionWorld,
            "eye": Eye,
            "house": House,
            "settings": Tidy,
            "object_to_grasp": str,
            "given_up": tuple[Belief, ...],
        },
        budgets={"looks": settings.retries.looks, "sides": settings.retries.sides},
        gives={
            "things": tuple[Belief, ...],
            "house": House,
            "table_seen": TableSeen,
            "grasp_poses": tuple[HandPose, ...],
            "grasp_object_bb": Belief,
            "grasp_object_name": str,
        },
        successes=("end_find_grasp",),
    )
