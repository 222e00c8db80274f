"""Finding blocks and going for them: `watch`, `choose`, `retreat`, `travel`.

Pictures are taken wherever the hand is, and every way is planned and checked before it is gone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from graspline.evidence import at_least
from graspline.execution.requests import Motion, Reply, solved
from graspline.machine.outcome import Gives, Outcome, Producing
from graspline.motion.joint_moves import hold as still
from graspline.refusal import Refusal
from graspline.tasks.sort.cell import Cell, Departure, departing
from graspline.tasks.sort.choice import LEAVING_ANYTHING, Catch, leaving_bin, plan_home, plan_next
from graspline.tasks.sort.line import STANDING_M_S, Line, given_up
from graspline.tasks.sort.parameters import Sort
from graspline.tasks.sort.ways import Going, corrected, to_block, to_home
from graspline.tasks.stages.rest import stopped

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


Onward = Producing[Gives[Literal["planned", "none"], Spotted] | Outcome[Literal["stuck"]]]


def watch(
    last: Reply, cell: Cell, line: Line
) -> Producing[Gives[Literal["spotted"], Spotted] | Gives[Literal["finished", "in_doubt"], Watched]]:
    """Look at the belt until there is a block to go for, or nothing more to come."""
    reply, settings = last, cell.settings
    while True:
        line = yield from cell.look(line, reply)
        line = given_up(line, settings, reply.time_s)
        if line.pending:
            return Gives("in_doubt", Watched(line=line))
        if _is_over(line, settings, reply.time_s):
            return Gives("finished", Watched(line=line))
        begin = departing(reply)
        choice = yield from solved(plan_next, cell, begin, line.tracks)
        line = line.refusing(choice.refused)
        if choice.catch is not None:
            return Gives("spotted", Spotted(line=line, going=to_block(cell, begin, choice.catch)))
        reply = yield Motion("watch", still(cell.robot, reply.command, 1 / settings.sight.rate_hz))


def choose(last: Reply, cell: Cell, line: Line, caught: Catch) -> Onward:
    """The next block, straight from where the hand is; or home, if there is none to go for."""
    return (yield from _onward(cell, line, departing(last, leaving_bin(caught.grasp), caught.grasp.open_rad)))


def retreat(last: Reply, cell: Cell, line: Line) -> Onward:
    """Up and away from what went wrong, to another block or home."""
    reply, robot = last, cell.robot
    reply = yield from stopped(reply, robot)
    return (yield from _onward(cell, line, departing(reply, LEAVING_ANYTHING, float(robot.home[robot.jaw]))))


def _onward(cell: Cell, line: Line, begin: Departure) -> Onward:
    line = given_up(line, cell.settings, begin.now_s)
    choice = yield from solved(plan_next, cell, begin, line.tracks)
    line = line.refusing(choice.refused)
    if choice.catch is not None:
        return Gives("planned", Spotted(line=line, going=to_block(cell, begin, choice.catch)))
    home = yield from solved(plan_home, cell, begin)
    if isinstance(home, Refusal):
        return Outcome("stuck", (at_least("ways_home", 0, 1),))
    return Gives("none", Spotted(line=line, going=to_home(cell, begin, home)))


def travel(
    last: Reply, cell: Cell, line: Line, going: Going
) -> Producing[Gives[Literal["met"], Caught] | Gives[Literal["came_home", "escaped", "blocked"], Watched]]:
    """Go where the way leads, looking at the belt and following the block meanwhile."""
    while going.path.ticks > 0:
        reply, rest = yield from cell.go("travel", going.path)
        if reply.by != "completed":
            return Gives("blocked", Watched(line=line), reply.evidence)
        going = replace(going, path=rest)
        if rest.duration_s <= LAST_S:
            continue
        line = yield from cell.look(line, reply)
        if going.catch is not None:
            bent = corrected(cell, going, line.tracks, reply.time_s)
            if bent is None:
                evidence = (at_least("ways_to_block", 0, 1),)
                return Gives("escaped", Watched(line=line), evidence, about=going.catch.track.colour)
            going = bent
    if going.catch is None:
        return Gives("came_home", Watched(line=line))
    return Gives("met", Caught(line=line, caught=going.catch), about=going.catch.track.colour)


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
