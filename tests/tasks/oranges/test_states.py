"""The states of `oranges` by hand: what each asks for, and how it ends."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from graspline.evidence import Evidence
from graspline.execution.happenings import Noticed, Targeted
from graspline.execution.requests import Motion
from graspline.kinematics.so101 import forward
from graspline.machine.outcome import Gives, Outcome
from graspline.motion.guards import (
    Apart,
    BothPadsTouch,
    ForceAbove,
    HoldLost,
    LeftBehind,
    OnePadTouches,
    Slipped,
    TrackingError,
    Unsteady,
)
from graspline.motion.path import at_rest
from graspline.placement.book import PlacementBook, PlacementRecord
from graspline.planning.collision import CollisionWorld
from graspline.robots.so101 import SO101, TIP_M
from graspline.tasks.oranges.states import (
    Job,
    Progress,
    approach,
    closing_end_rad,
    descend,
    grasp,
    idle,
    lift,
    lower,
    plan,
    posture_adjust,
    release,
    retreat,
    settle,
    transport,
    withdraw,
)

from .stagecraft import (
    BALL_M,
    PLATE_XY,
    SETTINGS,
    Act,
    at,
    eye_of,
    feel,
    forward_held,
    on_plate,
    parameters,
    seen_ball,
    survey_of,
)

Array = NDArray[np.float64]
Table = dict[str, Array]


def failed(evidence: Evidence) -> list[str]:
    return [each.name for each in evidence if not each.passed]


def noted(name: str, succeeded: bool = True) -> PlacementRecord:
    return PlacementRecord(name=name, position_m=on_plate(), succeeded=succeeded, time_s=1.0)


# Choosing


def choose(act: Act, progress: Progress, settings: Any = SETTINGS) -> Any:
    return act.play(idle(eye_of(settings), settings, progress))


def test_the_nearest_orange_is_chosen_and_announced(table: Table) -> None:
    act = Act(table)
    found = choose(act, Progress())
    assert isinstance(found, Gives)
    assert (found.name, found.about, found.data.job.target) == ("selected", "orange_1", "orange_1")
    assert act.told == [Targeted("orange_1")]
    assert found.data.progress.wanted == ("orange_1", "orange_2")


def test_oranges_are_fetched_in_the_order_asked_for_if_that_is_asked_for(table: Table) -> None:
    settings = parameters("oranges.count=2", "targets.choose=2,1", "targets.order=given")
    assert choose(Act(table), Progress(), settings).about == "orange_2"


def test_once_chosen_what_is_wanted_does_not_change(table: Table) -> None:
    """Which was the nearest was decided by the first look."""
    settings = parameters("oranges.count=2", "targets.choose=nearest:1")
    found = choose(Act(table), Progress(wanted=("orange_2",)), settings)
    assert found.about == "orange_2"


def test_when_all_that_are_wanted_lie_on_the_plate_they_are_placed(progress: Progress) -> None:
    act = Act({"orange_1": on_plate(-0.04), "orange_2": on_plate(0.04)})
    assert choose(act, progress) == Outcome("all_placed")


def test_an_orange_on_the_rim_is_not_placed(progress: Progress) -> None:
    act = Act({"orange_1": on_plate(-0.04), "orange_2": on_plate(0.1) + np.array([0, 0, 0.008])})
    assert choose(act, progress).about == "orange_2"


def test_an_orange_above_the_plate_is_not_placed(progress: Progress) -> None:
    act = Act({"orange_1": on_plate(-0.04), "orange_2": on_plate(0.04) + np.array([0, 0, 0.05])})
    assert choose(act, progress).about == "orange_2"


def test_a_placed_orange_that_is_hidden_now_is_believed_to_lie_there(progress: Progress) -> None:
    remembering = dataclasses.replace(progress, book=PlacementBook(records=(noted("orange_1"),)))
    assert choose(Act({"orange_2": on_plate(0.04)}), remembering) == Outcome("all_placed")
    forgetting = dataclasses.replace(progress, book=PlacementBook(records=(noted("orange_1", False),)))
    assert choose(Act({"orange_2": on_plate(0.04)}), forgetting) == Outcome("lost")


def test_a_placed_orange_that_lies_beside_the_plate_again_is_fetched_again(table: Table, progress: Progress) -> None:
    before = dataclasses.replace(progress, book=PlacementBook(records=(noted("orange_1"),)))
    table["orange_2"] = on_plate()
    assert choose(Act(table), before).about == "orange_1"


def test_when_nothing_that_is_wanted_is_seen_it_is_lost(progress: Progress) -> None:
    assert choose(Act({}), progress) == Outcome("lost")
    assert choose(Act({"stranger_1": at(0.25, 0.0)}), progress) == Outcome("lost")


def test_when_no_plan_was_found_for_any_the_task_is_stuck(table: Table, progress: Progress) -> None:
    skipping = dataclasses.replace(progress, skipped=("orange_1",))
    assert choose(Act(table), skipping).about == "orange_2"
    skipping = dataclasses.replace(progress, skipped=("orange_2", "orange_1"))
    assert choose(Act(table), skipping) == Outcome("stuck")


def test_without_a_plate_there_is_nowhere_to_go(table: Table, progress: Progress) -> None:
    assert choose(Act(table, plate=None), progress) == Outcome("plate_lost")


# Planning


def planning(act: Act, world: CollisionWorld, job: Job, progress: Progress, settings: Any = SETTINGS) -> Any:
    return act.play(plan(act.reply(), SO101, world, settings, job, progress))


def job_for(table: Table, progress: Progress, settings: Any = SETTINGS, **act: Any) -> Job:
    return choose(Act(table, **act), progress, settings).data.job


def test_the_whole_errand_is_planned_before_anything_moves(
    table: Table, world: CollisionWorld, progress: Progress
) -> None:
    act = Act(table)
    found = planning(act, world, job_for(table, progress), progress)
    assert found.name == "planned"
    assert act.motions == []
    job = found.data.job
    assert job.carry.lower is not None
    assert found.data.progress.tried == (("orange_1", job.pick.grasp.label),)


def test_a_grasp_that_was_tried_is_not_the_first_one_again(
    table: Table, world: CollisionWorld, progress: Progress
) -> None:
    first = planning(Act(table), world, job_for(table, progress), progress).data
    second = planning(Act(table), world, first.job, first.progress).data
    assert second.job.pick.grasp.label != first.job.pick.grasp.label


def test_an_orange_out_of_reach_is_refused_and_skipped(world: CollisionWorld, progress: Progress) -> None:
    far = {"orange_1": at(0.6, 0.0), "orange_2": at(0.65, 0.4)}
    found = planning(Act(far), world, job_for(far, progress), progress)
    assert (found.name, found.about) == ("refused", "orange_1")
    assert failed(found.evidence)
    assert found.data.progress.skipped == ("orange_1",)


def test_a_full_plate_is_said_to_be_full(table: Table, world: CollisionWorld, progress: Progress) -> None:
    for number in range(6):
        angle = number * np.pi / 3
        table[f"stranger_{number + 1}"] = on_plate(0.06 * np.cos(angle), 0.06 * np.sin(angle))
    table["stranger_7"] = on_plate()
    found = planning(Act(table), world, job_for(table, progress), progress)
    assert (found.name, failed(found.evidence)) == ("plate_full", ["free_spots"])


def test_a_plate_out_of_reach_leaves_no_way(table: Table, world: CollisionWorld, progress: Progress) -> None:
    away = (0.7, 0.3)
    found = planning(Act(table, plate=away), world, job_for(table, progress, plate=away), progress)
    assert found.name == "no_way"
    assert failed(found.evidence)


# Approaching


@pytest.mark.parametrize("state, good", [(approach, "above"), (posture_adjust, "aligned")])
def test_an_arm_that_is_held_back_is_blocked(planned_job: Job, table: Table, state: Any, good: str) -> None:
    path = planned_job.pick.approach if state is approach else planned_job.pick.posture
    assert path is not None
    for ending, expected in (([], good), ([TrackingError], "blocked")):
        act = Act(table, command=at_rest(path.positions[0]), endings={state.__name__: list(ending)})
        found = act.play(state(SETTINGS, planned_job))
        assert found.name == expected
        assert act.motions == [state.__name__]


def descending(act: Act, job: Job) -> Any:
    act.command = at_rest(job.pick.descend.positions[0])
    return act.play(descend(act.reply(), SO101, SETTINGS, job))


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
    return act, act.play(grasp(SO101, SETTINGS, job))


def test_the_jaws_close_until_both_touch_and_squeeze_a_little(planned_job: Job, table: Table) -> None:
    act, found = grasping(planned_job, table, seat=[OnePadTouches], close=[BothPadsTouch], squeeze=[feel(1.0, 1.0)])
    assert found.name == "closed"
    # Braked after the touch: closing starts from rest.
    assert act.motions == ["seat", "brake", "close", "squeeze"]
    (squeeze,) = act.paths("squeeze")
    touched = act.paths("close")[0].command_at(act.paths("close")[0].ticks // 2).position[5]
    assert squeeze.end[5] == pytest.approx(touched - SETTINGS.close.squeeze_rad)


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
    return act.play(settle(act.reply(), SO101, eye_of(), SETTINGS, job))


def test_a_hold_of_the_right_width_with_the_fruit_in_its_place_is_one(planned_job: Job, table: Table) -> None:
    found = settling(planned_job, table)
    assert found.name == "held"
    assert [each.name for each in found.evidence] == ["weaker_pad_force", "jaw_off_touch", "off_in_hand"]
    job = found.data.job
    assert found.data.grip is job.grip
    assert (job.gripped.name, job.gripped.radius_m) == ("orange_1", BALL_M)
    # Where it was seen, in the hand.
    start = planned_job.pick.seat.end
    np.testing.assert_allclose(forward_held(start, job.gripped.centre_m), table["orange_1"], atol=1e-6)
    assert job.held.least_jaw_rad < planned_job.pick.grasp.touch_rad


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


# Carrying


def test_a_held_orange_is_raised_as_high_as_it_is_carried(held_job: Job, table: Table) -> None:
    start = np.append(held_job.pick.seat.end[:5], held_job.gripped.jaw_rad)
    act = Act(table, command=at_rest(start), pads_n=(2.0, 2.0), jaw_rad=held_job.pick.grasp.touch_rad)
    found = act.play(lift(act.reply(), SO101, eye_of(), SETTINGS, held_job))
    assert found.name == "lifted"
    top = forward_held(act.paths("lift")[0].end, held_job.gripped.centre_m)
    assert top[2] == pytest.approx(SETTINGS.carry.clear_height_m + BALL_M, abs=1e-3)


def lower_(act: Act, job: Job, progress: Progress) -> Any:
    return act.play(lower(act.reply(), SO101, eye_of(), SETTINGS, job, progress))


def transport_(act: Act, job: Job, progress: Progress) -> Any:
    return act.play(transport(act.reply(), eye_of(), SETTINGS, job))


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
    held_job: Job, holding: Act, progress: Progress, state: Any, guard: type, outcome: str
) -> None:
    name = state.__name__.rstrip("_")
    if state is lower_:
        holding.command = at_rest(held_job.carry.lower.positions[0])
    holding.endings = {name: [guard]}
    found = state(holding, held_job, progress)
    assert (found.name, found.about) == (outcome, "orange_1")
    motion = next(each for each in holding.requests if isinstance(each, Motion))
    assert {type(each) for each in motion.guards} == {kind for kind, _ in ENDINGS}
    assert motion.watch is not None
    assert motion.watch.target == "orange_1"


def test_transport_tells_from_where_to_where_before_it_moves(held_job: Job, holding: Act, progress: Progress) -> None:
    found = transport_(holding, held_job, progress)
    assert found.name == "arrived"
    (told,) = holding.told
    assert isinstance(told, Noticed)
    assert (told.what, told.about, told.detail) == ("transport", "orange_1", False)
    assert told.facts["target_m"] == held_job.carry.spot_m
    assert set(told.facts) == {"start_m", "target_m", "strategy"}


def test_a_transport_that_is_already_done_is_skipped(held_job: Job, holding: Act, progress: Progress) -> None:
    assert held_job.errand is not None
    carry = dataclasses.replace(held_job.carry, transport=None)
    there = dataclasses.replace(held_job, errand=dataclasses.replace(held_job.errand, carry=carry))
    assert transport_(holding, there, progress).name == "arrived"
    assert holding.motions == []


def retreating(act: Act, world: CollisionWorld, job: Job, progress: Progress, settings: Any = SETTINGS) -> Any:
    stage = retreat(act.reply(), SO101, eye_of(settings), world, settings, job, progress)
    return act.play(stage)


def test_the_way_is_planned_anew_from_how_the_orange_sits(
    held_job: Job, holding: Act, world: CollisionWorld, progress: Progress
) -> None:
    start = holding.command.position
    found = retreating(holding, world, held_job, progress)
    assert found.name == "clear"
    carry = found.data.job.carry
    np.testing.assert_allclose(carry.spot_m, held_job.carry.spot_m, atol=1e-6)
    first = carry.retreat or carry.transport
    np.testing.assert_array_equal(first.positions[0], start)


def test_a_plate_that_moved_is_followed_before_the_orange_is_carried(
    held_job: Job, holding: Act, world: CollisionWorld, progress: Progress
) -> None:
    moved = (PLATE_XY[0] + 0.01, PLATE_XY[1] - 0.04)
    holding.plate = moved
    found = retreating(holding, world, held_job, progress)
    assert found.name == "clear"
    assert np.hypot(*(np.array(found.data.job.carry.spot_m) - moved)) < 0.09


def test_when_the_plate_is_gone_full_or_out_of_reach_the_orange_cannot_be_carried(
    held_job: Job, holding: Act, world: CollisionWorld, progress: Progress
) -> None:
    holding.plate = None
    assert retreating(holding, world, held_job, progress).name == "plate_lost"
    holding.plate = (0.7, 0.3)
    assert retreating(holding, world, held_job, progress).name == "no_way"
    holding.plate = PLATE_XY
    for number in range(7):
        angle, off = number * np.pi / 3, 0.06 * (number < 6)
        holding.balls[f"stranger_{number + 1}"] = on_plate(off * np.cos(angle), off * np.sin(angle))
    assert retreating(holding, world, held_job, progress).name == "plate_full"
    assert holding.motions == []


def test_an_orange_is_not_lowered_where_the_plate_no_longer_is(held_job: Job, holding: Act, progress: Progress) -> None:
    holding.command = at_rest(held_job.carry.lower.positions[0])
    holding.plate = (PLATE_XY[0] + 0.021, PLATE_XY[1])
    found = lower_(holding, held_job, progress)
    assert (found.name, failed(found.evidence)) == ("plate_moved", ["plate_shift"])
    assert found.evidence[0].value == pytest.approx(0.021)
    assert holding.motions == []


def test_a_plate_that_is_not_seen_counts_as_moved(held_job: Job, holding: Act, progress: Progress) -> None:
    holding.plate = None
    found = lower_(holding, held_job, progress)
    assert found.name == "plate_moved"
    assert found.evidence[0].absent


def test_a_plate_that_hardly_moved_is_where_it_was(held_job: Job, holding: Act, progress: Progress) -> None:
    holding.command = at_rest(held_job.carry.lower.positions[0])
    holding.plate = (PLATE_XY[0] + 0.015, PLATE_XY[1])
    assert lower_(holding, held_job, progress).name == "lowered"


def test_an_orange_is_not_lowered_onto_another(held_job: Job, holding: Act, progress: Progress) -> None:
    x, y = held_job.carry.spot_m
    holding.balls["stranger_1"] = np.array([x + 0.03, y, 0.034])
    found = lower_(holding, held_job, progress)
    assert (found.name, failed(found.evidence)) == ("spot_taken", ["apart_from_stranger_1"])
    assert holding.motions == []


# Letting go


def releasing(act: Act, job: Job) -> Any:
    act.command = at_rest(job.carry.open.positions[0])
    act.jaw_rad = None
    return act.play(release(SO101, eye_of(), SETTINGS, job, Progress()))


def spot(job: Job) -> Array:
    return np.array([*job.carry.spot_m, 0.004 + BALL_M])


def test_an_orange_that_rests_on_its_spot_is_released(held_job: Job, holding: Act) -> None:
    holding.balls["orange_1"], holding.pads_n = spot(held_job), (0.0, 0.0)
    found = releasing(holding, held_job)
    assert (found.name, found.about) == ("released", "orange_1")
    assert failed(found.evidence) == []
    # It has been seen to rest for as long as it takes, and no longer.
    waited = sum(path.duration_s for path in holding.paths("release")[1:])
    assert SETTINGS.rest.still_s <= waited + 1e-9 < SETTINGS.rest.still_s + 0.11
    checks = [each for each in holding.told if isinstance(each, Noticed)]
    assert checks
    assert {(each.what, each.detail) for each in checks} == {("placement check", True)}
    assert checks[-1].facts["result"] == "placed"
    assert checks[0].facts["result"] == "not yet"
    assert {"x_ok", "y_ok", "z_ok", "plate_min_m", "plate_max_m"} <= set(checks[-1].facts)


def test_an_orange_that_rolls_is_waited_for(held_job: Job, holding: Act) -> None:
    holding.pads_n = (0.0, 0.0)

    def roll(act: Act, motion: Motion) -> None:
        act.balls["orange_1"] = spot(held_job) + np.array([0.01 * max(0.0, 1.0 - act.time_s), 0.0, 0.0])

    roll(holding, None)  # pyright: ignore[reportArgumentType]
    holding.endings = {"release": [roll] * 60}
    found = releasing(holding, held_job)
    assert found.name == "released"
    assert holding.time_s > 0.5


def test_an_orange_at_rest_beside_the_plate_has_missed_it(held_job: Job, holding: Act) -> None:
    holding.balls["orange_1"] = np.array([PLATE_XY[0] + 0.15, PLATE_XY[1], BALL_M])
    holding.pads_n = (0.0, 0.0)
    found = releasing(holding, held_job)
    assert found.name == "missed_plate"
    assert failed(found.evidence)
    assert holding.time_s < 1.0


def test_an_orange_that_sticks_to_the_hand_is_not_released_after_six_seconds(held_job: Job, holding: Act) -> None:
    holding.balls["orange_1"], holding.pads_n = spot(held_job) + np.array([0, 0, 0.03]), (1.0, 0.0)
    found = releasing(holding, held_job)
    assert (found.name, failed(found.evidence)) == ("not_released", ["release_time"])
    (record,) = found.data.progress.book.records
    assert (record.name, record.succeeded) == ("orange_1", False)
    waited = sum(path.duration_s for path in holding.paths("release")[1:])
    assert waited == pytest.approx(6.0, abs=0.11)


def test_an_orange_hidden_by_the_hand_is_checked_once_the_hand_has_left(held_job: Job, holding: Act) -> None:
    del holding.balls["orange_1"]
    found = releasing(holding, held_job)
    assert found == Outcome("released", about="orange_1")
    waited = sum(path.duration_s for path in holding.paths("release")[1:])
    assert waited == pytest.approx(SETTINGS.release.unseen_s, abs=0.11)


# Leaving


def leaving(act: Act, job: Job, progress: Progress) -> Any:
    act.command, act.jaw_rad, act.pads_n = at_rest(job.carry.withdraw.positions[0]), None, (0.0, 0.0)
    return act.play(withdraw(act.reply(), SO101, eye_of(), SETTINGS, job, progress))


@pytest.fixture
def placed_job(held_job: Job) -> Job:
    """With another orange on the plate, as it was seen before."""
    survey = survey_of(seen_ball("orange_1", at(0.24, -0.2)), seen_ball("orange_2", on_plate(0.05, 0.04)))
    return dataclasses.replace(held_job, survey=survey)


def test_an_orange_that_still_rests_there_is_placed_and_noted(
    placed_job: Job, holding: Act, progress: Progress
) -> None:
    holding.balls |= {"orange_1": spot(placed_job), "orange_2": on_plate(0.05, 0.04)}
    tried = dataclasses.replace(progress, tried=(("orange_1", "a"), ("orange_2", "b")), skipped=("orange_2",))
    found = leaving(holding, placed_job, tried)
    assert (found.name, failed(found.evidence)) == ("placed", [])
    assert {"displaced_orange_2", "plate_shift", "still"} <= {each.name for each in found.evidence}
    after = found.data.progress
    assert after.book.placed() == ("orange_1",)
    assert after.tried == (("orange_2", "b"),)
    assert after.skipped == ()
    # It ends with a look.
    assert not isinstance(holding.requests[-1], Motion)


def test_an_orange_that_rolled_off_when_the_hand_left_is_not_placed(
    placed_job: Job, holding: Act, progress: Progress
) -> None:
    holding.balls |= {"orange_1": at(0.3, 0.3), "orange_2": on_plate(0.05, 0.04)}
    found = leaving(holding, placed_job, progress)
    assert found.name == "not_placed"
    assert failed(found.evidence)
    assert found.data.progress.book.placed() == ()
    assert [each.succeeded for each in found.data.progress.book.records] == [False]


@pytest.mark.parametrize(
    ("moved", "named"),
    [({"orange_2": on_plate(0.05, 0.025)}, "displaced_orange_2"), ({"plate": 0.015}, "plate_shift")],
)
def test_a_neighbour_or_plate_that_was_moved_meanwhile_is_not_passed_over(
    placed_job: Job, holding: Act, progress: Progress, moved: dict[str, Any], named: str
) -> None:
    holding.balls |= {"orange_1": spot(placed_job), "orange_2": on_plate(0.05, 0.04)}
    shift = moved.get("plate", 0.0)
    holding.plate = (PLATE_XY[0] + shift, PLATE_XY[1])
    if shift:
        # What lies on it slides along.
        holding.balls = {name: place + np.array([shift, 0, 0]) for name, place in holding.balls.items()}
    else:
        holding.balls |= moved
    found = leaving(holding, placed_job, progress)
    assert found.name == "disturbed"
    assert failed(found.evidence) == [named]
    assert found.data.progress.book.placed() == ("orange_1",)


def test_an_orange_that_is_not_seen_again_is_not_noted(placed_job: Job, holding: Act, progress: Progress) -> None:
    del holding.balls["orange_1"]
    found = leaving(holding, placed_job, progress)
    assert isinstance(found, Outcome)
    assert (found.name, found.about) == ("unseen", "orange_1")
    assert failed(found.evidence) == ["sightings"]


def test_a_hand_that_cannot_leave_is_blocked(placed_job: Job, holding: Act, progress: Progress) -> None:
    holding.endings = {"withdraw": [TrackingError]}
    assert leaving(holding, placed_job, progress).name == "blocked"
