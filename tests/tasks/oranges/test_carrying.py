"""Carrying an orange, the states by hand: what each asks for, and how it ends."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from graspline.evidence import Evidence
from graspline.execution.notifications import Noticed
from graspline.execution.requests import Motion
from graspline.motion.guards import (
    Apart,
    HoldLost,
    LeftBehind,
    PlaceMoved,
    Slipped,
    TrackingError,
    Unsteady,
)
from graspline.motion.path import at_rest
from graspline.scenes.fruit_table import PLATE
from graspline.tasks.oranges.carrying import lift, lower, retreat, transport
from graspline.tasks.oranges.pick_state import Job, OrangesProgress

from .stagecraft import (
    BALL_M,
    PLATE_XY,
    SETTINGS,
    Act,
    cell_of,
    forward_held,
    on_plate,
)

Array = NDArray[np.float64]
Table = dict[str, Array]


def failed(evidence: Evidence) -> list[str]:
    return [each.name for each in evidence if not each.passed]


# Carrying


def test_a_held_orange_is_raised_as_high_as_it_is_carried(
    held_job: Job, table: Table, progress: OrangesProgress
) -> None:
    start = np.append(held_job.pick.seat.end[:5], held_job.in_hand.jaw_rad)
    act = Act(table, command=at_rest(start), pads_n=(2.0, 2.0), jaw_rad=held_job.pick.grasp.touch_rad)
    found = act.play(lift(act.reply(), cell_of(), held_job, progress))
    assert found.name == "lifted"
    top = forward_held(act.paths("lift")[0].end, held_job.in_hand.centre_m)
    assert top[2] == pytest.approx(SETTINGS.carry.clear_height_m + BALL_M, abs=1e-3)


def lower_(act: Act, job: Job, progress: OrangesProgress) -> Any:
    return act.play(lower(act.reply(), cell_of(), job, progress))


def transport_(act: Act, job: Job, progress: OrangesProgress) -> Any:
    return act.play(transport(act.reply(), cell_of(), job))


ENDINGS = [
    (HoldLost, "dropped"),
    (Slipped, "slipped"),
    (LeftBehind, "slipped"),
    (Apart, "slipped"),
    (Unsteady, "slipped"),
    (TrackingError, "blocked"),
]


@pytest.mark.parametrize(("guard", "outcome"), ENDINGS)
@pytest.mark.parametrize("state", [transport_, lower_])
def test_each_sign_that_the_orange_left_the_hand_ends_carrying_by_its_name(
    held_job: Job, holding: Act, progress: OrangesProgress, state: Any, guard: type, outcome: str
) -> None:
    name = state.__name__.rstrip("_")
    if state is lower_:
        holding.command = at_rest(held_job.carry.lower.positions[0])
    holding.endings = {name: [guard]}
    found = state(holding, held_job, progress)
    assert (found.name, found.about) == (outcome, "orange_1")
    motion = next(each for each in holding.requests if isinstance(each, Motion))
    assert {type(each) for each in motion.guards} == {PlaceMoved, *(kind for kind, _ in ENDINGS)}
    assert motion.watch is not None
    assert motion.place is not None
    assert (motion.watch.target, motion.place.target) == ("orange_1", PLATE)


@pytest.mark.parametrize("state", [transport_, lower_])
def test_a_plate_that_is_moved_ends_carrying_once_it_is_at_rest(
    held_job: Job, holding: Act, progress: OrangesProgress, state: Any
) -> None:
    name, (x, y) = state.__name__.rstrip("_"), PLATE_XY
    if state is lower_:
        holding.command = at_rest(held_job.carry.lower.positions[0])

    def slide(act: Act, motion: Motion) -> None:
        act.plate = (x + min(0.05, 0.2 * (act.time_s - began_s)), y)

    began_s = holding.time_s
    holding.endings = {name: [PlaceMoved], "brake": [slide], "wait": [slide] * 12}
    found = state(holding, held_job, progress)
    assert (found.name, found.about) == ("plate_moved", "orange_1")
    assert failed(found.evidence) == ["place_moved"]
    assert holding.motions[:2] == [name, "brake"]
    assert set(holding.motions[2:]) == {"wait"}
    assert holding.plate == pytest.approx((x + 0.05, y))


def test_an_orange_lost_while_a_moved_plate_comes_to_rest_is_dropped(
    held_job: Job, holding: Act, progress: OrangesProgress
) -> None:
    holding.endings = {"transport": [PlaceMoved], "wait": [HoldLost]}
    assert transport_(holding, held_job, progress).name == "dropped"


def test_transport_tells_from_where_to_where_before_it_moves(
    held_job: Job, holding: Act, progress: OrangesProgress
) -> None:
    found = transport_(holding, held_job, progress)
    assert found.name == "arrived"
    (told,) = holding.told
    assert isinstance(told, Noticed)
    assert (told.what, told.about, told.detail) == ("transport", "orange_1", False)
    assert told.facts["target_m"] == held_job.carry.spot_m
    assert set(told.facts) == {"start_m", "target_m", "strategy"}


def test_a_transport_that_is_already_done_is_skipped(held_job: Job, holding: Act, progress: OrangesProgress) -> None:
    assert held_job.plan is not None
    carry = dataclasses.replace(held_job.carry, transport=None)
    there = dataclasses.replace(held_job, plan=dataclasses.replace(held_job.plan, carry=carry))
    assert transport_(holding, there, progress).name == "arrived"
    assert holding.motions == []


def retreating(act: Act, job: Job, progress: OrangesProgress, settings: Any = SETTINGS) -> Any:
    stage = retreat(act.reply(), cell_of(settings), job, progress)
    return act.play(stage)


def test_the_way_is_planned_anew_from_how_the_orange_sits(
    held_job: Job, holding: Act, progress: OrangesProgress
) -> None:
    start = holding.command.position
    found = retreating(holding, held_job, progress)
    assert found.name == "clear"
    carry = found.data.job.carry
    np.testing.assert_allclose(carry.spot_m, held_job.carry.spot_m, atol=1e-6)
    first = carry.retreat or carry.transport
    np.testing.assert_array_equal(first.positions[0], start)


def test_an_orange_that_was_being_lowered_is_raised_before_it_is_carried_on(
    held_job: Job, holding: Act, progress: OrangesProgress
) -> None:
    lower_path = held_job.carry.lower
    holding.command = at_rest(lower_path.positions[lower_path.ticks // 2])
    holding.plate = (PLATE_XY[0] + 0.03, PLATE_XY[1])
    found = retreating(holding, held_job, progress)
    assert found.name == "clear"
    assert holding.motions[0] == "raise"
    top = forward_held(holding.paths("raise")[0].end, held_job.in_hand.centre_m)
    assert top[2] == pytest.approx(SETTINGS.carry.clear_height_m + BALL_M, abs=1e-3)


def test_a_plate_that_moved_is_followed_before_the_orange_is_carried(
    held_job: Job, holding: Act, progress: OrangesProgress
) -> None:
    moved = (PLATE_XY[0] + 0.01, PLATE_XY[1] - 0.04)
    holding.plate = moved
    found = retreating(holding, held_job, progress)
    assert found.name == "clear"
    assert np.hypot(*(np.array(found.data.job.carry.spot_m) - moved)) < 0.09


def test_when_the_plate_is_gone_full_or_out_of_reach_the_orange_cannot_be_carried(
    held_job: Job, holding: Act, progress: OrangesProgress
) -> None:
    holding.plate = None
    assert retreating(holding, held_job, progress).name == "plate_lost"
    holding.plate = (0.7, 0.3)
    assert retreating(holding, held_job, progress).name == "no_way"
    holding.plate = PLATE_XY
    for number in range(7):
        angle, off = number * np.pi / 3, 0.06 * (number < 6)
        holding.balls[f"stranger_{number + 1}"] = on_plate(off * np.cos(angle), off * np.sin(angle))
    assert retreating(holding, held_job, progress).name == "plate_full"
    assert holding.motions == []


def test_an_orange_is_not_lowered_where_the_plate_no_longer_is(
    held_job: Job, holding: Act, progress: OrangesProgress
) -> None:
    holding.command = at_rest(held_job.carry.lower.positions[0])
    holding.plate = (PLATE_XY[0] + 0.021, PLATE_XY[1])
    found = lower_(holding, held_job, progress)
    assert (found.name, failed(found.evidence)) == ("plate_moved", ["plate_shift"])
    assert found.evidence[0].value == pytest.approx(0.021)
    assert holding.motions == []


def test_a_plate_that_is_not_seen_counts_as_moved(held_job: Job, holding: Act, progress: OrangesProgress) -> None:
    holding.plate = None
    found = lower_(holding, held_job, progress)
    assert found.name == "plate_moved"
    assert found.evidence[0].absent


def test_a_plate_that_hardly_moved_is_where_it_was(held_job: Job, holding: Act, progress: OrangesProgress) -> None:
    holding.command = at_rest(held_job.carry.lower.positions[0])
    holding.plate = (PLATE_XY[0] + 0.015, PLATE_XY[1])
    assert lower_(holding, held_job, progress).name == "lowered"


def test_an_orange_is_not_lowered_onto_another(held_job: Job, holding: Act, progress: OrangesProgress) -> None:
    x, y = held_job.carry.spot_m
    holding.balls["stranger_1"] = np.array([x + 0.03, y, 0.034])
    found = lower_(holding, held_job, progress)
    assert (found.name, failed(found.evidence)) == ("spot_taken", ["apart_from_stranger_1"])
    assert holding.motions == []
