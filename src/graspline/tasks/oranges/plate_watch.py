"""The plate is watched while something else is done: once it has been moved, a new spot is planned at once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any, TypeVar, cast

import numpy as np

from graspline.evidence import Evidence, at_least
from graspline.execution.notifications import Noticed
from graspline.execution.requests import Announce, Motion, Reply, Request, Watch, solved
from graspline.machine.outcome import Gives, Outcome
from graspline.motion.guards import PlaceMoved
from graspline.motion.joint_moves import brake, join, joint_move
from graspline.motion.path import Command, Path, at_rest
from graspline.perception.core.beliefs import Belief
from graspline.refusal import Refusal
from graspline.robots.robot import Robot
from graspline.tasks.oranges.parameters import Oranges
from graspline.tasks.oranges.pick_state import (
    Errand,
    Holding,
    Job,
    OrangesCell,
    OrangesProgress,
    Working,
    free_spots,
    nominal_hold,
    plan_way,
    where_of,
)

F = TypeVar("F", bound=Callable[..., Generator[Request, Reply, Any]])

# Share of the joints' speed limit at which an arm that was pushed off a path goes to the path's end.
_BACK_SPEED = 0.15


def plate_guard(plate: Belief, settings: Oranges, watch: Watch) -> PlaceMoved:
    """Ends a motion once two sightings in a row say that the plate is not where it was planned for."""
    x, y, z = (float(each) for each in plate.position_m)
    limit_m = settings.plate.shift_m + 6 * plate.position_sigma_m
    return PlaceMoved(was_at_m=(x, y, z), limit_m=limit_m, for_s=1.5 / watch.rate_hz)


def minding_plate(*, give_up: bool) -> Callable[[F], F]:
    """Watch the plate during a state whose own motions do not depend on it.

    A motion that ends because the plate was moved is played on as soon as a new spot has been planned, so that the
    state does not notice: the job that its outcome hands on gets the new way. If there is no such spot the state goes
    on and leaves that to others, or is given up: `plate_moved`.
    """

    def minded(state: F) -> F:
        @functools.wraps(state)
        def played(
            last: Reply, cell: OrangesCell, job: Job, progress: OrangesProgress
        ) -> Generator[Request, Reply, Any]:
            return _minding(state(last, cell, job, progress), last, cell, job, progress, give_up=give_up)

        return cast(F, played)

    return minded


def _minding(
    stage: Generator[Request, Reply, Any],
    last: Reply,
    cell: OrangesCell,
    job: Job,
    progress: OrangesProgress,
    *,
    give_up: bool,
) -> Generator[Request, Reply, Any]:
    watch = cell.eye.watch_plate()
    reply, answer = last, None
    while True:
        try:
            request = stage.send(answer) if answer is not None else next(stage)
        except StopIteration as done:
            return _with_way(done.value, job)
        if isinstance(request, Announce):
            yield request
            continue
        if not isinstance(request, Motion) or watch is None:
            answer = reply = yield request
            continue
        while True:
            assert job.survey.plate is not None
            moved, began_s = plate_guard(job.survey.plate, cell.settings, watch), reply.time_s
            reply = yield replace(request, guards=(*request.guards, moved), place=watch)
            shift = tuple(each for each in reply.evidence if each.name == PlaceMoved.MEASURED)
            kept = tuple(each for each in reply.evidence if each.name != PlaceMoved.MEASURED)
            reply = replace(reply, evidence=kept)
            if reply.by is not moved:
                break
            found = yield from _new_spot(reply, cell, job, progress)
            facts = {"new_spot_m": found.carry.spot_m if isinstance(found, Job) else "none"}
            yield Announce(Noticed(what="plate moved", about=job.target, facts=facts, evidence=shift))
            if isinstance(found, Job):
                job = found
            elif give_up:
                stage.close()
                return Outcome("plate_moved", found, about=job.target)
            else:
                watch = None
            played = round((reply.time_s - began_s) / request.path.dt_s)
            rest = _rest(cell.robot, request.path, played, reply.command)
            if rest is None:
                reply = replace(reply, by="completed")
                break
            request = replace(request, path=rest, free=None)
            if watch is None:
                reply = yield request
                break
        answer = reply


def _with_way(outcome: Any, job: Job) -> Any:
    """The same outcome; the job that it hands on, if it does, goes the way that was planned last."""
    if not (isinstance(outcome, Gives) and isinstance(outcome.data, Working | Holding)):
        return outcome
    newest = replace(outcome.data.job, plan=job.plan, survey=job.survey, where=job.where)
    return replace(outcome, data=replace(outcome.data, job=newest))


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


def _new_spot(
    reply: Reply, cell: OrangesCell, job: Job, progress: OrangesProgress
) -> Generator[Request, Reply, Job | Evidence]:
    """The same job with a way to a spot on the plate where it is now, or why there is none."""
    settings = cell.settings
    fruit_m = job.where.target.position_m if job.held is None else job.held_m(reply, cell.robot)
    survey = yield from cell.eye.survey_holding(job.target, fruit_m, job.survey)
    if survey.plate is None:
        return (at_least("plates_seen", 0, 1),)
    where = replace(where_of(job.target, survey, progress.wanted, settings), target=job.where.target)
    held, top = nominal_hold(job.pick, settings)
    if job.held is not None:
        held = job.held
        top = at_rest(np.append(job.pick.lift.end[cell.robot.arm], held.jaw_rad))
    carry = yield from solved(plan_way, cell.world, where, held, top, settings, free_spots(where, settings))
    if isinstance(carry, Refusal):
        return carry.evidence
    return replace(job, plan=Errand(pick=job.pick, carry=carry), survey=survey, where=where)
