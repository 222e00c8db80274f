"""The plate is watched while something else is done: once it has been moved, a new spot is planned at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Evidence, at_least
from graspline.execution.happenings import Noticed
from graspline.execution.requests import Announce, Motion, Reply, Request, Watch, solved
from graspline.kinematics.arms import arm_of
from graspline.motion.guards import PlaceMoved
from graspline.motion.joint_moves import brake, join, joint_move
from graspline.motion.path import Command, Path, at_rest
from graspline.perception.beliefs import Belief
from graspline.planning.collision import CollisionWorld
from graspline.refusal import Refusal
from graspline.robots.robot import Robot
from graspline.tasks.oranges.errand import Errand, free_spots, nominal_hold, plan_way
from graspline.tasks.oranges.job import Job, Progress, where_of
from graspline.tasks.oranges.parameters import Oranges
from graspline.tasks.oranges.sight import FruitEye

Array = NDArray[np.float64]
T = TypeVar("T")

# Share of the joints' speed limit at which an arm that was pushed off a path goes to the path's end.
_BACK_SPEED = 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class Minded(Generic[T]):
    """What a stage returned during which the plate was watched."""

    # None if the stage was given up, for there is no way to any spot on the plate where it is now.
    result: T | None
    # With a new spot if the plate was moved.
    job: Job
    # Why no spot can be reached.
    evidence: Evidence = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Minder:
    """What planning a new spot takes."""

    robot: Robot
    eye: FruitEye
    world: CollisionWorld
    settings: Oranges
    progress: Progress


def plate_guard(plate: Belief, settings: Oranges, watch: Watch) -> PlaceMoved:
    """Ends a motion once two sightings in a row say that the plate is not where it was planned for."""
    x, y, z = (float(each) for each in plate.position_m)
    limit_m = settings.plate.shift_m + 6 * plate.position_sigma_m
    return PlaceMoved(was_at_m=(x, y, z), limit_m=limit_m, for_s=1.5 / watch.rate_hz)


def held_m(reply: Reply, robot: Robot, job: Job) -> Array:
    """Where what is in the hand must be, by the joints."""
    return arm_of(robot).forward(reply.readings.joints[None, robot.arm], np.array(job.in_hand.centre_m))[0][0]


def minding_plate(
    stage: Generator[Request, Reply, T], last: Reply, minder: Minder, job: Job, *, give_up: bool
) -> Generator[Request, Reply, Minded[T]]:
    """Play a stage whose own motions do not depend on the plate, and watch the plate meanwhile.

    A motion that ends because the plate was moved is played on as soon as a new spot has been planned, so that the
    stage does not notice. If there is no such spot the stage is given up, or goes on and leaves that to others.
    """
    watch = minder.eye.watch_plate()
    reply, answer = last, None
    while True:
        try:
            request = stage.send(answer) if answer is not None else next(stage)
        except StopIteration as done:
            return Minded(result=done.value, job=job)
        if isinstance(request, Announce):
            yield request
            continue
        if not isinstance(request, Motion) or watch is None:
            answer = reply = yield request
            continue
        while True:
            assert job.survey.plate is not None
            moved, began_s = plate_guard(job.survey.plate, minder.settings, watch), reply.time_s
            reply = yield dataclasses.replace(request, guards=(*request.guards, moved), place=watch)
            shift = tuple(each for each in reply.evidence if each.name == PlaceMoved.MEASURED)
            kept = tuple(each for each in reply.evidence if each.name != PlaceMoved.MEASURED)
            reply = dataclasses.replace(reply, evidence=kept)
            if reply.by is not moved:
                break
            found = yield from _new_spot(reply, minder, job)
            facts = {"new_spot_m": found.carry.spot_m if isinstance(found, Job) else "none"}
            yield Announce(Noticed(what="plate moved", about=job.target, facts=facts, evidence=shift))
            if isinstance(found, Job):
                job = found
            elif give_up:
                stage.close()
                return Minded(result=None, job=job, evidence=found)
            else:
                watch = None
            played = round((reply.time_s - began_s) / request.path.dt_s)
            rest = _rest(minder.robot, request.path, played, reply.command)
            if rest is None:
                reply = dataclasses.replace(reply, by="completed")
                break
            request = dataclasses.replace(request, path=rest, free=None)
            if watch is None:
                reply = yield request
                break
        answer = reply


def _rest(robot: Robot, path: Path, played: int, now: Command) -> Path | None:
    """What is left of a path after `played` ticks; None if nothing is.

    An arm that was pushed off comes to rest and goes to the path's end from there.
    """
    if played < path.ticks and np.array_equal(path.positions[played], now.position):
        return Path(positions=path.positions[played:], velocities=path.velocities[played:], dt_s=path.dt_s)
    if np.array_equal(path.end, now.position):
        return None
    stop = brake(robot, now)
    return join(stop, joint_move(robot, at_rest(stop.end), path.end, speed=_BACK_SPEED))


def _new_spot(reply: Reply, minder: Minder, job: Job) -> Generator[Request, Reply, Job | Evidence]:
    """The same job with a way to a spot on the plate where it is now, or why there is none."""
    robot, settings = minder.robot, minder.settings
    fruit_m = job.where.target.position_m if job.held is None else held_m(reply, robot, job)
    survey = yield from minder.eye.survey_holding(job.target, fruit_m, job.survey)
    if survey.plate is None:
        return (at_least("plates_seen", 0, 1),)
    where = where_of(job.target, survey, minder.progress.wanted, settings)
    where = dataclasses.replace(where, target=job.where.target)
    held = job.held or nominal_hold(robot, job.pick, settings)
    top = at_rest(np.append(job.pick.lift.end[robot.arm], held.jaw_rad))
    free = free_spots(where, settings)
    carry = yield from solved(plan_way, robot, minder.world, where, held, top, settings, free)
    if isinstance(carry, Refusal):
        return carry.evidence
    return dataclasses.replace(job, errand=Errand(pick=job.pick, carry=carry), survey=survey, where=where)
