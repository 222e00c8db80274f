"""The states of `sort`: finding blocks and going for them, a block in the hand, and whether blocks lie in their bins.

Pictures are taken wherever the hand is, and every way is planned and checked before it is gone.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from graspline.evidence import Evidence, at_least, at_most, passes
from graspline.execution.requests import Motion, Reply, Request, solved
from graspline.machine.outcome import Gives, Outcome, Producing
from graspline.motion.guards import BothPadsTouch, HoldLost
from graspline.motion.joint_moves import hold as still
from graspline.motion.joint_moves import jaw_move
from graspline.motion.path import at_rest
from graspline.perception.belt.blocks import BlockSeen
from graspline.perception.belt.tracks import without
from graspline.refusal import Refusal
from graspline.tasks.sort.belt_beliefs import STANDING_M_S, BeltBeliefs, Pending, SeenInBin, SeenInBins, given_up
from graspline.tasks.sort.catch_plans import (
    LEAVING_ANYTHING,
    Catch,
    Going,
    corrected,
    gripped_rad,
    holding,
    leaving_bin,
    plan_carry,
    plan_home,
    plan_next,
    riding,
    to_block,
    to_home,
)
from graspline.tasks.sort.cell import Departure, SortCell, departing
from graspline.tasks.sort.hand_poses import leaving
from graspline.tasks.sort.parameters import Sort
from graspline.tasks.sort.sight import BeltEye
from graspline.tasks.stages.rest import stopped

# Later than this before the hand is there nothing is looked at and no way is bent.
LAST_S = 0.12
# When the belt has moved on by its length without a block, or by the longest gap between two and what the camera on the
# hand sees of it, or has stood for this long, there is nothing to come.
_LENGTH_M, _IN_VIEW_M = 2.2, 0.6
_LEAST_QUIET_S, _STANDING_S = 8.0, 60.0
# Besides closing and feeling, so long may pass before a grip counts as missed.
_PATIENCE_S = 0.05
_LOST_S = 0.03
# Fingers are clear of a block this far from it on either side, by their reference; they trail it a little.
_FREE_M = 0.006
# Bins are looked at past the arm, whichever camera follows the belt.
BINS = BeltEye(camera="bins")
# A block in a bin is this near to where the output belt has carried it since it was let go, even where the next one has
# pushed it; whose else it may be is settled first. It counts once the hand is this far away.
_IN_BIN_M = 0.08
_LEFT_M = 0.09


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """What is believed of the belt after a look."""

    line: BeltBeliefs


@dataclass(frozen=True, slots=True, kw_only=True)
class Spotted:
    """The belt, and the way to the next block."""

    line: BeltBeliefs
    going: Going


@dataclass(frozen=True, slots=True, kw_only=True)
class Caught:
    """The belt, and the block that was caught."""

    line: BeltBeliefs
    caught: Catch


Onward = Producing[Gives[Literal["planned", "none"], Spotted] | Outcome[Literal["stuck"]]]


def watch(
    last: Reply, cell: SortCell, line: BeltBeliefs
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


def choose(last: Reply, cell: SortCell, line: BeltBeliefs, caught: Catch) -> Onward:
    """The next block, straight from where the hand is; or home, if there is none to go for."""
    return (yield from _onward(cell, line, departing(last, leaving_bin(caught.grasp), caught.grasp.open_rad)))


def retreat(last: Reply, cell: SortCell, line: BeltBeliefs) -> Onward:
    """Up and away from what went wrong, to another block or home."""
    reply, robot = last, cell.robot
    reply = yield from stopped(reply, robot)
    return (yield from _onward(cell, line, departing(reply, LEAVING_ANYTHING, float(robot.home[robot.jaw]))))


def _onward(cell: SortCell, line: BeltBeliefs, begin: Departure) -> Onward:
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
    last: Reply, cell: SortCell, line: BeltBeliefs, going: Going
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


def _is_over(line: BeltBeliefs, settings: Sort, time_s: float) -> bool:
    if line.tally.settled >= settings.belt.blocks:
        return True
    return time_s - line.active_s > quiet_s(settings, line.tracks.speed_m_s)


def quiet_s(settings: Sort, speed_m_s: float) -> float:
    """How long no block is seen on a belt that runs at this speed before there is nothing more to come."""
    if abs(speed_m_s) < STANDING_M_S:
        return _STANDING_S
    quiet_m = max(_LENGTH_M, settings.belt.longest_gap_m + _IN_VIEW_M)
    return max(quiet_m / abs(speed_m_s), _LEAST_QUIET_S)


def grip(
    last: Reply, cell: SortCell, line: BeltBeliefs, caught: Catch
) -> Producing[Gives[Literal["gripped", "missed"], Watched]]:
    """Close while riding along with the block, and hold what is felt against its width."""
    robot, wanted, colour = cell.robot, cell.settings.grip, caught.track.colour
    closing = jaw_move(robot, at_rest(last.command.position), gripped_rad(cell, caught), speed_rad_s=cell.jaw_speed)
    path = riding(cell, last, caught, closing.duration_s + wanted.touch_s + _PATIENCE_S)
    line = replace(line, tracks=without(line.tracks, caught.track.number))
    if path is None:
        return Gives("missed", Watched(line=line), (at_least("ways_along_with_block", 0, 1),), about=colour)
    ended = yield Motion("close", path, guards=(BothPadsTouch(force_n=wanted.touch_n, for_s=wanted.touch_s),))
    gap_m = float(robot.jaw_law.gap_m(ended.readings.joints[robot.jaw]))
    evidence = (
        at_least("weaker_pad_force", min(ended.readings.pad_forces_n()), wanted.touch_n, "N"),
        at_most("gap_error", abs(gap_m - caught.grasp.width_m), wanted.width_m, "m"),
    )
    if not passes(evidence):
        return Gives("missed", Watched(line=line), evidence, about=colour)
    tally = replace(line.tally, gripped_s=(*line.tally.gripped_s, ended.time_s))
    return Gives("gripped", Watched(line=replace(line, tally=tally)), evidence, about=colour)


def carry(
    last: Reply, cell: SortCell, line: BeltBeliefs, caught: Catch
) -> Producing[Gives[Literal["carried", "lost", "blocked"], Watched]]:
    """Lift the block off the belt and bring it over its bin, feeling all the way that it is still there."""
    wanted, colour, begin = cell.settings.grip, caught.track.colour, departing(last, leaving(caught.room_m))
    hop = yield from solved(plan_carry, cell, begin, caught)
    if isinstance(hop, Refusal):
        return Gives("blocked", Watched(line=line), (at_least("ways_to_bin", 0, 1),), about=colour)
    path = holding(cell, begin, hop, caught)
    least_rad = float(cell.robot.jaw_law.angle_rad(max(caught.grasp.width_m - wanted.width_m, 0.0)))
    lost = HoldLost(least_jaw_rad=least_rad, force_n=wanted.lost_n, for_s=_LOST_S)
    while path.ticks > 0:
        reply, path = yield from cell.go("carry", path, lost)
        if reply.by != "completed":
            outcome = "lost" if isinstance(reply.by, HoldLost) else "blocked"
            return Gives(outcome, Watched(line=line), reply.evidence, about=colour)
        if path.ticks:
            line = yield from cell.look(line, reply, holding=True)
    return Gives("carried", Watched(line=line), about=colour)


def drop(
    last: Reply, cell: SortCell, line: BeltBeliefs, caught: Catch
) -> Producing[Gives[Literal["released", "stuck"], Watched]]:
    """Open until the fingers are clear of the block, and feel that nothing is held any more."""
    robot, settings, grasp, colour = cell.robot, cell.settings, caught.grasp, caught.track.colour
    opening = jaw_move(robot, last.command, grasp.open_rad, speed_rad_s=cell.jaw_speed)
    free = opening.positions[:, robot.jaw] >= float(robot.jaw_law.angle_rad(grasp.width_m + 2 * _FREE_M))
    # They go on opening while the hand rises.
    ended = yield Motion("open", opening.cut(max(1, int(np.argmax(free))))[0])
    evidence = (at_most("stronger_pad_force", max(ended.readings.pad_forces_n()), settings.grip.lost_n, "N"),)
    let_go = Pending(
        colour=colour,
        bin=settings.rules.its_bin(colour),
        point_m=ended.readings.tool_position_m.copy(),
        time_s=ended.time_s,
    )
    line = replace(line, pending=(*line.pending, let_go))
    return Gives("released" if passes(evidence) else "stuck", Watched(line=line), evidence, about=colour)


def check(
    last: Reply, cell: SortCell, line: BeltBeliefs, going: Going
) -> Producing[Gives[Literal["sorted", "unseen", "blocked"], Spotted]]:
    """On the way, look back whether the block lies in its bin."""
    while going.path.duration_s > LAST_S + cell.piece_ticks * cell.robot.dt_s:
        reply, rest = yield from cell.go("travel", going.path)
        going = replace(going, path=rest)
        if reply.by != "completed":
            return Gives("blocked", Spotted(line=line, going=going), reply.evidence)
        line = yield from cell.look(line, reply)
        line, evidence, seen = yield from _confirmed(line, cell.settings, reply)
        if seen:
            return Gives("sorted", Spotted(line=line, going=going), evidence, about=SeenInBins(blocks=seen))
    return Gives("unseen", Spotted(line=line, going=going))


def recheck(last: Reply, cell: SortCell, line: BeltBeliefs) -> Producing[Gives[Literal["sorted", "unseen"], Watched]]:
    """With the arm out of the way, look once more for blocks that were not seen in their bins."""
    line, evidence, seen = yield from _confirmed(line, cell.settings, last)
    if seen:
        return Gives("sorted", Watched(line=line), evidence, about=SeenInBins(blocks=seen))
    missed = (*line.tally.missed, *("not_confirmed" for _ in line.pending))
    return Gives("unseen", Watched(line=replace(line, tally=replace(line.tally, missed=missed), pending=())))


def account(cell: SortCell, line: BeltBeliefs) -> Outcome[Literal["done", "short", "idle"]]:
    """Hold what was sorted against what was sent."""
    blocks = cell.settings.belt.blocks
    evidence = line.tally.evidence(blocks, cell.settings.success_share)
    if line.tally.ignored >= blocks:
        return Outcome("idle", evidence)
    return Outcome("done" if passes(evidence) else "short", evidence)


def _confirmed(
    line: BeltBeliefs, settings: Sort, reply: Reply
) -> Generator[Request, Reply, tuple[BeltBeliefs, Evidence, tuple[SeenInBin, ...]]]:
    """What is known after a look at the bins, and which blocks it showed for the first time."""
    tool, evidence, shown = reply.readings.tool_position_m, (), list[SeenInBin]()
    left = [each for each in line.pending if float(np.linalg.norm(tool - each.point_m)) >= _LEFT_M]
    if not left:
        return line, (), ()
    picture = yield from BINS.picture()
    for name in {each.bin: None for each in left}:
        # A block that was seen there before may be the one that is seen now.
        mine = [each for each in (*line.placed, *line.pending) if each.bin == name]
        for seen, found, off_m in _paired(BINS.in_bin(picture, name), mine, settings, reply.time_s):
            if found in left and found in line.pending:
                line = line.confirming(found)
                evidence += (at_most("off_where_it_must_be", off_m, _IN_BIN_M, "m"),)
                number = line.tally.number_of(found.colour)
                shown.append(SeenInBin(colour=found.colour, number=number, x_m=seen.x_m, y_m=seen.y_m))
    return line, evidence, tuple(shown)


def _paired(
    seen: Sequence[BlockSeen], let_go: Sequence[Pending], settings: Sort, time_s: float
) -> Iterator[tuple[BlockSeen, Pending, float]]:
    """Blocks that are seen with those that were let go, each with one at most, the nearest pairs first."""
    pairs = [
        (_off_m(block, each, settings, time_s), first, second)
        for first, block in enumerate(seen)
        for second, each in enumerate(let_go)
        if block.colour == each.colour
    ]
    taken_seen, taken = set[int](), set[int]()
    for off_m, first, second in sorted(pairs):
        if off_m <= _IN_BIN_M and first not in taken_seen and second not in taken:
            taken_seen.add(first)
            taken.add(second)
            yield seen[first], let_go[second], off_m


def _off_m(seen: BlockSeen, let_go: Pending, settings: Sort, time_s: float) -> float:
    """How far a block is from where one that was let go must be by now; the output belts run along -x."""
    drift = settings.belt.output_speed_m_s * (time_s - let_go.time_s)
    return float(np.hypot(seen.x_m - let_go.point_m[0] + drift, seen.y_m - let_go.point_m[1]))
