"""FindGrasp: a look at the table, things recognised, and grasps for the one that is wanted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from graspline.evidence import at_least, at_most
from graspline.execution.notifications import Targeted
from graspline.execution.requests import Announce, Reply, solved
from graspline.grasping.hand_poses import HandPose, hand_poses
from graspline.machine.machine import Machine, by_name
from graspline.machine.outcome import Gives, Outcome, Producing, Stage
from graspline.machine.table import End, Retry
from graspline.perception.core.beliefs import UNKNOWN, Belief
from graspline.perception.rgbd.odometry_drift import slip_between, unknown_before
from graspline.perception.rgbd.planes import NoPlane
from graspline.scenes.annotated_grasps import WIDEST_M
from graspline.scenes.household import KNOWN
from graspline.tasks.tidy.base_motion import TidyCell, ended, travel
from graspline.tasks.tidy.believed_room import House, KnownRoom, around
from graspline.tasks.tidy.parameters import Tidy
from graspline.tasks.tidy.postures import TABLE_AWAY_M, before, middle_of
from graspline.tasks.tidy.record import TableRecord
from graspline.tasks.tidy.robot import BODY
from graspline.tasks.tidy.sight import SightFailed, TableSeen

# A thing this near to where one was given up is that one.
_SAME_M = 0.03
# How far aside the robot goes to see behind things.
_ASIDE_M = 0.65
_GRASPS = {item.name: item.grasps for item in KNOWN}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SightedRoom(KnownRoom):
    """The room with the table as it was seen, and all of that look."""

    table_seen: TableSeen
    record: TableRecord


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChosenTarget:
    """The object that is fetched next."""

    target: Belief


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Graspable:
    """The poses at which the target may be grasped."""

    grasp_poses: tuple[HandPose, ...]


def look(
    last: Reply, cell: TidyCell, house: House, record: TableRecord
) -> Producing[Gives[Literal["seen"], SightedRoom] | Outcome[Literal["no_table", "failed"]]]:
    """The newest picture of the table, and what stands on it."""
    seen = yield from cell.eye.table(last, house)
    if not isinstance(seen, TableSeen):
        return _unseen(seen)
    return Gives("seen", SightedRoom(house=seen.room, table_seen=seen, record=replace(record, contact_possible=False)))


def _unseen(seen: SightFailed | NoPlane) -> Outcome[Literal["no_table", "failed"]]:
    if isinstance(seen, SightFailed):
        return Outcome("failed", seen.as_evidence, about=seen.why)
    return Outcome("no_table", seen.as_evidence)


def step_aside(last: Reply, cell: TidyCell, house: House) -> Stage[Literal["aside", "blocked"]]:
    """To the left of where the robot looks from, or from there to the right: things hide each other."""
    middle, here = middle_of(house.table), last.command.position
    across = float(house.table.above(house.table.levels[0], here[:3])[1])
    x, y, _ = before(house.table, TABLE_AWAY_M, -_ASIDE_M if across > _ASIDE_M / 2 else _ASIDE_M)
    goal = here.copy()
    goal[:3] = x, y, float(np.arctan2(middle[1] - y, middle[0] - x))
    reply = yield from travel(last, cell, around(house), BODY.gazing(goal, middle)[None])
    return ended("aside", reply)


def look_from_aside(
    last: Reply, cell: TidyCell, house: House
) -> Producing[Gives[Literal["seen"], KnownRoom] | Outcome[Literal["no_table", "failed"]]]:
    """Another picture of the table; what was seen before and is hidden now is still there."""
    seen = yield from cell.eye.table(last, house)
    if not isinstance(seen, TableSeen):
        return _unseen(seen)
    slip = slip_between(house.table, seen.house.table)
    hidden = unknown_before(seen.things, [slip.solid(each) for each in house.things])
    return Gives("seen", KnownRoom(house=replace(seen.house, things=(*seen.things, *hidden))))


def choose(
    last: Reply, cell: TidyCell, house: House, record: TableRecord
) -> Producing[Gives[Literal["chosen"], ChosenTarget] | Outcome[Literal["empty", "not_there"]]]:
    """The thing of that name, or the closest; one that was given up only if there is no other."""
    wanted, base = cell.settings.object_to_grasp, last.command.position[:2]
    if wanted:
        yield Announce(Targeted(wanted))
    if not house.things:
        return Outcome("empty", (at_least("things", 0, 1),))
    named = [each for each in house.things if not wanted or each.name == wanted]
    if not named:
        return Outcome("not_there", (at_least("things_of_that_name", 0, 1),), about=wanted)

    def rank(thing: Belief) -> tuple[bool, float]:
        tried = any(np.linalg.norm(thing.position_m - each.position_m) < _SAME_M for each in record.given_up)
        return tried, float(np.linalg.norm(thing.position_m[:2] - base))

    found = min(named, key=rank)
    if found.name != UNKNOWN:
        yield Announce(Targeted(found.name))
    return Gives("chosen", ChosenTarget(target=found), about=found.name)


def find_poses(
    cell: TidyCell, target: Belief
) -> Producing[Gives[Literal["found"], Graspable] | Outcome[Literal["too_wide"]]]:
    """Grasps from annotations, or from the thing's shape, that the hand can open for."""
    poses = yield from solved(hand_poses, target, _GRASPS.get(target.name, ()))
    widest = min(float(cell.robot.jaw_law.gaps_m[-1]) - 0.01, WIDEST_M)
    fitting = tuple(pose for pose in poses if pose.width_m <= widest)
    if not fitting:
        narrow = min((pose.width_m for pose in poses), default=2 * float(min(target.half_extents_m[:2])))
        return Outcome("too_wide", (at_most("width", narrow, widest, "m"),), about=target.name)
    evidence = (at_least("grasp_poses", len(fitting), 1),)
    return Gives("found", Graspable(grasp_poses=fitting), evidence, about=target.name)


def find_grasp(settings: Tidy) -> Machine:
    """The component, by the names it is known by."""
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
        inputs={"cell": TidyCell, "house": House, "record": TableRecord},
        budgets={"looks": settings.retries.looks, "sides": settings.retries.sides},
        gives={
            "house": House,
            "table_seen": TableSeen,
            "record": TableRecord,
            "target": Belief,
            "grasp_poses": tuple[HandPose, ...],
        },
        successes=("end_find_grasp",),
    )
