"""The states of `oranges` with a fruit in the hand: up, back, across and down to its spot."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Evidence, at_least, at_most, failures
from graspline.execution.happenings import Noticed
from graspline.execution.requests import Announce, Free, Motion, Reply, Request, Watch, solved
from graspline.kinematics.arms import arm_of
from graspline.machine.outcome import Gives, Outcome, Producing, Stage
from graspline.motion.guards import Guard, PlaceMoved
from graspline.motion.joint_moves import brake
from graspline.motion.joint_moves import hold as still
from graspline.motion.path import Path
from graspline.placement.carry import no_support, plan_raise
from graspline.placement.query import CarryPlan
from graspline.planning.collision import CollisionWorld
from graspline.refusal import Refusal
from graspline.robots.robot import Robot
from graspline.tasks.oranges.errand import Errand, Where, carry_query, free_spots, plan_way
from graspline.tasks.oranges.job import Job, Progress, Working, where_of
from graspline.tasks.oranges.minding import Minder, held_m, minding_plate, plate_guard
from graspline.tasks.oranges.parameters import Oranges
from graspline.tasks.oranges.sight import PLATE_UNSEEN, FruitEye, Survey
from graspline.tasks.stages.carry import following_guards, held_outcome, hold_guards, raised
from graspline.tasks.stages.free import above_end

Array = NDArray[np.float64]

# Looks at a plate that was moved, before it is taken to be at rest whatever they say.
_PLATE_LOOKS = 12


def lift(
    last: Reply, robot: Robot, eye: FruitEye, world: CollisionWorld, settings: Oranges, job: Job, progress: Progress
) -> Producing[Gives[Literal["lifted"], Working] | Outcome[Literal["dropped", "slipped", "blocked"]]]:
    """Raise the orange, while the plate is watched."""
    minder = Minder(robot=robot, eye=eye, world=world, settings=settings, progress=progress)
    minded = yield from minding_plate(_raise(last, robot, eye, settings, job), last, minder, job, give_up=False)
    found = minded.result
    assert found is not None
    return dataclasses.replace(found, data=Working(job=minded.job)) if isinstance(found, Gives) else found


def _raise(
    last: Reply, robot: Robot, eye: FruitEye, settings: Oranges, job: Job
) -> Producing[Gives[Literal["lifted"], Working] | Outcome[Literal["dropped", "slipped", "blocked"]]]:
    """Raise the orange to carrying height, the hold checked on every tick."""
    centre = arm_of(robot).forward(last.command.position[None, robot.arm], np.array(job.in_hand.centre_m))[0][0]
    missing_m = settings.carry.clear_height_m + job.in_hand.spread_m - float(centre[2])
    guards, watch = _guards(eye, settings, job)
    reach = settings.reach.whole()
    ended = yield from raised(last, robot, job.pick, max(missing_m, 0.005), reach, guards, watch)
    if isinstance(ended, Refusal):
        return Outcome("blocked", ended.evidence, about=job.target)
    if ended.by == "completed":
        return Gives("lifted", Working(job=job), ended.evidence, about=job.target)
    return held_outcome("lifted", ended, job.target)


def _holding(name: str, path: Path, eye: FruitEye, settings: Oranges, job: Job) -> Motion:
    """A motion that ends once the orange is no longer held."""
    guards, watch = _guards(eye, settings, job)
    return Motion(name, path, guards=guards, watch=watch)


def _guards(eye: FruitEye, settings: Oranges, job: Job) -> tuple[tuple[Guard, ...], Watch]:
    """What ends a motion with the orange in the hand, and how the orange is watched for that."""
    watch = eye.watch(job.target, job.reference.in_hand_m)
    # One picture may deceive where fruit overlaps; two in a row must say so.
    sure_s = max(settings.hold.sure_s, 1.5 / watch.rate_hz)
    keep = settings.hold.model_copy(update={"sure_s": sure_s})
    return (*hold_guards(job.reference, settings.close, keep), *following_guards(job.reference, keep)), watch


def _carrying(name: str, path: Path, eye: FruitEye, settings: Oranges, job: Job, *, free: Free) -> Motion:
    """The same for a way to a spot: it ends, too, once the plate is no longer where it was planned for."""
    motion, place = dataclasses.replace(_holding(name, path, eye, settings, job), free=free), eye.watch_plate()
    if place is None:
        return motion
    assert job.survey.plate is not None
    moved = plate_guard(job.survey.plate, settings, place)
    return dataclasses.replace(motion, guards=(*motion.guards, moved), place=place)


def _carried(
    good: Any, motion: Motion, robot: Robot, eye: FruitEye, settings: Oranges, job: Job
) -> Generator[Request, Reply, Outcome[Any]]:
    """Play a way to a spot. Where the plate was moved meanwhile, stop and look until it is at rest."""
    reply = yield motion
    if not isinstance(reply.by, PlaceMoved):
        return held_outcome(good, reply, job.target)
    evidence = tuple(each for each in reply.evidence if each.name == PlaceMoved.MEASURED)
    if reply.command.moving:
        reply = yield _holding("brake", brake(robot, reply.command), eye, settings, job)
    pause_s, before_m = settings.release.check_s, None
    for _ in range(_PLATE_LOOKS):
        if reply.by != "completed" and not isinstance(reply.by, PlaceMoved):
            return held_outcome(good, reply, job.target)
        survey = yield from eye.survey_holding(job.target, held_m(reply, robot, job), job.survey)
        now_m = None if survey.plate is None else survey.plate.position_m
        if before_m is not None and now_m is not None:
            crept_m = float(np.linalg.norm(now_m - before_m))
            assert survey.plate is not None
            if crept_m <= settings.rest.speed_m_s * pause_s + 6 * survey.plate.position_sigma_m:
                break
        before_m = now_m
        reply = yield _holding("wait", still(robot, reply.command, pause_s), eye, settings, job)
    return Outcome("plate_moved", evidence, about=job.target)


def retreat(
    last: Reply,
    robot: Robot,
    eye: FruitEye,
    world: CollisionWorld,
    settings: Oranges,
    job: Job,
    progress: Progress,
) -> Producing[
    Gives[Literal["clear"], Working]
    | Outcome[Literal["dropped", "slipped", "blocked", "plate_full", "no_way", "plate_lost", "plate_moved"]]
]:
    """Look where the plate is now, plan the way there from how the orange really sits, and draw back if that helps."""
    up = yield from _way_up(last, robot, world, settings, job)
    if up is not None:
        last = yield _holding("raise", up, eye, settings, job)
        if last.by != "completed":
            return held_outcome("clear", last, job.target)
    survey = yield from eye.survey_holding(job.target, held_m(last, robot, job), job.survey)
    if survey.plate is None:
        return Outcome("plate_lost", PLATE_UNSEEN, about=job.target)
    where = where_of(job.target, survey, progress.wanted, settings)
    carry: CarryPlan | Refusal = no_support(job.target)
    wished = job.carry
    if _shift_m(job.survey, survey) <= settings.plate.shift_m and not _taken(wished.spot_m, where, settings):
        # The spot that was planned for, as long as it is still free.
        spots = [wished.spot_m]
        carry = yield from solved(plan_way, robot, world, where, job.in_hand, last.command, settings, spots, wished)
    if isinstance(carry, Refusal):
        free = free_spots(where, settings)
        if not free:
            return Outcome("plate_full", carry.evidence, about=job.target)
        carry = yield from solved(plan_way, robot, world, where, job.in_hand, last.command, settings, free)
    if isinstance(carry, Refusal):
        return Outcome("no_way", carry.evidence, about=job.target)
    errand = Errand(pick=job.pick, carry=carry)
    working = Working(job=dataclasses.replace(job, errand=errand, survey=survey, where=where))
    if carry.retreat is None:
        return Gives("clear", working, about=job.target)
    motion = _carrying("retreat", carry.retreat, eye, settings, working.job, free=Free())
    outcome = yield from _carried("clear", motion, robot, eye, settings, working.job)
    return Gives("clear", working, outcome.evidence, about=job.target) if outcome.name == "clear" else outcome


def _way_up(
    last: Reply, robot: Robot, world: CollisionWorld, settings: Oranges, job: Job
) -> Generator[Request, Reply, Path | None]:
    """Up to where oranges are carried, from a spot over which this one was being lowered; None where it is there."""
    query = carry_query(robot, world, job.in_hand, last.command, (), settings)
    missing_m = settings.carry.clear_height_m + job.in_hand.spread_m - float(query.held_m()[2])
    return None if missing_m < settings.carry.already_there_m else (yield from solved(plan_raise, query))


def _shift_m(before: Survey, after: Survey) -> float:
    assert before.plate is not None
    assert after.plate is not None
    return float(np.linalg.norm(after.plate.position_m - before.plate.position_m))


def transport(
    last: Reply, robot: Robot, eye: FruitEye, settings: Oranges, job: Job
) -> Stage[Literal["arrived", "dropped", "slipped", "blocked", "plate_moved"]]:
    """Carry the orange to above its spot; a move that is already done is skipped."""
    start, spot = last.readings.tool_position_m, job.carry.spot_m
    facts = {"start_m": tuple(float(each) for each in start), "target_m": spot, "strategy": job.carry.strategy}
    yield Announce(Noticed(what="transport", about=job.target, facts=facts))
    if job.carry.transport is None:
        return Outcome("arrived", about=job.target)
    motion = _carrying("transport", job.carry.transport, eye, settings, job, free=Free())
    return (yield from _carried("arrived", motion, robot, eye, settings, job))


def lower(
    last: Reply, robot: Robot, eye: FruitEye, settings: Oranges, job: Job, progress: Progress
) -> Stage[Literal["lowered", "dropped", "slipped", "blocked", "plate_moved", "spot_taken"]]:
    """See whether the plate is still where it was and the spot still free, and set the orange down there."""
    survey = yield from eye.survey_holding(job.target, held_m(last, robot, job), job.survey)
    shift = _shift_m(job.survey, survey) if survey.plate is not None else float("nan")
    moved = at_most("plate_shift", shift, settings.plate.shift_m, "m")
    if not moved.passed:
        return Outcome("plate_moved", (moved,), about=job.target)
    where = where_of(job.target, survey, progress.wanted, settings)
    taken = _taken(job.carry.spot_m, where, settings)
    if taken:
        return Outcome("spot_taken", taken, about=job.target)
    motion = _carrying("lower", job.carry.lower, eye, settings, job, free=above_end(robot, job.carry.lower))
    return (yield from _carried("lowered", motion, robot, eye, settings, job))


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
