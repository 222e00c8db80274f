"""Whether blocks are where they belong: `check`, `recheck`, `account`."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from graspline.evidence import Evidence, at_most, passes
from graspline.execution.requests import Reply, Request
from graspline.machine.outcome import Gives, Outcome, Producing
from graspline.perception.belt_blocks import BlockSeen
from graspline.tasks.sort.cell import Cell
from graspline.tasks.sort.line import Line, Pending, SeenInBin, SeenInBins
from graspline.tasks.sort.parameters import Sort
from graspline.tasks.sort.sight import BeltEye
from graspline.tasks.sort.states import LAST_S, Spotted, Watched
from graspline.tasks.sort.ways import Going

# Bins are looked at past the arm, whichever camera follows the belt.
BINS = BeltEye(camera="bins")
# A block in a bin is this near to where the output belt has carried it since it was let go, even where the next one has
# pushed it; whose else it may be is settled first. It counts once the hand is this far away.
_IN_BIN_M = 0.08
_LEFT_M = 0.09


def check(
    last: Reply, cell: Cell, line: Line, going: Going
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


def recheck(last: Reply, cell: Cell, line: Line) -> Producing[Gives[Literal["sorted", "unseen"], Watched]]:
    """With the arm out of the way, look once more for blocks that were not seen in their bins."""
    line, evidence, seen = yield from _confirmed(line, cell.settings, last)
    if seen:
        return Gives("sorted", Watched(line=line), evidence, about=SeenInBins(blocks=seen))
    missed = (*line.tally.missed, *("not_confirmed" for _ in line.pending))
    return Gives("unseen", Watched(line=replace(line, tally=replace(line.tally, missed=missed), pending=())))


def account(cell: Cell, line: Line) -> Outcome[Literal["done", "short", "idle"]]:
    """Hold what was sorted against what was sent."""
    blocks = cell.settings.belt.blocks
    evidence = line.tally.evidence(blocks, cell.settings.success_share)
    if line.tally.ignored >= blocks:
        return Outcome("idle", evidence)
    return Outcome("done" if passes(evidence) else "short", evidence)


def _confirmed(
    line: Line, settings: Sort, reply: Reply
) -> Generator[Request, Reply, tuple[Line, Evidence, tuple[SeenInBin, ...]]]:
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
