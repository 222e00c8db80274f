"""When something went wrong: what is in the hand is set down, every way home is checked, and there may be none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from graspline.execution.requests import Motion
from graspline.kinematics.so101 import forward
from graspline.machine.outcome import Gives
from graspline.motion.guards import TrackingError
from graspline.motion.path import Path, at_rest, check_path
from graspline.planning.collision import CollisionWorld
from graspline.robots.so101 import HOME, SO101, TIP_M
from graspline.tasks.oranges.pick_state import Job, OrangesProgress
from graspline.tasks.oranges.recovery import (
    back_off,
    confirm,
    put_back,
    regroup,
    return_home,
    step_aside,
    way_to,
)

from .stagecraft import BALL_M, PLATE_XY, SETTINGS, Act, at, cell_of, forward_held, on_plate, seen_ball, survey_of

Array = NDArray[np.float64]
Table = dict[str, Array]


def going_home(act: Act, held: Any) -> Any:
    return act.play(return_home(act.reply(), cell_of(), held))


def at_speed(act: Act, job: Job) -> None:
    """In the middle of the transport."""
    assert job.carry.transport is not None
    act.command = job.carry.transport.command_at(job.carry.transport.ticks // 2)
    act.balls["orange_1"] = forward_held(act.command.position, job.in_hand.centre_m)


def test_an_empty_hand_drives_home_along_a_checked_path(planned_job: Job, table: Table, world: CollisionWorld) -> None:
    act = Act(table, command=at_rest(planned_job.pick.descend.positions[0]))
    found = going_home(act, None)
    assert found.name == "home"
    assert act.motions == ["return_home"]
    (path,) = act.paths("return_home")
    assert check_path(path, SO101) is None
    np.testing.assert_allclose(path.end[:5], HOME[:5])
    # The jaws stay as they are: opening or closing them is not part of the way.
    assert np.ptp(path.positions[:, 5]) == 0
    world.place(survey_of(*(seen_ball(name, place) for name, place in table.items())).others())
    assert world.first_collision(path.positions) is None


def test_what_is_still_in_the_hand_is_set_down_on_the_table_first(held_job: Job, holding: Act) -> None:
    found = going_home(holding, held_job.held)
    assert found.name == "home"
    assert holding.motions[-4:] == ["lower", "open", "withdraw", "return_home"]
    down = forward_held(holding.paths("lower")[0].end, held_job.in_hand.centre_m)
    assert down[2] == pytest.approx(BALL_M + SETTINGS.carry.gap_m, abs=1e-4)
    assert np.hypot(*(down[:2] - PLATE_XY)) > 0.105 + BALL_M
    assert np.hypot(*(down - at(0.3, -0.8))[:2]) > 2 * BALL_M
    (opening,) = holding.paths("open")
    assert opening.end[5] > opening.positions[0][5]


def test_an_arm_at_speed_brakes_before_anything_else(held_job: Job, holding: Act) -> None:
    at_speed(holding, held_job)
    found = going_home(holding, held_job.held)
    assert found.name == "home"
    assert holding.motions[0] == "brake"


def test_a_hand_that_feels_nothing_has_nothing_to_set_down(held_job: Job, holding: Act) -> None:
    holding.pads_n, holding.balls["orange_1"] = (0.0, 0.0), at(0.3, 0.2)
    assert going_home(holding, held_job.held).name == "home"
    assert holding.motions == ["return_home"]


def test_where_there_is_no_way_the_arm_stays_and_says_so(planned_job: Job, table: Table) -> None:
    """Something huge lies where the hand is at home."""
    hand, _ = forward(HOME[None, :5], np.array([TIP_M, 0.0, 0.0]))
    table["orange_2"] = np.array([hand[0, 0], hand[0, 1], 0.12])
    table["orange_1"] = at(0.3, -1.2)
    act = Act(table, command=at_rest(_aside()), radii={"orange_2": 0.12})
    found = going_home(act, None)
    assert found.name == "stranded"
    assert act.motions == []
    evidence, *met = found.evidence
    assert (evidence.name, evidence.value, evidence.limit) == ("checked_ways_home", 0, 1)
    assert met
    assert not any(each.passed for each in met)


def _aside() -> Array:
    """The arm at home but turned away."""
    joints = HOME.copy()
    joints[0] = 1.5
    return joints


def test_what_cannot_be_set_down_anywhere_strands_the_arm(held_job: Job, holding: Act) -> None:
    for index, azimuth in enumerate(np.arange(-1.6, 1.7, 0.2)):
        holding.balls[f"stranger_{index + 1}"] = at(0.24, float(azimuth))
    holding.radii = {f"stranger_{index + 1}": 0.1 for index in range(20)}
    found = going_home(holding, held_job.held)
    assert found.name == "stranded"
    assert holding.motions == []
    assert found.evidence


def test_an_arm_that_is_held_back_on_its_way_home_is_stranded(planned_job: Job, table: Table) -> None:
    act = Act(table, command=at_rest(_aside()), endings={"return_home": [TrackingError]})
    found = going_home(act, None)
    assert found.name == "stranded"
    assert [each.name for each in found.evidence] == ["tracking_error"]


def test_a_fruit_that_cannot_be_placed_is_put_back(held_job: Job, holding: Act) -> None:
    at_speed(holding, held_job)
    stage = put_back(holding.reply(), cell_of(), held_job, held_job.held)
    found = holding.play(stage)
    assert (found.name, found.about) == ("put_back", "orange_1")
    assert holding.motions[0] == "brake"
    assert holding.motions[-3:] == ["lower", "open", "withdraw"]


def test_a_failed_grasp_is_left_the_way_the_hand_came(planned_job: Job, table: Table) -> None:
    start = planned_job.pick.seat.end.copy()
    start[5] = planned_job.pick.grasp.touch_rad
    act = Act(table, command=at_rest(start))
    assert act.play(back_off(act.reply(), cell_of(), planned_job)).name == "ready"
    assert act.motions == ["open", "centre", "rise"]
    np.testing.assert_allclose(act.command.position, planned_job.pick.descend.positions[0])


def test_a_hand_that_lost_its_fruit_on_the_way_opens_and_waits(held_job: Job, holding: Act) -> None:
    at_speed(holding, held_job)
    holding.pads_n, holding.jaw_rad = (0.0, 0.0), None
    assert holding.play(regroup(holding.reply(), cell_of(), held_job)).name == "ready"
    assert holding.motions == ["brake", "open", "wait"]
    assert holding.command.position[5] >= held_job.pick.grasp.touch_rad
    assert holding.paths("wait")[0].duration_s >= 0.5


def test_stepping_aside_lets_what_was_skipped_be_tried_again(table: Table, progress: OrangesProgress) -> None:
    act = Act(table, command=at_rest(_aside()))
    skipping = OrangesProgress(wanted=progress.wanted, skipped=("orange_1",))
    found = act.play(step_aside(act.reply(), cell_of(), skipping))
    assert isinstance(found, Gives)
    assert found.name == "aside"
    assert found.data.progress.skipped == ()
    np.testing.assert_allclose(act.command.position[:5], HOME[:5])


def test_a_way_that_leads_through_something_goes_around_it(world: CollisionWorld) -> None:
    start = HOME + np.array([1.4, 0.9, -0.2, -0.3, 0.0, 0.3])
    clear = way_to(cell_of(), at_rest(start), HOME, survey_of())
    assert isinstance(clear, Path)
    hand, _ = forward(clear.positions[:, :5], np.array([TIP_M, 0.0, 0.0]))
    passed = hand[int(np.argmax(np.linalg.norm(hand - hand[0], axis=-1) > 0.1))]
    big = seen_ball("orange_1", np.array([passed[0], passed[1], 0.035]), 0.035)
    around = way_to(cell_of(), at_rest(start), HOME, survey_of(big))
    assert isinstance(around, Path)
    assert around.ticks > clear.ticks
    world.place((big,))
    assert world.first_collision(clear.positions) is not None
    assert world.first_collision(around.positions) is None


# The last look


def confirming(act: Act, progress: OrangesProgress) -> Any:
    return act.play(confirm(act.reply(), cell_of(), progress))


def test_oranges_that_all_rest_on_the_plate_are_confirmed_by_several_looks(progress: OrangesProgress) -> None:
    act = Act({"orange_1": on_plate(-0.04), "orange_2": on_plate(0.04)})
    found = confirming(act, progress)
    assert found.name == "confirmed"
    assert act.time_s >= SETTINGS.rest.still_s - 1e-9
    assert not isinstance(act.requests[-1], Motion)
    names = {each.name.split()[0] for each in found.evidence}
    assert {"orange_1", "orange_2"} <= names


def test_one_orange_that_lies_elsewhere_refutes(progress: OrangesProgress) -> None:
    act = Act({"orange_1": on_plate(-0.04), "orange_2": at(0.3, -0.8)})
    found = confirming(act, progress)
    assert found.name == "refuted"
    assert all(each.name.startswith("orange_2") for each in found.evidence if not each.passed)


def test_one_orange_that_still_rolls_refutes(progress: OrangesProgress) -> None:
    def roll(act: Act, motion: Motion) -> None:
        act.balls["orange_2"] = on_plate(0.03 - 0.05 * act.time_s)

    act = Act({"orange_1": on_plate(-0.04), "orange_2": on_plate(0.03)}, endings={"confirm": [roll] * 20})
    assert confirming(act, progress).name == "refuted"


def test_one_orange_that_begins_to_roll_in_the_last_tick_refutes(progress: OrangesProgress) -> None:
    def push(act: Act, motion: Motion) -> None:
        if motion.path.ticks == 1:
            act.balls["orange_2"] = on_plate(0.03 - 0.04 / 60 / 2)

    act = Act({"orange_1": on_plate(-0.04), "orange_2": on_plate(0.03)}, endings={"confirm": [push] * 20})
    found = confirming(act, progress)
    assert found.name == "refuted"
    assert [each.name for each in found.evidence if not each.passed] == ["speed_now"]


def test_an_orange_that_is_not_seen_refutes(progress: OrangesProgress) -> None:
    found = confirming(Act({"orange_1": on_plate()}), progress)
    assert found.name == "refuted"
    (evidence,) = found.evidence
    assert (evidence.name, evidence.value) == ("oranges_not_seen", 1)


def test_oranges_that_nobody_asked_for_do_not_matter(progress: OrangesProgress) -> None:
    wanted = OrangesProgress(wanted=("orange_1",))
    assert confirming(Act({"orange_1": on_plate(), "orange_2": at(0.3, 0.0)}), wanted).name == "confirmed"
