"""ExecuteGrasp on its way to a thing: round the table if it is far, there, another look, and in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Evidence, passes
from graspline.execution.requests import Motion, Reply, solved
from graspline.grasping.hand_poses import HandPose
from graspline.grasping.reaching import Reach, in_the_way
from graspline.machine.outcome import Gives, Outcome, Producing
from graspline.motion.guards import ForceAbove
from graspline.motion.waypoints import through
from graspline.perception.beliefs import Belief
from graspline.planning.collision import CollisionWorld
from graspline.robots.robot import Robot
from graspline.scenes.fittings import Fitting
from graspline.tasks.tidy.correcting import gone_evidence, shown_since, slip_of, slip_since
from graspline.tasks.tidy.grasp_plans import grasp_query, inwards_m
from graspline.tasks.tidy.house import House
from graspline.tasks.tidy.moving import BLOCKED, Stopped, around, looking_from, play, straight, travel
from graspline.tasks.tidy.parameters import Tidy
from graspline.tasks.tidy.sight import Eye, TableSeen
from graspline.tasks.tidy.slips import Slip, slip_between

Array = NDArray[np.float64]

# A finger that stands on something feels this.
_BUMP_N = 15.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TakenAway:
    """A thing that was gone before the hand could have touched it, and the table as it was believed to be then."""

    thing: Belief
    table: Fitting


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GoneThings:
    """What was taken away by something other than this robot."""

    taken_away: tuple[TakenAway, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contact:
    """Whether the robot may have touched something since the table was last looked at as a whole."""

    contact_possible: bool = True


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SeenRound:
    """Things, and the grasps of one, where they were seen from another side of the table."""

    things: tuple[Belief, ...]
    grasp_object_bb: Belief
    grasp_poses: tuple[HandPose, ...]
    house: House


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Corrected:
    """The same plans and the same things, where they were seen from close by, and what was not seen before."""

    todo: tuple[tuple[HandPose, Array], ...]
    reach: Reach
    things: tuple[Belief, ...]
    grasp_object_bb: Belief
    house: House


def go_round(
    last: Reply, robot: Robot, world: CollisionWorld, house: House, things: tuple[Belief, ...], reach: Reach
) -> Producing[Gives[Literal["blocked"], Contact] | Outcome[Literal["there"]]]:
    """To the side of the table that the thing is taken from, with a view of all of it."""
    goal = looking_from(robot, house.table, reach.at[:2])
    reply = yield from travel(last, robot, world, around(house, things), goal[None])
    return Gives("blocked", Contact(), reply.evidence) if isinstance(reply, Stopped) else Outcome("there")


def look_round(
    last: Reply,
    eye: Eye,
    house: House,
    things: tuple[Belief, ...],
    grasp_object_bb: Belief,
    grasp_poses: tuple[HandPose, ...],
    contact_possible: bool,
    taken_away: tuple[TakenAway, ...],
) -> Producing[Gives[Literal["seen"], SeenRound] | Gives[Literal["gone"], GoneThings] | Outcome[Literal["unseen"]]]:
    """The same things from there, and others that were hidden; or that the thing is gone."""
    seen = yield from eye.table(last, house)
    if not isinstance(seen, TableSeen):
        return Outcome("unseen", seen.told, about=grasp_object_bb.name)
    slip = slip_since(things, grasp_object_bb, seen)
    gone = _gone(slip, house, things, grasp_object_bb, seen)
    if passes(gone):
        less = _with_gone(taken_away, grasp_object_bb, house, contact_possible)
        return Gives("gone", less, gone, about=grasp_object_bb.name)
    if slip is None:
        return Outcome("unseen", gone, about=grasp_object_bb.name)
    slips = {each: slip_of(slip, each, seen) for each in things}
    moved = {each: own.solid(each) for each, own in slips.items()}
    found = SeenRound(
        things=(*moved.values(), *shown_since(tuple(moved.values()), seen)),
        grasp_object_bb=moved[grasp_object_bb],
        grasp_poses=tuple(slips[grasp_object_bb].pose(pose) for pose in grasp_poses),
        house=slip.house(house),
    )
    return Gives("seen", found, slip.told, about=grasp_object_bb.name)


def approach(
    last: Reply, robot: Robot, reach: Reach
) -> Producing[Gives[Literal["blocked"], Contact] | Outcome[Literal["there"]]]:
    """Along the planned way to before the thing."""
    reply = yield from play(robot, Motion("approach", reach.way, guards=(BLOCKED,)))
    return Gives("blocked", Contact(), reply.evidence) if isinstance(reply, Stopped) else Outcome("there")


def look_again(
    last: Reply,
    robot: Robot,
    world: CollisionWorld,
    eye: Eye,
    house: House,
    settings: Tidy,
    things: tuple[Belief, ...],
    grasp_object_bb: Belief,
    todo: tuple[tuple[HandPose, Array], ...],
    reach: Reach,
    contact_possible: bool,
    taken_away: tuple[TakenAway, ...],
) -> Producing[
    Gives[Literal["seen", "in_the_way"], Corrected] | Gives[Literal["gone"], GoneThings] | Outcome[Literal["unseen"]]
]:
    """From close by: wheels have slipped on the way, and what was believed then is off by as much.

    Things that were half hidden before may be off by more, each its own way: a plan for one of them may lead into
    another now. Where a thing was that is gone nothing is grasped.
    """
    own = yield from solved(world.own_solids, last.readings.joints)
    seen = yield from eye.table(last, house, own)
    if not isinstance(seen, TableSeen):
        return Outcome("unseen", seen.told, about=grasp_object_bb.name)
    slip = slip_since(things, grasp_object_bb, seen)
    gone = _gone(slip, house, things, grasp_object_bb, seen)
    if passes(gone):
        less = _with_gone(taken_away, grasp_object_bb, house, contact_possible)
        return Gives("gone", less, gone, about=grasp_object_bb.name)
    if slip is None:
        return Outcome("unseen", gone, about=grasp_object_bb.name)
    slips = {each: slip_of(slip, each, seen) for each in things}
    one, moved = slips[grasp_object_bb], {each: own.solid(each) for each, own in slips.items()}
    more = shown_since(tuple(moved.values()), seen)
    target = moved[grasp_object_bb]
    corrected = Corrected(
        todo=one.todo(todo),
        reach=one.reach(reach),
        things=(*moved.values(), *more),
        grasp_object_bb=target,
        house=slip.house(house),
    )
    among = around(corrected.house, corrected.things)
    query = grasp_query(robot, settings, among, target, last.command.position, corrected.reach.pose, seed=0)
    if (yield from solved(in_the_way, world, query, corrected.reach)):
        return Gives("in_the_way", corrected, slip.told, about=grasp_object_bb.name)
    return Gives("seen", corrected, slip.told, about=grasp_object_bb.name)


def _gone(slip: Slip | None, house: House, things: tuple[Belief, ...], target: Belief, seen: TableSeen) -> Evidence:
    """Whether a thing has been taken away, by a look; if no thing tells how far wheels have slipped, the table does."""
    by = slip or slip_between(house.table, seen.house.table)
    own = slip_of(by, target, seen)
    return gone_evidence(own.solid(target), [by.solid(each) for each in things if each is not target], seen)


def _with_gone(taken_away: tuple[TakenAway, ...], target: Belief, house: House, contact_possible: bool) -> GoneThings:
    """What others have taken away, with a thing that is gone now, unless the robot may have moved it itself."""
    if contact_possible:
        return GoneThings(taken_away=taken_away)
    return GoneThings(taken_away=(*taken_away, TakenAway(thing=target, table=house.table)))


def reach_in(
    last: Reply, robot: Robot, settings: Tidy, reach: Reach
) -> Producing[Gives[Literal["around", "blocked"], Contact]]:
    """Straight in until the thing is between the fingers, from where the way in begins."""
    way = inwards_m(settings, reach.pose)
    bump = ForceAbove(force_n=_BUMP_N, for_s=0.03)
    here = last.command.position
    if not np.array_equal(here, reach.before):
        path = through(robot, np.stack([here, reach.before]), speed=0.5)
        reply = yield from play(robot, Motion("correct", path, guards=(BLOCKED, bump)))
        if isinstance(reply, Stopped):
            return Gives("blocked", Contact(), reply.evidence)
        last = reply
    reply = yield from straight(last, robot, way, (bump,), name="reach", speed=0.5)
    if isinstance(reply, Stopped):
        return Gives("blocked", Contact(), reply.evidence)
    return Gives("around", Contact())
