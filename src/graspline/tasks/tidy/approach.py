"""ExecuteGrasp on its way to a thing: round the table if it is far, there, another look, and in."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import passes
from graspline.execution.requests import Motion, Reply, Request, solved
from graspline.grasping.hand_poses import HandPose
from graspline.grasping.whole_body_reach import Reach, Todo, in_the_way, todo_after
from graspline.machine.outcome import Gives, Outcome, Producing
from graspline.motion.guards import ForceAbove
from graspline.motion.waypoints import through
from graspline.perception.core.beliefs import Belief
from graspline.perception.rgbd.odometry_drift import Slip, gone_evidence, shown_since, slip_between, slip_of, slip_since
from graspline.tasks.tidy.base_motion import BLOCKED, Stopped, TidyCell, play, straight, travel
from graspline.tasks.tidy.believed_room import House, KnownRoom, around
from graspline.tasks.tidy.grasp_plans import grasp_query, inwards_m
from graspline.tasks.tidy.postures import looking_from
from graspline.tasks.tidy.record import NotedRecord, TableRecord
from graspline.tasks.tidy.sight import TableSeen

Array = NDArray[np.float64]

# A finger that stands on something feels this.
_BUMP = ForceAbove(force_n=15.0, for_s=0.03)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SeenAgain(KnownRoom):
    """The room, and what is to be taken, where they were seen from elsewhere, with what was hidden before."""

    target: Belief


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SeenRound(SeenAgain):
    """The same with its grasps."""

    grasp_poses: tuple[HandPose, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Corrected(SeenAgain):
    """The same with plans for it."""

    todo: Todo
    reach: Reach


def go_round(
    last: Reply, cell: TidyCell, house: House, record: TableRecord, reach: Reach
) -> Producing[Gives[Literal["blocked"], NotedRecord] | Outcome[Literal["there"]]]:
    """To the side of the table that the thing is taken from, with a view of all of it."""
    goal = looking_from(cell.robot, house.table, reach.at[:2])
    reply = yield from travel(last, cell, around(house), goal[None])
    return Gives("blocked", record.touched, reply.evidence) if isinstance(reply, Stopped) else Outcome("there")


def look_round(
    last: Reply, cell: TidyCell, house: House, record: TableRecord, target: Belief, grasp_poses: tuple[HandPose, ...]
) -> Producing[Gives[Literal["seen"], SeenRound] | Gives[Literal["gone"], NotedRecord] | Outcome[Literal["unseen"]]]:
    """The same things from there, and others that were hidden; or that the thing is gone."""
    found = yield from _look(last, cell, house, record, target)
    if not isinstance(found, tuple):
        return found
    slip, own, again = found
    poses = tuple(pose.after(own) for pose in grasp_poses)
    seen = SeenRound(house=again.house, target=again.target, grasp_poses=poses)
    return Gives("seen", seen, slip.as_evidence, about=target.name)


def approach(
    last: Reply, cell: TidyCell, record: TableRecord, reach: Reach
) -> Producing[Gives[Literal["blocked"], NotedRecord] | Outcome[Literal["there"]]]:
    """Along the planned way to before the thing."""
    reply = yield from play(cell, Motion("approach", reach.way, guards=(BLOCKED,)))
    return Gives("blocked", record.touched, reply.evidence) if isinstance(reply, Stopped) else Outcome("there")


def look_again(
    last: Reply, cell: TidyCell, house: House, record: TableRecord, target: Belief, todo: Todo, reach: Reach
) -> Producing[
    Gives[Literal["seen", "in_the_way"], Corrected] | Gives[Literal["gone"], NotedRecord] | Outcome[Literal["unseen"]]
]:
    """From close by: wheels have slipped on the way, and what was believed then is off by as much.

    Things that were half hidden before may be off by more, each its own way: a plan for one of them may lead into
    another now. Where a thing was that is gone nothing is grasped.
    """
    own_solids = yield from solved(cell.world.own_solids, last.readings.joints)
    found = yield from _look(last, cell, house, record, target, own_solids)
    if not isinstance(found, tuple):
        return found
    slip, own, again = found
    corrected = Corrected(house=again.house, target=again.target, todo=todo_after(own, todo), reach=reach.after(own))
    start, pose = last.command.position, corrected.reach.pose
    query = grasp_query(cell, around(corrected.house), corrected.target, start, pose, seed=0)
    blocked = yield from solved(in_the_way, cell.world, query, corrected.reach)
    return Gives("in_the_way" if blocked else "seen", corrected, slip.as_evidence, about=target.name)


def _look(
    last: Reply, cell: TidyCell, house: House, record: TableRecord, target: Belief, own_solids: Sequence[Belief] = ()
) -> Generator[
    Request, Reply, tuple[Slip, Slip, SeenAgain] | Gives[Literal["gone"], NotedRecord] | Outcome[Literal["unseen"]]
]:
    """How far all that is believed is off by another look, how far the thing is, and where everything really is.

    If no thing says how far wheels have slipped, the table does for whether the thing has been taken away.
    """
    seen = yield from cell.eye.table(last, house, own_solids)
    if not isinstance(seen, TableSeen):
        return Outcome("unseen", seen.as_evidence, about=target.name)
    now, slip = seen.sight, slip_since(house.things, target, seen.sight)
    by = slip or slip_between(house.table, seen.house.table)
    believed = slip_of(by, target, now).solid(target)
    gone = gone_evidence(believed, [by.solid(each) for each in house.things if each is not target], now)
    if passes(gone):
        return Gives("gone", record.gone(target, house.table), gone, about=target.name)
    if slip is None:
        return Outcome("unseen", gone, about=target.name)
    slips = {each: slip_of(slip, each, now) for each in house.things}
    moved = {each: own.solid(each) for each, own in slips.items()}
    things = tuple(moved.values())
    again = replace(house.after(slip), things=(*things, *shown_since(things, now)))
    return slip, slips[target], SeenAgain(house=again, target=moved[target])


def reach_in(
    last: Reply, cell: TidyCell, record: TableRecord, reach: Reach
) -> Producing[Gives[Literal["around", "blocked"], NotedRecord]]:
    """Straight in until the thing is between the fingers, from where the way in begins."""
    reply: Reply | Stopped = last
    here = last.command.position
    if not np.array_equal(here, reach.before):
        path = through(cell.robot, np.stack([here, reach.before]), speed=0.5)
        reply = yield from play(cell, Motion("correct", path, guards=(BLOCKED, _BUMP)))
    if not isinstance(reply, Stopped):
        way = inwards_m(cell.settings, reach.pose)
        reply = yield from straight(reply, cell, way, _BUMP, name="reach", speed=0.5)
    if isinstance(reply, Stopped):
        return Gives("blocked", record.touched, reply.evidence)
    return Gives("around", record.touched)
