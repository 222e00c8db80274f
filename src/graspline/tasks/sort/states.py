"""Finding blocks and going for them: `watch`, `choose`, `retreat`, `travel`.

Pictures are taken wherever the hand is, and every way is planned and checked before it is gone.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Literal

from graspline.evidence import at_least
from graspline.execution.requests import Motion, Reply, Request, solved
from graspline.machine.outcome import Gives, Outcome, Producing
from graspline.motion.guards import TrackingError
from graspline.motion.hops import Clearance
from graspline.motion.joint_moves import brake
from graspline.motion.joint_moves import hold as still
from graspline.planning.collision import CollisionWorld
from graspline.refusal import Refusal
from graspline.robots.robot import Robot
from graspline.tasks.sort.choice import LEAVING_ANYTHING, Catch, leaving_bin, plan_home, plan_next
from graspline.tasks.sort.line import STANDING_M_S, Line, given_up
from graspline.tasks.sort.parameters import Sort
from graspline.tasks.sort.sight import BeltEye
from graspline.tasks.sort.ways import Going, corrected, cut, off_block, off_home, to_block

# Something is in the arm's way when its joints are this far from their reference together.
BLOCKED = TrackingError(error_rad=0.12, for_s=0.05)
# Later than this before the hand is there nothing is looked at and no way is bent.
LAST_S = 0.12
# When the belt has moved on by its length without a block, or by the longest gap between two and what the camera on the
# hand sees of it, or has stood for this long, there is nothing to come.
_LENGTH_M, _IN_VIEW_M = 2.2, 0.6
_LEAST_QUIET_S, _STANDING_S = 8.0, 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    line: Line


@dataclass(frozen=True, slots=True, kw_only=True)
class Spotted:
    line: Line
    going: Going


@dataclass(frozen=True, slots=True, kw_only=True)
class Caught:
    line: Line
    caught: Catch


def watch(
    last: Reply, robot: Robot, eye: BeltEye, world: CollisionWorld, settings: Sort, line: Line
) -> Producing[Gives[Literal["spotted"], Spotted] | Gives[Literal["finished", "in_doubt"], Watched]]:
    """Look at the belt until there is a block to go for, or nothing more to come."""
    reply = last
    while True:
        line = yield from look(eye, line, reply)
        line = given_up(line, settings, reply.time_s)
        if line.pending:
            return Gives("in_doubt", Watched(line=line))
        if _is_over(line, settings, reply.time_s):
            return Gives("finished", Watched(line=line))
        choice = yield from solved(plan_next, robot, world, settings, reply.command, reply.time_s, line.tracks, ())
        line = line.refusing(choice.refused)
        if choice.catch is not None:
            going = to_block(robot, settings, reply.command, choice.catch)
            return Gives("spotted", Spotted(line=line, going=going))
        reply = yield Motion("watch", still(robot, reply.command, 1 / settings.sight.rate_hz))


def choose(
    last: Reply, robot: Robot, world: CollisionWorld, settings: Sort, line: Line, caught: Catch
) -> Producing[Gives[Literal["planned", "none"], Spotted] | Outcome[Literal["stuck"]]]:
    """The next block, straight from where the hand is; or home, if there is none to go for."""
    leaving = leaving_bin(caught.grasp)
    return (yield from _onward(last, robot, world, settings, line, leaving, caught.grasp.open_rad))


def retreat(
    last: Reply, robot: Robot, world: CollisionWorld, settings: Sort, line: Line
) -> Producing[Gives[Literal["planned", "none"], Spotted] | Outcome[Literal["stuck"]]]:
    """Up and away from what went wrong, to another block or home."""
    reply = last
    if reply.command.moving:
        reply = yield Motion("brake", brake(robot, reply.command))
    return (yield from _onward(reply, robot, world, settings, line, LEAVING_ANYTHING, float(robot.home[robot.jaw])))


def _onward(
    reply: Reply,
    robot: Robot,
    world: CollisionWorld,
    settings: Sort,
    line: Line,
    leaving: tuple[Clearance, ...],
    wide_rad: float,
) -> Producing[Gives[Literal["planned", "none"], Spotted] | Outcome[Literal["stuck"]]]:
    line = given_up(line, settings, reply.time_s)
    start, now_s, over_m = reply.command, reply.time_s, max(each.height_m for each in leaving)
    choice = yield from solved(plan_next, robot, world, settings, start, now_s, line.tracks, leaving)
    line = line.refusing(choice.refused)
    if choice.catch is not None:
        going = off_block(robot, settings, start, choice.catch, wide_rad, over_m)
        return Gives("planned", Spotted(line=line, going=going))
    home = yield from solved(plan_home, robot, settings, start, now_s, leaving)
    if isinstance(home, Refusal):
        return Outcome("stuck", (at_least("ways_home", 0, 1),))
    return Gives("none", Spotted(line=line, going=off_home(robot, start, home, wide_rad, over_m)))


def travel(
    last: Reply, robot: Robot, eye: BeltEye, settings: Sort, line: Line, going: Going
) -> Producing[Gives[Literal["met"], Caught] | Gives[Literal["came_home", "escaped", "blocked"], Watched]]:
    """Go where the way leads, looking at the belt and following the block meanwhile."""
    reply = last
    while going.path.ticks > 0:
        piece, rest = cut(going.path, piece_ticks(robot, settings))
        reply = yield Motion("travel", piece, guards=(BLOCKED,))
        if reply.by != "completed":
            return Gives("blocked", Watched(line=line), reply.evidence)
        going = replace(going, path=rest)
        if rest.duration_s <= LAST_S:
            continue
        line = yield from look(eye, line, reply)
        if going.catch is not None:
            bent = corrected(robot, going, line.tracks, reply.time_s)
            if bent is None:
                evidence = (at_least("ways_to_block", 0, 1),)
                return Gives("escaped", Watched(line=line), evidence, about=going.catch.track.colour)
            going = bent
    if going.catch is None:
        return Gives("came_home", Watched(line=line))
    return Gives("met", Caught(line=line, caught=going.catch), about=going.catch.track.colour)


def look(eye: BeltEye, line: Line, reply: Reply, *, holding: bool = False) -> Generator[Request, Reply, Line]:
    """What is believed after a look."""
    picture = yield from eye.picture()
    return line.seeing(eye.follow(line.tracks, picture, reply.time_s, holding=holding), reply.time_s)


def piece_ticks(robot: Robot, settings: Sort) -> int:
    """How much of a way is gone from one picture to the next."""
    return max(1, round(robot.control_hz / settings.sight.rate_hz))


def _is_over(line: Line, settings: Sort, time_s: float) -> bool:
    if line.tally.settled >= settings.belt.blocks:
        return True
    return time_s - line.active_s > quiet_s(settings, line.tracks.speed_m_s)


def quiet_s(settings: Sort, speed_m_s: float) -> float:
    """How long no block is seen on a belt that runs at this speed before there is nothing more to come."""
    if abs(speed_m_s) < STANDING_M_S:
        return _STANDING_S
    quiet_m = max(_LENGTH_M, settings.belt.longest_gap_m + _IN_VIEW_M)
    return max(quiet_m / abs(speed_m_s), _LEAST_QUIET_S)
