"""Picking an orange, the states by hand: what each asks for, and how it ends."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from graspline.evidence import Evidence
from graspline.execution.notifications import Noticed, Targeted
from graspline.execution.requests import Motion, Reply
from graspline.kinematics.so101 import forward
from graspline.machine.outcome import Gives, Outcome
from graspline.motion.guards import (
    BothPadsTouch,
    ForceAbove,
    ObjectMoved,
    OnePadTouches,
    PlaceMoved,
    TrackingError,
)
from graspline.motion.path import at_rest
from graspline.robots.so101 import SO101, TIP_M
from graspline.tasks.oranges.pick_state import Job, OrangesProgress, PlacementRecord
from graspline.tasks.oranges.picking import (
    approach,
    closing_end_rad,
    descend,
    grasp,
    idle,
    plan,
    posture_adjust,
    settle,
)
from graspline.tasks.oranges.sight import PLATE_UNSEEN
from graspline.tasks.stages.sight import UNSEEN

from .stagecraft import (
    BALL_M,
    PLATE_XY,
    SETTINGS,
    Act,
    at,
    cell_of,
    eye_of,
    feel,
    forward_held,
    on_plate,
    parameters,
)

Array = NDArray[np.float64]
Table = dict[str, Array]


def failed(evidence: Evidence) -> list[str]:
    return [each.name for each in evidence if not each.passed]


def noted(name: str, succeeded: bool = True) -> PlacementRecord:
    return PlacementRecord(name=name, position_m=on_plate(), succeeded=succeeded, time_s=1.0)


# Choosing


def choose(act: Act, progress: OrangesProgress, settings: Any = SETTINGS) -> Any:
    return act.play(idle(cell_of(settings), progress))


def test_the_nearest_orange_is_chosen_and_announced(table: Table) -> None:
    act = Act(table)
    found = choose(act, OrangesProgress())
    assert isinstance(found, Gives)
    assert (found.name, found.about, found.data.job.target) == ("selected", "orange_1", "orange_1")
    assert act.told == [Targeted("orange_1")]
    assert found.data.progress.wanted == ("orange_1", "orange_2")


def test_oranges_are_fetched_in_the_order_asked_for_if_that_is_asked_for(table: Table) -> None:
    settings = parameters("oranges.count=2", "targets.choose=2,1", "targets.order=given")
    assert choose(Act(table), OrangesProgress(), settings).about == "orange_2"


def test_once_chosen_what_is_wanted_does_not_change(table: Table) -> None:
    """Which was the nearest was decided by the first look."""
    settings = parameters("oranges.count=2", "targets.choose=nearest:1")
    found = choose(Act(table), OrangesProgress(wanted=("orange_2",)), settings)
    assert found.about == "orange_2"


def test_when_all_that_are_wanted_lie_on_the_plate_they_are_placed(progress: OrangesProgress) -> None:
    act = Act({"orange_1": on_plate(-0.04), "orange_2": on_plate(0.04)})
    assert choose(act, progress) == Outcome("all_placed")


def test_an_orange_on_the_rim_is_not_placed(progress: OrangesProgress) -> None:
    act = Act({"orange_1": on_plate(-0.04), "orange_2": on_plate(0.1) + np.array([0, 0, 0.008])})
    assert choose(act, progress).about == "orange_2"


def test_an_orange_above_the_plate_is_not_placed(progress: OrangesProgress) -> None:
    act = Act({"orange_1": on_plate(-0.04), "orange_2": on_plate(0.04) + np.array([0, 0, 0.05])})
    assert choose(act, progress).about == "orange_2"


def test_a_placed_orange_that_is_hidden_now_is_believed_to_lie_there(progress: OrangesProgress) -> None:
    remembering = dataclasses.replace(progress, records=(noted("orange_1"),))
    assert choose(Act({"orange_2": on_plate(0.04)}), remembering) == Outcome("all_placed")
    forgetting = dataclasses.replace(progress, records=(noted("orange_1", False),))
    assert choose(Act({"orange_2": on_plate(0.04)}), forgetting) == Outcome("lost", UNSEEN)


def test_a_placed_orange_that_lies_beside_the_plate_again_is_fetched_again(
    table: Table, progress: OrangesProgress
) -> None:
    before = dataclasses.replace(progress, records=(noted("orange_1"),))
    table["orange_2"] = on_plate()
    assert choose(Act(table), before).about == "orange_1"


def test_when_nothing_that_is_wanted_is_seen_it_is_lost(progress: OrangesProgress) -> None:
    assert choose(Act({}), progress) == Outcome("lost", UNSEEN)
    assert choose(Act({"stranger_1": at(0.25, 0.0)}), progress) == Outcome("lost", UNSEEN)


def test_when_no_plan_was_found_for_any_the_task_is_stuck(table: Table, progress: OrangesProgress) -> None:
    skipping = dataclasses.replace(progress, skipped=("orange_1",))
    assert choose(Act(table), skipping).about == "orange_2"
    skipping = dataclasses.replace(progress, skipped=("orange_2", "orange_1"))
    stuck = choose(Act(table), skipping)
    assert (stuck.name, [each.passed for each in stuck.evidence]) == ("stuck", [False])


def test_without_a_plate_there_is_nowhere_to_go(table: Table, progress: OrangesProgress) -> None:
    assert choose(Act(table, plate=None), progress) == Outcome("plate_lost", PLATE_UNSEEN)


# Planning


def planning(act: Act, job: Job, progress: OrangesProgress, settings: Any = SETTINGS) -> Any:
    return act.play(plan(act.reply(), cell_of(settings), job, progress))


def job_for(table: Table, progress: OrangesProgress, settings: Any = SETTINGS, **act: Any) -> Job:
    return choose(Act(table, **act), progress, settings).data.job


def test_the_whole_errand_is_planned_before_anything_moves(table: Table, progress: OrangesProgress) -> None:
    act = Act(table)
    found = planning(act, job_for(table, progress), progress)
    assert found.name == "planned"
    assert act.motions == []
    job = found.data.job
    assert job.carry.lower is not None
    assert found.data.progress.tried == (("orange_1", job.pick.grasp.label),)


def test_a_grasp_that_was_tried_is_not_the_first_one_again(table: Table, progress: OrangesProgress) -> None:
    first = planning(Act(table), job_for(table, progress), progress).data
    second = planning(Act(table), first.job, first.progress).data
    assert second.job.pick.grasp.label != first.job.pick.grasp.label


def test_an_orange_out_of_reach_is_refused_and_skipped(progress: OrangesProgress) -> None:
    far = {"orange_1": at(0.6, 0.0), "orange_2": at(0.65, 0.4)}
    found = planning(Act(far), job_for(far, progress), progress)
    assert (found.name, found.about) == ("refused", "orange_1")
    assert failed(found.evidence)
    assert found.data.progress.skipped == ("orange_1",)


def test_a_full_plate_is_said_to_be_full(table: Table, progress: OrangesProgress) -> None:
    for number in range(6):
        angle = number * np.pi / 3
        table[f"stranger_{number + 1}"] = on_plate(0.06 * np.cos(angle), 0.06 * np.sin(angle))
    table["stranger_7"] = on_plate()
    found = planning(Act(table), job_for(table, progress), progress)
    assert (found.name, failed(found.evidence)) == ("plate_full", ["free_spots"])


def test_a_plate_out_of_reach_leaves_no_way(table: Table, progress: OrangesProgress) -> None:
    away = (0.7, 0.3)
    found = planning(Act(table, plate=away), job_for(table, progress, plate=away), progress)
    assert found.name == "no_way"
    assert failed(found.evidence)


# Approaching


@pytest.mark.parametrize("state, good", [(approach, "above"), (posture_adjust, "aligned")])
def test_an_arm_that_is_held_back_is_blocked(
    planned_job: Job, table: Table, progress: OrangesProgress, state: Any, good: str
) -> None:
    path = planned_job.pick.approach if state is approach else planned_job.pick.posture
    assert path is not None
    for ending, expected in (([], good), ([TrackingError], "blocked")):
        act = Act(table, command=at_rest(path.positions[0]), endings={state.__name__: list(ending)})
        found = act.play(state(cell_of(), planned_job, progress))
        assert found.name == expected
        assert act.motions == [state.__name__]


@pytest.mark.parametrize("state", [approach, posture_adjust])
def test_an_orange_that_is_no_longer_there_ends_the_way_to_it(
    planned_job: Job, table: Table, progress: OrangesProgress, state: Any
) -> None:
    path = planned_job.pick.approach if state is approach else planned_job.pick.posture
    assert path is not None
    act = Act(table, command=at_rest(path.positions[0]), endings={state.__name__: [ObjectMoved]})
    tried = dataclasses.replace(progress, tried=(("orange_1", "across"), ("orange_2", "along")))
    found = act.play(state(cell_of(), planned_job, tried))
    assert (found.name, found.about) == ("moved", "orange_1")
    # No grasp has been tried where it lies now.
    assert found.data.progress.tried == (("orange_2", "along"),)
    (motion,) = (each for each in act.requests if isinstance(each, Motion))
    assert motion.watch is not None
    (guard,) = (each for each in motion.guards if isinstance(each, ObjectMoved))
    np.testing.assert_allclose(guard.lay_at_m, planned_job.where.target.position_m)
    assert (motion.watch.target, guard.limit_m) == ("orange_1", SETTINGS.posture.off_fruit_m)


def picked(act: Act, state: Any, job: Job) -> Any:
    progress = OrangesProgress(wanted=("orange_1", "orange_2"))
    return act.play(state(act.reply(), cell_of(), job, progress))


def descending(act: Act, job: Job) -> Any:
    act.command = at_rest(job.pick.descend.positions[0])
    return picked(act, descend, job)


def test_an_orange_that_is_no_longer_there_ends_the_way_down(planned_job: Job, table: Table) -> None:
    act = Act(table, endings={"descend": [ObjectMoved]})
    assert descending(act, planned_job).name == "moved"
    assert act.motions == ["descend"]


MOVED_PLATE = (PLATE_XY[0] + 0.03, PLATE_XY[1] - 0.03)


class PushedAct(Act):
    """An arm that is beside its path whenever the plate is moved."""

    def _moved(self, motion: Motion) -> Reply:
        ended = super()._moved(motion)
        if isinstance(ended.by, PlaceMoved):
            beside = dataclasses.replace(ended.command, position=ended.command.position + 0.03)
            self.command, ended = beside, dataclasses.replace(ended, command=beside)
        return ended


def test_a_hand_that_was_pushed_off_as_the_plate_was_moved_gets_to_the_end_of_its_way(
    planned_job: Job, table: Table
) -> None:
    act = PushedAct(table, plate=MOVED_PLATE, endings={"descend": [PlaceMoved]})
    assert descending(act, planned_job).name == "green"
    np.testing.assert_array_equal(act.command.position, planned_job.pick.descend.end)


def test_a_plate_moved_on_the_way_down_gets_a_new_spot_and_the_hand_goes_on(planned_job: Job, table: Table) -> None:
    act = Act(table, plate=MOVED_PLATE, endings={"descend": [PlaceMoved]})
    found = descending(act, planned_job)
    assert found.name == "green"
    # The rest of the same way, from where it was cut.
    first, second = act.paths("descend")
    np.testing.assert_array_equal(second.end, planned_job.pick.descend.end)
    np.testing.assert_array_equal(second.positions[0], first.command_at(first.ticks // 2).position)
    job = found.data.job
    assert np.hypot(*np.subtract(job.carry.spot_m, MOVED_PLATE)) < 0.1
    np.testing.assert_allclose(job.survey.plate.position_m[:2], MOVED_PLATE)
    (told,) = act.told
    assert isinstance(told, Noticed)
    assert (told.what, told.facts["new_spot_m"]) == ("plate moved", job.carry.spot_m)


def test_a_plate_moved_out_of_reach_on_the_way_down_ends_it(planned_job: Job, table: Table) -> None:
    act = Act(table, plate=(0.7, 0.3), endings={"descend": [PlaceMoved]})
    found = descending(act, planned_job)
    assert (found.name, found.about) == ("plate_moved", "orange_1")
    assert failed(found.evidence)
    assert act.motions == ["descend"]


@pytest.mark.parametrize("plate", [MOVED_PLATE, (0.7, 0.3)])
def test_a_plate_moved_while_the_jaws_close_does_not_open_them(
    planned_job: Job, table: Table, plate: tuple[float, float]
) -> None:
    endings: dict[str, Any] = {"close": [PlaceMoved, BothPadsTouch], "squeeze": [feel(1.0, 1.0)]}
    act = Act(table, plate=plate, command=at_rest(planned_job.pick.seat.positions[0]), endings=endings)
    found = picked(act, grasp, planned_job)
    assert found.name == "closed"
    assert act.motions == ["seat", "close", "close", "squeeze"]
    # Where there is no new spot, retreating will find that out by itself.
    moved = found.data.job.carry.spot_m != planned_job.carry.spot_m
    assert moved == (plate == MOVED_PLATE)


def test_nothing_watches_a_virtual_plate(planned_job: Job, table: Table) -> None:
    settings = parameters("oranges.count=2", "plate.present=false")
    assert eye_of(settings).watch_plate() is None


def test_a_hand_that_comes_down_as_planned_is_green(planned_job: Job, table: Table) -> None:
    act = Act(table)
    found = descending(act, planned_job)
    assert found.name == "green"
    assert act.motions == ["descend"]
    assert [each.name for each in found.evidence] == ["tilt_error", "heading_error", "off_fruit", "jaw_angle"]


def tip_heights_m(act: Act) -> list[float]:
    """Of the fixed fingertip, at the end of every descent."""
    ends = np.stack([path.end for path in act.paths("descend")])
    return forward((ends + act.off_rad)[:, :5], np.array([TIP_M, 0.0, 0.0]))[0][:, 2].tolist()


@pytest.mark.parametrize(
    ("off", "wrong"), [((4, 0.2), "heading_error"), ((3, 0.08), "tilt_error"), ((0, 0.1), "off_fruit")]
)
def test_a_hand_that_is_not_green_creeps_down_but_never_to_the_table(
    planned_job: Job, table: Table, off: tuple[int, float], wrong: str
) -> None:
    act = Act(table)
    act.off_rad[off[0]] = off[1]
    found = descending(act, planned_job)
    assert found.name == "not_green"
    assert wrong in failed(found.evidence)
    heights = tip_heights_m(act)
    assert len(heights) > 2
    np.testing.assert_allclose(np.diff(heights), -SETTINGS.posture.creep_m, atol=2e-4)
    assert SETTINGS.posture.floor_m <= heights[-1] + 1e-9 < SETTINGS.posture.floor_m + SETTINGS.posture.creep_m + 1e-4


def test_creeping_down_ends_once_the_posture_is_green(planned_job: Job, table: Table) -> None:
    def straighten(act: Act, motion: Motion) -> None:
        act.off_rad[:] = 0.0

    act = Act(table, endings={"descend": [lambda act, motion: None, lambda act, motion: None, straighten]})
    act.off_rad[4] = 0.2
    assert descending(act, planned_job).name == "green"
    assert act.motions == ["descend"] * 3


@pytest.mark.parametrize("guard", [ForceAbove, TrackingError])
def test_a_finger_that_stands_on_something_on_the_way_down_blocks(planned_job: Job, table: Table, guard: type) -> None:
    act = Act(table, endings={"descend": [guard]})
    found = descending(act, planned_job)
    assert (found.name, found.about) == ("blocked", "orange_1")


# Grasping


def grasping(job: Job, table: Table, **endings: Any) -> tuple[Act, Any]:
    act = Act(table, command=at_rest(job.pick.seat.positions[0]), endings=endings)
    return act, picked(act, grasp, job)


def test_the_jaws_close_until_both_touch_and_squeeze_a_little(planned_job: Job, table: Table) -> None:
    act, found = grasping(planned_job, table, seat=[OnePadTouches], close=[BothPadsTouch], squeeze=[feel(1.0, 1.0)])
    assert found.name == "closed"
    # Braked after the touch: closing starts from rest.
    assert act.motions == ["seat", "brake", "close", "squeeze"]
    (squeeze,) = act.paths("squeeze")
    touched = act.paths("close")[0].command_at(act.paths("close")[0].ticks // 2).position[5]
    assert squeeze.end[5] == pytest.approx(touched - SETTINGS.close.squeeze_rad)


def test_a_hand_that_crept_on_is_brought_up_to_the_fruit_from_where_it_is(planned_job: Job, table: Table) -> None:
    def straighten(act: Act, motion: Motion) -> None:
        act.off_rad[:] = 0.0

    act = Act(table, endings={"descend": [lambda act, motion: None, straighten]})
    act.off_rad[4] = 0.2
    assert descending(act, planned_job).name == "green"
    act.endings |= {"close": [BothPadsTouch], "squeeze": [feel(1.0, 1.0)]}
    assert picked(act, grasp, planned_job).name == "closed"
    (seat,), planned = act.paths("seat"), planned_job.pick.seat
    tool = np.array(planned_job.pick.grasp.tool_m)
    (begin, end), (meant_from, meant_to) = (forward(each.positions[[0, -1]], tool)[0] for each in (seat, planned))
    assert meant_from[2] - begin[2] == pytest.approx(SETTINGS.posture.creep_m, abs=2e-4)
    assert np.linalg.norm(end - begin) == pytest.approx(np.linalg.norm(meant_to - meant_from), abs=1e-4)
    assert end[2] == pytest.approx(begin[2], abs=1e-4)


def test_jaws_that_shut_without_touching_have_missed(planned_job: Job, table: Table) -> None:
    act, found = grasping(planned_job, table)
    assert (found.name, found.about) == ("missed", "orange_1")
    assert act.motions == ["seat", "close"]
    assert act.paths("close")[0].end[5] == pytest.approx(SETTINGS.closing.end_rad)


def test_a_fruit_that_only_the_moving_jaw_touches_is_followed(planned_job: Job, table: Table) -> None:
    act, found = grasping(planned_job, table, close=[OnePadTouches, BothPadsTouch], squeeze=[feel(1.0, 1.0)])
    assert found.name == "closed"
    assert act.motions == ["seat", "close", "brake", "follow", "close", "squeeze"]
    (follow,) = act.paths("follow")
    tool = np.array(planned_job.pick.grasp.tool_m)
    points, frames = forward(follow.positions[[0, -1], :5], tool)
    way = points[1] - points[0]
    # By six millimetres, level, with the moving jaw's side ahead.
    heading = frames[0, :2, 2] / np.linalg.norm(frames[0, :2, 2])
    np.testing.assert_allclose(way, [*(0.006 * heading), 0.0], atol=1e-5)


def test_a_fruit_that_cannot_be_caught_up_with_is_missed_after_four_times(planned_job: Job, table: Table) -> None:
    act, found = grasping(planned_job, table, close=[OnePadTouches] * 9)
    assert found.name == "missed"
    assert act.motions.count("follow") == 4


def test_a_squeeze_that_loses_the_touch_is_not_a_grasp(planned_job: Job, table: Table) -> None:
    act, found = grasping(planned_job, table, close=[BothPadsTouch, BothPadsTouch], squeeze=[feel(0, 2), feel(1, 1)])
    assert found.name == "closed"
    assert act.motions.count("squeeze") == 2
    assert "follow" in act.motions


def test_closing_ends_at_an_angle_or_at_a_share_of_the_way() -> None:
    by_angle = parameters("closing.end_rad=0.3")
    assert closing_end_rad(SO101, by_angle, 1.0) == 0.3
    by_share = parameters("closing.by=percent", "closing.end_percent=25")
    shut = float(SO101.limits.lower[5])
    assert closing_end_rad(SO101, by_share, 1.0) == pytest.approx(1.0 + 0.25 * (shut - 1.0))


def settling(job: Job, table: Table, jaw_off: float = 0.0, off_m: float = 0.0, pads: float = 2.0) -> Any:
    start = job.pick.seat.end.copy()
    start[5] = job.pick.grasp.touch_rad - 0.06
    table["orange_1"] = job.where.target.position_m + np.array([0.0, 0.0, off_m])
    act = Act(
        table, command=at_rest(start), pads_n=(pads, pads), jaw_rad=job.pick.grasp.touch_rad + jaw_off, time_s=2.0
    )
    return picked(act, settle, job)


def test_a_hold_of_the_right_width_with_the_fruit_in_its_place_is_one(planned_job: Job, table: Table) -> None:
    found = settling(planned_job, table)
    assert found.name == "held"
    assert [each.name for each in found.evidence] == ["weaker_pad_force", "jaw_off_touch", "off_in_hand"]
    job = found.data.job
    assert found.data.held is job.held
    assert (job.in_hand.name, job.in_hand.spread_m) == ("orange_1", BALL_M)
    # Where it was seen, in the hand.
    start = planned_job.pick.seat.end
    np.testing.assert_allclose(forward_held(start, job.in_hand.centre_m), table["orange_1"], atol=1e-6)
    assert job.reference.least_jaw_rad < planned_job.pick.grasp.touch_rad


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"jaw_off": -0.25}, "jaw_off_touch"),
        ({"jaw_off": 0.25}, "jaw_off_touch"),
        ({"pads": 0.1}, "weaker_pad_force"),
        ({"off_m": 0.03}, "off_in_hand"),
    ],
)
def test_a_hold_of_the_wrong_width_force_or_place_is_refused(
    planned_job: Job, table: Table, wrong: dict[str, float], named: str
) -> None:
    found = settling(planned_job, table, **wrong)
    assert found.name == "missed"
    assert failed(found.evidence) == [named]
