"""One errand that the states' tests share: certified, with a second orange beside the way."""

from __future__ import annotations

import dataclasses

import pytest

from graspline.motion.path import at_rest
from graspline.planning.collision import CollisionWorld
from graspline.robots.so101 import HOME
from graspline.tasks.oranges.layout import collision_world
from graspline.tasks.oranges.pick_state import (
    Errand,
    Job,
    OrangesProgress,
    nominal_hold,
    plan_pick_and_place,
    where_of,
)
from graspline.tasks.stages.grasp import HoldReference

from .stagecraft import SETTINGS, Act, Array, at, forward_held, seen_ball, survey_of

WANTED = ("orange_1", "orange_2")


@pytest.fixture(scope="session")
def world() -> CollisionWorld:
    return collision_world(SETTINGS)


@pytest.fixture
def table() -> dict[str, Array]:
    return {"orange_1": at(0.24, -0.2), "orange_2": at(0.3, -0.8)}


@pytest.fixture(scope="session")
def planned_job(world: CollisionWorld) -> Job:
    """An orange to fetch, with the whole way planned."""
    survey = survey_of(seen_ball("orange_1", at(0.24, -0.2)), seen_ball("orange_2", at(0.3, -0.8)))
    where = where_of("orange_1", survey, WANTED, SETTINGS)
    plan = plan_pick_and_place(world, where, at_rest(HOME), SETTINGS)
    assert isinstance(plan, Errand)
    return Job(target="orange_1", survey=survey, where=where, plan=plan)


@pytest.fixture
def progress() -> OrangesProgress:
    return OrangesProgress(wanted=WANTED)


@pytest.fixture(scope="session")
def held_job(planned_job: Job) -> Job:
    """The same orange in the hand."""
    held = dataclasses.replace(nominal_hold(planned_job.pick, SETTINGS)[0], name="orange_1")
    at_m = forward_held(planned_job.pick.lift.end, held.centre_m)
    hold = HoldReference(
        least_jaw_rad=planned_job.pick.grasp.touch_rad - SETTINGS.closing.touch_error_rad,
        tool_m=at_m,
        object_m=at_m,
        in_hand_m=at_m - at_m,
        position_sigma_m=0.0,
    )
    return dataclasses.replace(planned_job, held=held, hold=hold)


@pytest.fixture
def holding(table: dict[str, Array], held_job: Job) -> Act:
    """The orange raised in the hand, where its way to the plate begins."""
    transport = held_job.carry.retreat or held_job.carry.transport
    assert transport is not None
    start = transport.positions[0]
    table["orange_1"] = forward_held(start, held_job.in_hand.centre_m)
    touch = held_job.pick.grasp.touch_rad
    return Act(table, command=at_rest(start), pads_n=(2.0, 2.0), jaw_rad=touch)
