"""The states of `oranges` with a fruit in the hand: up, back, across and down to its spot."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from graspline.evidence import Evidence, at_least, at_most, failures
from graspline.execution.notifications import Noticed
from graspline.execution.requests import Announce, Free, Motion, Reply, Request, Watch, solved
from graspline.machine.outcome import Gives, Outcome, Producing, Stage
from graspline.motion.guards import Guard, PlaceMoved
from graspline.motion.joint_moves import brake
from graspline.motion.joint_moves import hold as still
from graspline.motion.path import Command, Path
from graspline.placement.carry import no_support, plan_raise
from graspline.placement.query import CarryPlan
from graspline.refusal import Refusal
from graspline.tasks.oranges.parameters import Oranges
from graspline.tasks.oranges.pick_state import (
    Errand,
    Job,
    OrangesCell,
    OrangesProgress,
    Where,
    Working,
    carry_query,
    free_spots,
    plan_way,
    where_of,
)
from graspline.tasks.oranges.plate_watch import minding_plate, plate_guard
from graspline.tasks.oranges.sight import PLATE_UNSEEN, Survey
from graspline.tasks.stages.carry import following_guards, held_outcome, hold_guards, raised
from graspline.tasks.stages.free import above_end

# Looks at a plate that was moved, before it is taken to be at rest whatever they say.
_PLATE_LOOKS = 12


@minding_plate(give_up=False)
def lift(
    last: Reply, cell: OrangesCell, job: Job, progress: OrangesProgress
) -> Producing[Gives[Literal["lifted"], Working] | Outcome[Literal["dropped", "slipped", "blocked"]]]:
    """Raise the orange to carrying height, the hold checked on every tick, while the plate is watched."""
    height_m = _height_m(cell, job, last.command)
    guards, watch = _guards(cell, job)
    reach = cell.settings.reach.whole()
    ended = yield from raised(last, cell.robot, job.pick, max(height_m, 0.005), reach, guards, watch)
    if isinstance(ended, Refusal):
        return Outcome("blocked", ended.evidence, about=job.target)
    if ended.by == "completed":
        return Gives("lifted", Working(job=job), ended.evidence, about=job.target)
    return held_outcome("lifted", ended, job.target)


def _height_m(cell: OrangesCell, job: Job, command: Command) -> float:
    """How much higher than it is the orange is carried."""
    query = carry_query(cell.world, job.in_hand, command, (), cell.settings)
    return cell.settings.carry.clear_height_m + job.in_hand.spread_m - float(query.held_m()[2])


def _holding(name: str, path: Path, cell: OrangesCell, job: Job) -> Motion:
    """A motion that ends once the orange is no longer held."""
    guards, watch = _guards(cell, job)
    return Motion(name, path, guards=guards, watch=watch)


def _guards(cell: OrangesCell, job: Job) -> tuple[tuple[Guard, ...], Watch]:
    """What ends a motion with the orange in the hand, and how the orange is watched for that."""
    settings, watch = cell.settings, cell.eye.watch(job.target, job.reference.in_hand_m)
    # One picture may deceive where fruit overlaps; two in a row must say so.
    sure_s = max(settings.hold.sure_s, 1.5 / watch.rate_hz)
    keep = settings.hold.model_copy(update={"sure_s": sure_s})
    return (*hold_guards(job.reference, settings.close, keep), *following_guards(job.reference, keep)), watch


def _carried(
    good: Any, name: str, path: Path, free: Free, cell: OrangesCell, job: Job
) -> Generator[Request, Reply, Outcome[Any]]:
    """Play a way to a spot. Where the plate was moved meanwhile, stop and look until it is at rest."""
    motion, place, settings = replace(_holding(name, path, cell, job), free=free), cell.eye.watch_plate(), cell.settings
    if place is not None:
        assert job.survey.plate is not None
        moved = plate_guard(job.survey.plate, settings, place)
        motion = replace(motion, guards=(*motion.guards, moved), place=place)
    reply = yield motion
    if not isinstance(reply.by, PlaceMoved):
        return held_outcome(good, reply, job.target)
    evidence = tuple(each for each in reply.evidence if each.name == PlaceMoved.MEASURED)
    if reply.command.moving:
        reply = yield _holding("brake", brake(cell.robot, reply.command), cell, job)
    pause_s, before_m = settings.release.check_s, None
    for _ in range(_PLATE_LOOKS):
        if reply.by != "completed" and not isinstance(reply.by, PlaceMoved):
            return held_outcome(good, reply, job.target)
        survey = yield from job.look(reply, cell)
        now_m = None if survey.plate is None else survey.plate.position_m
        if before_m is not None and now_m is not None:
            crept_m = float(np.linalg.norm(now_m - before_m))
            assert survey.plate is not None
            if crept_m <= settings.rest.speed_m_s * pause_s + 6 * survey.plate.position_sigma_m:
                break
        before_m = now_m
        reply = yield _holding("wait", still(cell.robot, reply.command, pause_s), cell, job)
    return Outcome("plate_moved", evidence, about=job.target)


def retreat(
    last: Reply, cell: OrangesCell, job: Job, progress: OrangesProgress
) -> Producing[
    Gives[Literal["clear"], Working]
    | Outcome[Literal["dropped", "slipped", "blocked", "plate_full", "no_way", "plate_lost", "plate_moved"]]
]:
    """Look where the plate is now, plan the way there from how the orange sits, and retract first if that helps."""
    settings = cell.settings
    if _height_m(cell, job, last.command) >= settings.carry.already_there_m:
        # Up from a spot over which it was being lowered.
        up = yield from solved(plan_raise, carry_query(cell.world, job.in_hand, last.command, (), settings))
        if up is not None:
            last = yield _holding("raise", up, cell, job)
            if last.by != "completed":
                return held_outcome("clear", last, job.target)
    survey = yield from job.look(last, cell)
    if survey.plate is None:
        return Outcome("plate_lost", PLATE_UNSEEN, about=job.target)
    where = where_of(job.target, survey, progress.wanted, settings)
    carry: CarryPlan | Refusal = no_support(job.target)
    wished, planned = job.carry, (cell.world, where, job.in_hand, last.command, settings)
    if _shift_m(job.survey, survey) <= settings.plate.shift_m and not _taken(wished.spot_m, where, settings):
        # The spot that was planned for, as long as it is still free.
        carry = yield from solved(plan_way, *planned, [wished.spot_m], wished)
    if isinstance(carry, Refusal):
        free = free_spots(where, settings)
        if not free:
            return Outcome("plate_full", carry.evidence, about=job.target)
        carry = yield from solved(plan_way, *planned, free)
    if isinstance(carry, Refusal):
        return Outcome("no_way", carry.evidence, about=job.target)
    job = replace(job, plan=Errand(pick=job.pick, carry=carry), survey=survey, where=where)
    if carry.retreat is None:
        return Gives("clear", Working(job=job), about=job.target)
    outcome = yield from _carried("clear", "retreat", carry.retreat, Free(), cell, job)
    return Gives("clear", Working(job=job), outcome.evidence, about=job.target) if outcome.name == "clear" else outcome


def _shift_m(before: Survey, after: Survey) -> float:
    assert before.plate is not None
    assert after.plate is not None
    return float(np.linalg.norm(after.plate.position_m - before.plate.position_m))


def transport(
    last: Reply, cell: OrangesCell, job: Job
) -> Stage[Literal["arrived", "dropped", "slipped", "blocked", "plate_moved"]]:
    """Carry the orange to above its spot; a move that is already done is skipped."""
    start, spot = last.readings.tool_position_m, job.carry.spot_m
    facts = {"start_m": tuple(float(each) for each in start), "target_m": spot, "strategy": job.carry.strategy}
    yield Announce(Noticed(what="transport", about=job.target, facts=facts))
    if job.carry.transport is None:
        return Outcome("arrived", about=job.target)
    return (yield from _carried("arrived", "transport", job.carry.transport, Free(), cell, job))


def lower(
    last: Reply, cell: OrangesCell, job: Job, progress: OrangesProgress
) -> Stage[Literal["lowered", "dropped", "slipped", "blocked", "plate_moved", "spot_taken"]]:
    """See whether the plate is still where it was and the spot still free, and set the orange down there."""
    settings, survey = cell.settings, (yield from job.look(last, cell))
    shift = _shift_m(job.survey, survey) if survey.plate is not None else float("nan")
    moved = at_most("plate_shift", shift, settings.plate.shift_m, "m")
    if not moved.passed:
        return Outcome("plate_moved", (moved,), about=job.target)
    where = where_of(job.target, survey, progress.wanted, settings)
    taken = _taken(job.carry.spot_m, where, settings)
    if taken:
        return Outcome("spot_taken", taken, about=job.target)
    down = job.carry.lower
    return (yield from _carried("lowered", "lower", down, above_end(cell.robot, down), cell, job))


def _taken(spot_m: tuple[float, float], where: Where, settings: Oranges) -> Evidence:
    """What lies where the orange would come to lie, with the distances that are missing."""
    x, y = spot_m
    return failures(
        tuple(
            at_least(
                f"apart_from_{each.name}",
                float(np.hypot(each.x_m - x, each.y_m - y)),
                each.radius_m + where.target.radius_m + settings.carry.clearance_m / 2,
                "m",
            )
            for each in where.resting
        )
    )
