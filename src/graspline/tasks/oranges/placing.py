"""The states of `oranges` from opening the jaws to knowing that the fruit rests on the plate."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from graspline.evidence import Evidence, at_least, at_most, passes
from graspline.execution.notifications import Noticed
from graspline.execution.requests import Announce, Motion, Reply
from graspline.machine.outcome import Gives, Outcome, Producing
from graspline.motion.guards import TrackingError
from graspline.motion.joint_moves import hold as still
from graspline.perception.core.beliefs import Belief
from graspline.placement.resting import FruitSighting, has_been_still, not_displaced, plate_not_shifted, rests_on
from graspline.tasks.oranges.parameters import Oranges
from graspline.tasks.oranges.pick_state import (
    Job,
    NotedProgress,
    OrangesCell,
    OrangesProgress,
    PlacementRecord,
    on_plate,
)
from graspline.tasks.oranges.sight import Survey, plate_shape


def release(
    cell: OrangesCell, job: Job, progress: OrangesProgress
) -> Producing[Outcome[Literal["released", "missed_plate"]] | Gives[Literal["not_released"], NotedProgress]]:
    """Open the jaws and watch the orange come to rest on the plate."""
    settings = cell.settings
    ended = yield Motion("release", job.carry.open)
    began = seen_s = ended.time_s
    window: list[FruitSighting] = []
    while True:
        survey = yield from cell.eye.survey()
        seen = survey.things.get(job.target)
        if seen is not None and survey.plate is not None:
            error, seen_s = seen.position_sigma_m, ended.time_s
            window.append(_sighting(seen, survey))
            evidence = _at_rest(tuple(window), seen.radius_m, survey, settings, error)
            yield Announce(_placement_check(seen, survey, evidence, settings))
            if passes(evidence):
                return Outcome("released", evidence, about=job.target)
            if passes(has_been_still(window, settings.rest, error)) and _out_of_hand(ended, settings):
                return Outcome("missed_plate", evidence, about=job.target)
        elif ended.time_s - seen_s >= settings.release.unseen_s:
            # Hidden by the hand, or gone: it is looked for again once the hand has left.
            return Outcome("released", about=job.target)
        if ended.time_s - began >= settings.release.limit_s:
            evidence = (at_most("release_time", ended.time_s - began, settings.release.limit_s, "s"),)
            position = window[-1].position_m if window else np.full(3, np.nan)
            record = PlacementRecord(name=job.target, position_m=position, succeeded=False, time_s=ended.time_s)
            noted = NotedProgress(progress=replace(progress, records=(*progress.records, record)))
            return Gives("not_released", noted, evidence, about=job.target)
        ended = yield Motion("release", still(cell.robot, ended.command, settings.release.check_s))


def _placement_check(seen: Belief, survey: Survey, evidence: Evidence, settings: Oranges) -> Noticed:
    """One look at a released orange, for the log: where it is, what bounds it, and how it fares."""
    assert survey.plate is not None
    plate = plate_shape(survey.plate)
    low, high = survey.plate.position_m - plate.radius_m, survey.plate.position_m + plate.radius_m
    margin, at = settings.rest.inside_margin_m, seen.position_m
    top = plate.floor_m + 2 * seen.radius_m
    facts = {
        "position_m": tuple(float(each) for each in at),
        "plate_min_m": (float(low[0]), float(low[1]), 0.0),
        "plate_max_m": (float(high[0]), float(high[1]), top),
        "x_ok": bool(low[0] + margin <= at[0] <= high[0] - margin),
        "y_ok": bool(low[1] + margin <= at[1] <= high[1] - margin),
        "z_ok": bool(0.0 <= at[2] <= top),
        "result": "placed" if passes(evidence) else "not yet",
    }
    return Noticed(what="placement check", about=seen.name, facts=facts, evidence=evidence, detail=True)


def _out_of_hand(reply: Reply, settings: Oranges) -> bool:
    return max(reply.readings.pad_forces_n()) < settings.close.lost_n


def _sighting(seen: Belief, survey: Survey) -> FruitSighting:
    assert survey.plate is not None
    return FruitSighting(time_s=survey.time_s, position_m=seen.position_m, plate_m=survey.plate.position_m)


def _at_rest(
    window: tuple[FruitSighting, ...], radius_m: float, survey: Survey, settings: Oranges, error_m: float
) -> Evidence:
    assert survey.plate is not None
    recent = tuple(each for each in window if each.time_s >= window[-1].time_s - settings.rest.still_s - 1e-9)
    return (
        *rests_on(recent, radius_m, plate_shape(survey.plate), settings.rest, error_m),
        *has_been_still(window, settings.rest, error_m),
    )


def withdraw(
    last: Reply, cell: OrangesCell, job: Job, progress: OrangesProgress
) -> Producing[
    Gives[Literal["placed", "disturbed", "not_placed"], NotedProgress] | Outcome[Literal["unseen", "blocked"]]
]:
    """Take the hand away and look again: the orange still rests there, and nothing else was moved."""
    settings, guards = cell.settings, (TrackingError(error_rad=cell.settings.close.blocked_rad),)
    ended = yield Motion("withdraw", job.carry.withdraw, guards=guards)
    if ended.by != "completed":
        return Outcome("blocked", ended.evidence, about=job.target)
    window: list[FruitSighting] = []
    while True:
        survey = yield from cell.eye.survey()
        seen = survey.things.get(job.target)
        if seen is None or survey.plate is None:
            return Outcome("unseen", (at_least("sightings", len(window), 2),), about=job.target)
        window.append(_sighting(seen, survey))
        if window[-1].time_s - window[0].time_s >= settings.rest.still_s - 1e-9:
            break
        ended = yield Motion("withdraw", still(cell.robot, ended.command, settings.release.check_s))
    error = seen.position_sigma_m
    rests = _at_rest(tuple(window), seen.radius_m, survey, settings, error)
    kept = _nothing_else_moved(job, survey, settings, error)
    yield Announce(_placement_check(seen, survey, rests, settings))
    good = passes(rests)
    record = PlacementRecord(name=job.target, position_m=seen.position_m, succeeded=good, time_s=window[-1].time_s)
    progress = progress.untried(job.target) if good else progress
    noted = NotedProgress(progress=replace(progress, records=(*progress.records, record), skipped=()))
    if not good:
        return Gives("not_placed", noted, rests, about=job.target)
    return Gives("placed" if passes(kept) else "disturbed", noted, (*rests, *kept), about=job.target)


def _nothing_else_moved(job: Job, after: Survey, settings: Oranges, error_m: float) -> Evidence:
    """Fruit that lay on the plate before has not been moved on it, nor has the plate."""
    before = job.survey
    assert before.plate is not None
    assert after.plate is not None
    names = [name for name in on_plate(before, settings) if name != job.target and name in after.things]
    neighbours = not_displaced(
        {name: before.things[name].position_m - before.plate.position_m for name in names},
        {name: after.things[name].position_m - after.plate.position_m for name in names},
        settings.rest,
        error_m,
    )
    plate = plate_not_shifted(before.plate.position_m, after.plate.position_m, settings.rest, error_m)
    return (*neighbours, *plate)
