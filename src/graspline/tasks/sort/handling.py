"""A block in the hand: `grip`, `carry`, `drop`."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from graspline.evidence import at_least, at_most, passes
from graspline.execution.requests import Motion, Reply, solved
from graspline.machine.outcome import Gives, Producing
from graspline.motion.guards import BothPadsTouch, HoldLost
from graspline.motion.joint_moves import jaw_move
from graspline.motion.path import at_rest
from graspline.perception.tracks import without
from graspline.refusal import Refusal
from graspline.tasks.sort.cell import Cell, departing
from graspline.tasks.sort.choice import Catch, plan_carry
from graspline.tasks.sort.hand import leaving
from graspline.tasks.sort.line import Line, Pending
from graspline.tasks.sort.states import Watched
from graspline.tasks.sort.ways import gripped_rad, holding, riding

# Besides closing and feeling, so long may pass before a grip counts as missed.
_PATIENCE_S = 0.05
_LOST_S = 0.03
# Fingers are clear of a block this far from it on either side, by their reference; they trail it a little.
_FREE_M = 0.006


def grip(last: Reply, cell: Cell, line: Line, caught: Catch) -> Producing[Gives[Literal["gripped", "missed"], Watched]]:
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
    last: Reply, cell: Cell, line: Line, caught: Catch
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


def drop(last: Reply, cell: Cell, line: Line, caught: Catch) -> Producing[Gives[Literal["released", "stuck"], Watched]]:
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
