"""Lanes, requests and replies, with drivers written by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from graspline.engine.events import CorruptControl, Place, Push
from graspline.errors import WiringError
from graspline.execution.answers import Delays
from graspline.execution.executor import BEAT, PARTING_HOLD_S
from graspline.execution.notifications import Applied, Ended, EndsAs, Entered, Finished, Looked
from graspline.execution.requests import (
    Announce,
    Ask,
    Look,
    Looks,
    Motion,
    ObjectSeen,
    Preempted,
    Reply,
    Solve,
    Watch,
    Within,
    asked,
    pictured,
    solved,
)
from graspline.motion.guards import ForceAbove, LeftBehind, ObjectMoved, PlaceMoved, ReachedHeight, Slipped
from graspline.motion.joint_moves import brake, hold, joint_move, ramp
from graspline.motion.path import at_rest
from graspline.rendering.picture import Picture
from graspline.robots.so101 import SO101
from graspline.scenes.cube_table import CUBE, cube_start, cube_variation
from graspline.scenes.variation import Variation

from .playing import (
    AWAY,
    PLAIN,
    START,
    Diary,
    Script,
    assert_within_limits,
    executor_of,
    finish,
    going,
    holding,
    path_of,
    play,
    returned,
    start,
)

TICK_S = SO101.dt_s
PARTING_TICKS = round(PARTING_HOLD_S * SO101.control_hz)


# Motions and replies


def test_a_motion_that_nothing_ends_completes_where_its_path_ends() -> None:
    done = play(going())
    finished, track = done[0]
    reply = returned(done)
    assert finished.how == "returned"
    assert reply.by == "completed"
    assert reply.evidence == ()
    np.testing.assert_array_equal(reply.command.position, AWAY)
    assert not reply.command.velocity.any()
    assert reply.readings.joints == pytest.approx(AWAY, abs=0.05)
    assert reply.time_s == pytest.approx(track.ticks * TICK_S)


def test_a_driver_begins_with_readings_one_tick_after_the_start() -> None:
    def drive(first: Reply) -> Script:
        yield Motion("hold", hold(SO101, first.command, 0.1))
        return first

    done = play(drive)
    _, track = done[0]
    first = returned(done)
    assert first.time_s == pytest.approx(TICK_S)
    np.testing.assert_array_equal(first.command.position, SO101.home)
    assert first.readings.joints == pytest.approx(SO101.home, abs=1e-3)
    assert track.ticks == 1 + 6


def test_a_driver_that_asks_for_nothing_returns_at_once() -> None:
    def drive(first: Reply) -> Script:
        return "nothing to do"
        yield

    finished, track = play(drive)[0]
    assert finished == Finished("returned", value="nothing to do")
    assert track.ticks == 1


def test_motions_follow_each_other_without_a_tick_between() -> None:
    def drive(first: Reply) -> Script:
        there = yield Motion("there", joint_move(SO101, first.command, AWAY))
        back = yield Motion("back", joint_move(SO101, there.command, SO101.home))
        return there.time_s, back.time_s

    finished, track = play(drive)[0]
    one_way = joint_move(SO101, at_rest(SO101.home), AWAY).ticks
    assert finished.value == pytest.approx(((1 + one_way) * TICK_S, (1 + 2 * one_way) * TICK_S))
    assert_within_limits(*track.reference())


def test_a_driver_that_ends_at_speed_is_braked_within_limits_and_its_value_kept() -> None:
    def drive(first: Reply) -> Script:
        yield Within(request=Motion("go", joint_move(SO101, first.command, AWAY)), until_s=0.4)
        return "enough"

    finished, track = play(drive)[0]
    positions, velocities = track.reference()
    assert finished == Finished("returned", value="enough")
    assert np.abs(velocities[24]).max() > 1.0
    assert not velocities[-PARTING_TICKS:].any()
    assert_within_limits(positions, velocities)


def test_a_request_that_must_end_by_a_time_ends_on_that_tick() -> None:
    def drive(first: Reply) -> Script:
        timed = yield Within(request=Motion("hold", hold(SO101, first.command, 5.0)), until_s=0.5)
        whole = yield Within(request=Motion("hold", hold(SO101, timed.command, 0.2)), until_s=9.0)
        return timed, whole

    timed, whole = returned(play(drive))
    assert (timed.by, whole.by) == ("timed_out", "completed")
    assert (timed.time_s, whole.time_s) == pytest.approx((0.5, 0.7))


def test_a_busy_lane_cannot_be_started_again() -> None:
    executor = start(executor_of(2), holding(0.1))
    assert executor.idle_lanes() == [1]
    with pytest.raises(WiringError, match="lane 0 is busy"):
        executor.start(0, holding(0.1), START, PLAIN)


def test_a_driver_that_does_not_stand_still_first_begins_with_the_readings_of_the_start() -> None:
    executor, seen = executor_of(1), []

    def drive(first: Reply) -> Script:
        seen.append(first)
        return (yield Motion("hold", hold(SO101, first.command, 0.1)))

    executor.start(0, drive, START, PLAIN, still_ticks=0)
    done = finish(executor)
    assert seen[0].time_s == 0.0
    np.testing.assert_allclose(seen[0].readings.joints, SO101.home)
    assert done[0][1].ticks == 6


def test_the_halves_of_a_tick_let_a_driver_be_asked_later() -> None:
    executor, asked = executor_of(1), []

    def drive(reply: Reply) -> Script:
        while True:
            asked.append(reply.time_s)
            reply = yield Motion("hold", hold(SO101, reply.command, 2 * SO101.dt_s))

    executor.start(0, drive, START, PLAIN, still_ticks=0)
    assert asked == []
    for frame in range(3):
        executor.resume()
        assert len(asked) == frame + 1
        assert [executor.advance(), executor.advance()] == [False, True]
    assert asked == pytest.approx([0, 2 * SO101.dt_s, 4 * SO101.dt_s])


def test_halves_and_whole_ticks_give_the_same_bits() -> None:
    whole, halves = (start(executor_of(1), going()) for _ in range(2))
    (how, track), played = finish(whole)[0], {}
    while not played:
        if halves.advance():
            played = halves.resume()
    assert how.how == played[0][0].how == "returned"
    np.testing.assert_array_equal(played[0][1].reference()[0], track.reference()[0])
    assert halves.engine.state(0).tobytes() == whole.engine.state(0).tobytes()


def test_a_lane_stopped_between_the_halves_of_a_tick_comes_to_rest() -> None:
    executor = start(executor_of(1), going())
    for _ in range(20):
        executor.tick()
    while not executor.advance():
        pass
    executor.preempt(0)
    ((how, track),) = finish(executor).values()
    assert how.how == "preempted"
    assert not track.reference()[1][-1].any()


def test_a_lane_stopped_before_it_was_asked_anything_stays_where_it_is() -> None:
    executor = executor_of(1)
    executor.start(0, going(), START, PLAIN, still_ticks=0)
    executor.preempt(0)
    ((how, track),) = finish(executor).values()
    assert how.how == "preempted"
    np.testing.assert_array_equal(track.reference()[0][-1], SO101.home)


def test_a_motion_may_have_corners_only_if_it_says_so() -> None:
    path = ramp(SO101, SO101.home, SO101.home + 0.04, 1)

    def drive(corners: bool) -> Callable[[Reply], Script]:
        def driver(first: Reply) -> Script:
            return (yield Motion("jump", path, corners=corners))

        return driver

    done = play(drive(True), drive(False))
    np.testing.assert_array_equal(returned(done, 0).command.position, SO101.home + 0.04)
    assert done[1][0].how == "crashed"
    assert "away from the command in force" in done[1][0].error


def test_an_executor_without_lanes_ticks_idly() -> None:
    executor = executor_of(2)
    assert not executor.busy
    assert executor.tick() == {}


# Guards


def rising(height_m: float, **more: Any) -> ReachedHeight:
    return ReachedHeight(height_m=height_m, **more)


UP = SO101.home + np.array([0.0, -0.4, 0.0, 0.0, 0.0, 0.0])


def height_m(reply: Any) -> float:
    return float(reply.readings.tool_position_m[2])


def test_a_guard_ends_a_motion_early_with_evidence_and_at_speed() -> None:
    top = height_m(returned(play(going(UP))))
    guard = rising(top - 0.03)
    reply = returned(play(going(UP, guards=(guard,))))
    assert reply.by is guard
    (measured,) = reply.evidence
    assert (measured.name, measured.relation, measured.limit, measured.unit) == ("tool_height", ">=", top - 0.03, "m")
    assert measured.passed
    assert measured.value == height_m(reply)
    assert np.abs(reply.command.velocity).max() > 0.1
    assert top - 0.03 <= height_m(reply) < top


def test_a_motion_that_completes_tells_what_its_guards_measured_last() -> None:
    guard = rising(1.0)
    reply = returned(play(going(UP, guards=(guard,))))
    assert reply.by == "completed"
    (measured,) = reply.evidence
    assert not measured.passed
    assert measured.value == height_m(reply)


@pytest.mark.parametrize("for_s, later", [(0.0, 0), (1 / 60, 0), (0.05, 2), (0.1, 5), (0.11, 6)])
def test_a_guard_waits_until_its_condition_has_held_for_its_ticks(for_s: float, later: int) -> None:
    top = height_m(returned(play(going(UP))))
    at_once = returned(play(going(UP, guards=(rising(top - 0.03),))))
    waiting = returned(play(going(UP, guards=(rising(top - 0.03, for_s=for_s),))))
    assert round((waiting.time_s - at_once.time_s) * SO101.control_hz) == later


def test_of_two_guards_that_fire_on_one_tick_the_first_named_ends_the_motion() -> None:
    low, force = rising(0.0), ForceAbove(force_n=-1.0)
    for guards in ((low, force), (force, low)):
        reply = returned(play(going(UP, guards=guards)))
        assert reply.by is guards[0]
        assert [measured.name for measured in reply.evidence] == (
            ["tool_height", "pad_force"] if guards[0] is low else ["pad_force", "tool_height"]
        )


def test_a_motion_may_carry_two_guards_of_one_kind() -> None:
    top = height_m(returned(play(going(UP))))
    guards = (rising(top + 1.0), rising(top - 0.03))
    reply = returned(play(going(UP, guards=guards)))
    assert reply.by is guards[1]
    assert [measured.limit for measured in reply.evidence] == [top + 1.0, top - 0.03]


def test_guards_of_a_motion_end_with_it() -> None:
    def drive(first: Reply) -> Script:
        guarded = yield Motion("guarded", hold(SO101, first.command, 0.5), guards=(rising(0.0),))
        free = yield Motion("free", hold(SO101, guarded.command, 0.5))
        return guarded, free

    guarded, free = returned(play(drive))
    assert guarded.by == rising(0.0)
    assert free.by == "completed"
    assert free.evidence == ()


def test_each_lane_has_its_own_guards() -> None:
    top = height_m(returned(play(going(UP))))
    guards = [(), (rising(top - 0.05),), (rising(top - 0.02),), (rising(top + 1.0),)]
    together = play(*(going(UP, guards=each) for each in guards))
    for lane, each in enumerate(guards):
        alone = play(going(UP, guards=each))
        assert together[lane][1].ticks == alone[0][1].ticks
        assert returned(together, lane).evidence == returned(alone).evidence


def test_a_guard_that_follows_an_object_nobody_watches_never_fires_and_shows_absent() -> None:
    guards = (
        Slipped(offset_m=(0.0, 0.0, 0.0), slip_m=0.0, for_s=0.0),
        LeftBehind(hand_start_m=(9.0, 9.0, 9.0), object_start_m=(0.0, 0.0, 0.0), for_s=0.0),
    )
    reply = returned(play(going(guards=guards)))
    assert reply.by == "completed"
    assert all(measured.absent and not measured.passed for measured in reply.evidence)


def slip_guard(first: Reply, for_s: float) -> Slipped:
    """Fires when the cube, which lies still, is 30 mm from where it lay, as seen from the hand."""
    lay = START[-7:-4]
    offset = first.readings.tool_rotation.T @ (lay - first.readings.tool_position_m)
    return Slipped(offset_m=(float(offset[0]), float(offset[1]), float(offset[2])), slip_m=0.03, for_s=for_s)


@pytest.mark.parametrize("rate_hz, for_s, ticks", [(60.0, 0.0, 2), (20.0, 0.0, 3), (20.0, 0.1, 6), (10.0, 0.25, 18)])
def test_a_watched_object_that_leaves_is_noticed_at_the_rate_it_is_looked_at(
    rate_hz: float, for_s: float, ticks: int
) -> None:
    def drive(first: Reply) -> Script:
        watch = Watch(target=CUBE, rate_hz=rate_hz)
        return (yield Motion("hold", hold(SO101, first.command, 2.0), guards=(slip_guard(first, for_s),), watch=watch))

    executor = start(executor_of(1, allow_truth=True), drive)
    executor.tick()
    executor.apply(0, Place(body=CUBE, position_m=(0.15, 0.30, 0.015)))
    reply = returned(finish(executor))
    assert isinstance(reply.by, Slipped)
    # It is gone from the first look on; looks come every 60 / rate ticks, counted from when the lane began.
    assert round(reply.time_s * SO101.control_hz) == ticks
    (slip,) = reply.evidence
    assert slip.value == pytest.approx(0.08, abs=0.005)


def test_what_a_watcher_makes_of_an_object_is_what_guards_judge() -> None:
    def drive(first: Reply) -> Script:
        watch = Watch(target=CUBE, blur=lambda exact: exact + np.array([0.0, 0.0, 0.05]))
        return (yield Motion("hold", hold(SO101, first.command, 1.0), guards=(slip_guard(first, 0.0),), watch=watch))

    reply = returned(play(drive, allow_truth=True))
    assert isinstance(reply.by, Slipped)
    assert reply.evidence[0].value == pytest.approx(0.05, abs=1e-3)


def test_what_was_seen_in_one_motion_is_forgotten_in_the_next() -> None:
    def drive(first: Reply) -> Script:
        guards = (slip_guard(first, 0.0),)
        watched = yield Motion("watched", hold(SO101, first.command, 0.2), guards=guards, watch=Watch(target=CUBE))
        blind = yield Motion("blind", joint_move(SO101, watched.command, AWAY), guards=guards)
        return watched, blind

    watched, blind = returned(play(drive, allow_truth=True))
    assert (watched.by, blind.by) == ("completed", "completed")
    assert not watched.evidence[0].absent
    assert blind.evidence[0].absent


def test_what_one_lane_measured_last_does_not_depend_on_when_others_look() -> None:
    def drive(first: Reply) -> Script:
        guards = (slip_guard(first, 10.0), rising(0.2))
        path = joint_move(SO101, first.command, UP, speed=0.3)
        return (yield Motion("up", path, guards=guards, watch=Watch(target=CUBE, rate_hz=10.0)))

    alone = returned(play(drive, allow_truth=True))
    executor = executor_of(3, allow_truth=True)
    replies = {}
    executor.start(0, drive, START, PLAIN)
    for lane in (1, 2):
        executor.tick()
        executor.tick()
        executor.start(lane, drive, START, PLAIN)
    for lane, (finished, _) in finish(executor).items():
        replies[lane] = finished.value
    for reply in replies.values():
        assert reply.by == alone.by
        assert reply.evidence == alone.evidence


@pytest.mark.parametrize("what", ["object", "place", "both"])
def test_object_and_place_are_watched_each_at_its_own_rate(what: str) -> None:
    lay = (float(START[-7]), float(START[-6]), float(START[-5]))
    moved = ObjectMoved(lay_at_m=lay, limit_m=0.03), PlaceMoved(was_at_m=lay, limit_m=0.03)

    def drive(first: Reply) -> Script:
        watches = [Watch(target=CUBE, rate_hz=rate_hz) for rate_hz in (20.0, 10.0)]
        guards = {"object": moved[:1], "place": moved[1:], "both": moved}[what]
        path = hold(SO101, first.command, 1.0)
        return (yield Motion("hold", path, guards=guards, watch=watches[0], place=watches[1]))

    executor = start(executor_of(1, allow_truth=True), drive)
    executor.tick()
    executor.apply(0, Place(body=CUBE, position_m=(0.15, 0.30, 0.015)))
    reply = returned(finish(executor))
    assert reply.by is (moved[1] if what == "place" else moved[0])
    assert round(reply.time_s * SO101.control_hz) == (6 if what == "place" else 3)
    assert [each.absent for each in reply.evidence] == ([False, True] if what == "both" else [False])


def test_one_picture_shows_object_and_place() -> None:
    taken: list[Look] = []

    def photograph(lane: int, look: Look) -> Any:
        taken.append(look)
        return look

    def drive(first: Reply) -> Script:
        guards = ObjectMoved(lay_at_m=(0, 0, 0), limit_m=0.03), PlaceMoved(was_at_m=(0, 0, 0), limit_m=0.03)
        watch = Watch(target=CUBE, rate_hz=10.0, look=Look("front"), track=lambda picture, tool, rotation: np.zeros(3))
        return (yield Motion("hold", hold(SO101, first.command, 0.5), guards=guards, watch=watch, place=watch))

    reply = returned(play(drive, photograph=photograph))
    assert reply.by == "completed"
    assert len(taken) == 5


def test_watching_truth_without_permission_crashes_the_lane_with_a_clear_error() -> None:
    finished, _ = play(holding(0.1, watch=Watch(target=CUBE)))[0]
    assert finished.how == "crashed"
    assert "motion 'hold' watches truth, which this scenario does not name" in finished.error


# Mistakes end one lane


def jumping(first: Reply) -> Script:
    yield Motion("jump", hold(SO101, at_rest(SO101.home), 0.1))
    yield Motion("jump", hold(SO101, joint_move(SO101, first.command, AWAY).command_at(20), 0.1))


def rows(first: Reply, ticks: int = 10) -> np.ndarray:
    return np.repeat(first.command.position[None], ticks, axis=0)


def at_speed_from_rest(first: Reply) -> Script:
    velocities = np.zeros((10, 6))
    velocities[0, 0] = 0.1
    yield Motion("rush", path_of(rows(first), velocities))


def too_fast(first: Reply) -> Script:
    velocities = np.zeros((61, 6))
    velocities[:, 2] = 3.2 * np.sin(np.linspace(0, np.pi, 61))
    yield Motion("sprint", path_of(rows(first, 61), velocities))


def too_sudden(first: Reply) -> Script:
    velocities = np.zeros((10, 6))
    velocities[5:, 1] = 0.5
    yield Motion("jolt", path_of(rows(first), velocities))


def too_far(first: Reply) -> Script:
    yield Motion("stretch", joint_move(SO101, first.command, SO101.limits.upper + 0.01))


def not_a_number(first: Reply) -> Script:
    positions = rows(first)
    positions[5, 3] = np.nan
    yield Motion("void", path_of(positions))


def without_a_tick(first: Reply) -> Script:
    yield Motion("empty", path_of(rows(first, 1)))


def asking_for_the_moon(first: Reply) -> Script:
    yield "the moon"


def raising(first: Reply) -> Script:
    yield Motion("hold", hold(SO101, first.command, 0.1))
    raise ValueError("a mistake in a state")


def raising_at_once(first: Reply) -> Script:
    raise ValueError("a mistake in a state")


def making_no_driver(first: Reply) -> Script:
    return cast(Script, None)


@pytest.mark.parametrize(
    "mistake, message",
    [
        (jumping, "motion 'jump' starts"),
        (at_speed_from_rest, "motion 'rush' starts 0 rad and 0.1 rad/s away from the command in force"),
        (too_fast, "motion 'sprint' breaks limits: elbow_flex velocity 183°/s (limit <= 172°/s)"),
        (too_sudden, "motion 'jolt' breaks limits: shoulder_lift acceleration 1719°/s² (limit <= 1146°/s²)"),
        (too_far, "motion 'stretch' breaks limits: shoulder_pan position"),
        (not_a_number, "motion 'void' breaks limits: wrist_flex position absent"),
        (without_a_tick, "motion 'empty' has no tick to play"),
        (asking_for_the_moon, "a driver asked for 'the moon'; expected Motion, Look, Looks, Solve or Ask"),
        (raising, "ValueError: a mistake in a state"),
        (raising_at_once, "ValueError: a mistake in a state"),
        (making_no_driver, "TypeError"),
    ],
)
def test_a_mistake_ends_its_own_lane_with_a_clear_error_while_the_others_go_on(mistake: Any, message: str) -> None:
    together = play(going(), mistake, holding(3.0))
    assert together[1][0].how == "crashed"
    assert message in together[1][0].error
    assert [together[lane][0].how for lane in (0, 2)] == ["returned", "returned"]
    assert_within_limits(*together[1][1].reference())
    alone = play(going())
    np.testing.assert_array_equal(together[0][1].reference()[0], alone[0][1].reference()[0])


def test_a_reference_that_jumps_breaks_limits() -> None:
    def drive(first: Reply) -> Script:
        positions = rows(first)
        positions[5:, 0] += 0.2
        yield Motion("leap", path_of(positions))

    assert play(drive)[0][0].how == "crashed"


def test_a_lane_that_crashes_at_speed_brakes_within_limits() -> None:
    def drive(first: Reply) -> Script:
        yield Within(request=Motion("go", joint_move(SO101, first.command, AWAY)), until_s=0.4)
        raise RuntimeError("at full speed")

    finished, track = play(drive)[0]
    positions, velocities = track.reference()
    assert finished.how == "crashed"
    assert np.abs(velocities).max() > 1.0
    assert not velocities[-PARTING_TICKS:].any()
    assert_within_limits(positions, velocities)


def test_a_lane_that_crashed_can_be_used_again() -> None:
    executor = start(executor_of(1), raising)
    assert finish(executor)[0][0].how == "crashed"
    executor.start(0, going(), START, PLAIN)
    finished, track = finish(executor)[0]
    assert finished.how == "returned"
    np.testing.assert_array_equal(track.reference()[0], play(going())[0][1].reference()[0])


def test_a_lane_that_diverges_ends_alone_with_everything_it_played() -> None:
    executor = start(executor_of(3, record_states=True), going(), holding(2.0), going())
    for _ in range(30):
        executor.tick()
    executor.apply(1, CorruptControl(joint="wrist_roll"))
    done = executor.tick()
    assert done[1][0] == Finished("physics_diverged")
    track = done[1][1]
    assert (track.ticks, len(track.reference()[0]), len(track.states)) == (31, 32, 31)
    assert track.events == [(30, CorruptControl(joint="wrist_roll"))]
    others = finish(executor)
    assert [others[lane][0].how for lane in (0, 2)] == ["returned", "returned"]
    alone = returned(play(going()))
    for lane in (0, 2):
        np.testing.assert_array_equal(returned(others, lane).readings.row, alone.readings.row)


def test_a_driver_that_yields_while_it_is_closed_is_reported_and_others_go_on() -> None:
    def clinging(first: Reply) -> Script:
        try:
            yield Motion("hold", hold(SO101, first.command, 1.0))
        finally:
            yield Motion("hold", hold(SO101, first.command, 1.0))

    executor = start(executor_of(2), clinging, going())
    executor.tick()
    executor.tick()
    executor.apply(0, CorruptControl(joint="wrist_roll"))
    done = finish(executor)
    assert done[0][0].how == "crashed"
    assert "generator ignored GeneratorExit" in done[0][0].error
    assert done[1][0].how == "returned"


# Looks


def test_looking_at_truth_without_permission_crashes_the_lane_with_a_clear_error() -> None:
    def peeking(first: Reply) -> Script:
        yield Look(None)

    done = play(peeking, going())
    assert done[0][0].how == "crashed"
    assert "does not name the truth estimator, so no state may look at truth" in done[0][0].error
    assert done[1][0].how == "returned"


def test_a_look_at_truth_gives_every_object_with_the_size_it_has_in_this_lane() -> None:
    def looking(first: Reply) -> Script:
        reply = yield Look(None)
        return reply

    executor = executor_of(2, allow_truth=True)
    executor.start(0, looking, START, PLAIN)
    small = cube_start(x_m=0.2, y_m=-0.2, yaw_rad=0.0, edge_m=0.022)
    executor.start(1, looking, small, cube_variation(edge_m=0.022, mass_kg=0.02, pad_friction=1.0))
    done = finish(executor)
    for lane, (place, edge_m) in enumerate(((START[-7:-4], 0.03), (small[-7:-4], 0.022))):
        reply = returned(done, lane)
        assert reply.time_s == pytest.approx(TICK_S)
        assert isinstance(reply.value, dict)
        seen = reply.value[CUBE]
        assert isinstance(seen, ObjectSeen)
        assert seen.position_m == pytest.approx(place, abs=1e-4)
        assert np.linalg.norm(seen.velocity_m_s) < 0.05
        assert seen.half_extents_m == pytest.approx([edge_m / 2] * 3)


def picture(camera: str, shade: int) -> Picture:
    rgb = np.full((4, 6, 3), shade, np.uint8)
    return Picture(rgb=rgb, camera=camera, position_m=np.zeros(3), rotation=np.eye(3), fovy_rad=1.0)


def test_a_look_through_a_camera_is_answered_with_the_lanes_picture() -> None:
    asked_for: list[tuple[int, Look]] = []

    def photograph(lane: int, look: Look) -> Picture:
        asked_for.append((lane, look))
        return picture(str(look.camera), 10 * lane)

    def looking(first: Reply) -> Script:
        yield Motion("hold", hold(SO101, first.command, 0.1))
        return (yield from pictured("wrist", 6, 4))

    done = play(looking, looking, photograph=photograph)
    assert asked_for == [(0, Look("wrist", 6, 4)), (1, Look("wrist", 6, 4))]
    for lane in (0, 1):
        taken = returned(done, lane)
        assert isinstance(taken, Picture)
        assert (taken.camera, taken.width, taken.height, int(taken.rgb[0, 0, 0])) == ("wrist", 6, 4, 10 * lane)


def test_pictures_of_one_tick_are_taken_together_and_what_is_asked_then_is_solved_together() -> None:
    taken: list[list[tuple[int, str | None]]] = []
    solved_together: list[int] = []

    def photograph_many(looks: list[tuple[int, Look]]) -> list[Any]:
        taken.append([(lane, look.camera) for lane, look in looks])
        return [f"{look.camera} of {lane}" for lane, look in looks]

    def solve(solves: list[Solve[Any]]) -> list[Any]:
        solved_together.append(len(solves))
        return [each.arguments for each in solves]

    def looking(first: Reply) -> Script:
        front = yield Look("front")
        wrist = yield Look("wrist")
        answer = yield Solve(lambda *seen: seen, (front.value, wrist.value))
        return answer.value

    def asking(first: Reply) -> Script:
        answer = yield Solve(lambda: None, ())
        return answer.value

    done = play(looking, asking, looking, photograph_many=photograph_many, solve=solve)
    assert taken == [[(0, "front"), (2, "front")], [(0, "wrist"), (2, "wrist")]]
    assert solved_together == [3]
    assert returned(done, 2) == ("front of 2", "wrist of 2")


def test_a_picture_taken_together_with_others_takes_its_time() -> None:
    def photograph_many(looks: list[tuple[int, Look]]) -> list[Any]:
        return ["seen" for _ in looks]

    def looking(first: Reply) -> Script:
        seen = yield Look("front")
        return seen.value, seen.time_s - first.time_s

    done = play(looking, photograph_many=photograph_many, delays=Delays(look_s=0.25))
    value, lasted_s = returned(done)
    assert value == "seen"
    assert lasted_s == pytest.approx(0.25)


@pytest.mark.parametrize("together", [True, False])
def test_pictures_of_several_cameras_at_one_moment_are_one_answer(together: bool) -> None:
    batches: list[list[str | None]] = []

    def photograph_many(looks: list[tuple[int, Look]]) -> list[Any]:
        batches.append([look.camera for _, look in looks])
        return [f"{look.camera} of {lane}" for lane, look in looks]

    def photograph(lane: int, look: Look) -> Any:
        return f"{look.camera} of {lane}"

    def looking(first: Reply) -> Script:
        seen = yield Looks((Look("front"), Look("wrist")))
        return seen.value

    camera: dict[str, Any] = {"photograph_many": photograph_many} if together else {"photograph": photograph}
    done = play(looking, looking, **camera)
    assert [returned(done, lane) for lane in (0, 1)] == [
        ("front of 0", "wrist of 0"),
        ("front of 1", "wrist of 1"),
    ]
    assert batches == ([["front", "wrist", "front", "wrist"]] if together else [])


def test_a_look_through_a_camera_that_nobody_has_crashes_the_lane_with_a_clear_error() -> None:
    def looking(first: Reply) -> Script:
        yield from pictured("wrist")

    finished, _ = play(looking)[0]
    assert finished.how == "crashed"
    assert "a look through camera 'wrist', but nothing here can take pictures" in finished.error


def test_a_driver_may_look_a_thousand_times_on_one_tick() -> None:
    def staring(first: Reply) -> Script:
        for _ in range(1000):
            yield Look(None)
        return "seen it all"

    assert returned(play(staring, allow_truth=True)) == "seen it all"


# Solves


def test_solves_of_one_tick_are_answered_in_one_call_for_all_lanes() -> None:
    calls: list[list[tuple[int, ...]]] = []

    def double(number: int) -> int:
        raise AssertionError("called alone")

    def many(arguments: list[tuple[int, ...]]) -> list[int]:
        calls.append(arguments)
        return [2 * number for (number,) in arguments]

    setattr(double, "many", many)  # noqa: B010

    def doubling(number: int, wait_s: float) -> Any:
        def drive(first: Reply) -> Script:
            yield Motion("hold", hold(SO101, first.command, wait_s))
            once = yield from solved(double, number)
            return (yield from solved(double, once))

        return drive

    done = play(doubling(1, 0.1), doubling(2, 0.1), doubling(3, 0.2), doubling(4, 0.1))
    assert calls == [[(1,), (2,), (4,)], [(2,), (4,), (8,)], [(3,)], [(6,)]]
    assert [returned(done, lane) for lane in range(4)] == [4, 8, 12, 16]


def test_a_function_that_takes_one_lane_is_called_for_each() -> None:
    calls: list[tuple[int, str]] = []

    def repeat(count: int, word: str) -> str:
        calls.append((count, word))
        return count * word

    def drive(first: Reply) -> Script:
        return (yield from solved(repeat, 2, "ab"))

    done = play(drive, drive)
    assert calls == [(2, "ab"), (2, "ab")]
    assert [returned(done, lane) for lane in (0, 1)] == ["abab", "abab"]


def test_solves_of_different_functions_on_one_tick_do_not_mix() -> None:
    def drive_with(function: Any) -> Any:
        def drive(first: Reply) -> Script:
            return (yield from solved(function, 10))

        return drive

    done = play(drive_with(lambda x: x + 1), drive_with(lambda x: x * x), drive_with(lambda x: -x))
    assert [returned(done, lane) for lane in range(3)] == [11, 100, -10]


def inverse(number: float) -> float:
    return 1 / number


def inverting(number: float) -> Any:
    def drive(first: Reply) -> Script:
        return (yield from solved(inverse, number))

    return drive


def test_a_solve_that_fails_ends_its_own_lane_only() -> None:
    done = play(inverting(2.0), inverting(0.0), going())
    assert done[1][0].how == "crashed"
    assert "ZeroDivisionError" in done[1][0].error
    assert returned(done, 0) == 0.5
    assert returned(done, 2).by == "completed"


def test_a_solve_for_many_that_fails_is_tried_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def many(arguments: list[tuple[float]]) -> list[float]:
        raise RuntimeError("for all of them")

    monkeypatch.setattr(inverse, "many", many, raising=False)
    done = play(inverting(2.0), inverting(4.0), going())
    assert [done[lane][0].how for lane in range(3)] == ["returned", "returned", "returned"]
    assert returned(done, 0) == 0.5


def test_a_solve_that_fails_at_speed_brakes_within_limits() -> None:
    def drive(first: Reply) -> Script:
        yield Within(request=Motion("go", joint_move(SO101, first.command, AWAY)), until_s=0.4)
        yield Solve(inverse, (0.0,))

    finished, track = play(drive)[0]
    assert finished.how == "crashed"
    assert_within_limits(*track.reference())


# Asks


def asking(first: Reply) -> Script:
    return (yield from asked("which one?", {"left": "To the left", "right": "To the right"}, "left"))


def test_a_question_to_nobody_gets_its_default() -> None:
    assert returned(play(asking)) == "left"


def test_a_question_gets_the_answer_of_whoever_is_there() -> None:
    heard: list[tuple[int, str, tuple[str, ...]]] = []

    def answer(lane: int, ask: Ask) -> str:
        heard.append((lane, ask.question, ask.options))
        return ask.options[lane]

    done = play(asking, asking, answer=answer)
    assert [returned(done, lane) for lane in (0, 1)] == ["left", "right"]
    assert heard == [(lane, "which one?", ("left", "right")) for lane in (0, 1)]


# Delays


@pytest.mark.parametrize(
    "request_made, delays",
    [
        (Look(None), Delays(look_s=0.25)),
        (Solve(lambda: 7, ()), Delays(solve_s=0.25)),
        (Ask(question="?", options=("a",), default="a"), Delays(ask_s=0.25)),
    ],
    ids=["look", "solve", "ask"],
)
def test_a_lane_holds_for_exactly_the_time_an_answer_takes(request_made: Any, delays: Delays) -> None:
    def drive(first: Reply) -> Script:
        there = yield Motion("go", joint_move(SO101, first.command, AWAY))
        answered = yield request_made
        again = yield Motion("hold", hold(SO101, answered.command, 0.1))
        return there, answered, again

    done = play(drive, allow_truth=True, delays=delays)
    there, answered, again = returned(done)
    _, track = done[0]
    assert answered.time_s - there.time_s == pytest.approx(0.25)
    assert answered.value is not None
    assert answered.by == "completed"
    assert again.value is None
    np.testing.assert_array_equal(answered.command.position, there.command.position)
    positions, velocities = track.reference()
    waiting = slice(round(there.time_s * 60), round(answered.time_s * 60))
    assert not velocities[waiting].any()
    assert (positions[waiting] == AWAY).all()


def test_answers_that_take_no_time_come_on_the_same_tick() -> None:
    def drive(first: Reply) -> Script:
        seen = yield Look(None)
        told = yield Ask(question="?", options=("a",), default="a")
        found = yield Solve(lambda: 7, ())
        return [first.time_s, seen.time_s, told.time_s, found.time_s]

    finished, track = play(drive, allow_truth=True)[0]
    assert finished.value == [TICK_S] * 4
    assert track.ticks == 1


def test_what_is_asked_at_speed_brakes_first_and_then_waits() -> None:
    def drive(first: Reply) -> Script:
        cut = yield Within(request=Motion("go", joint_move(SO101, first.command, AWAY)), until_s=0.4)
        answered = yield Look(None)
        return cut, answered

    done = play(drive, allow_truth=True, delays=Delays(look_s=0.5))
    cut, answered = returned(done)
    _, track = done[0]
    stopping_s = brake(SO101, cut.command).duration_s
    assert answered.time_s - cut.time_s == pytest.approx(0.5 + stopping_s)
    assert_within_limits(*track.reference())


def test_an_answer_that_comes_after_the_time_is_up_is_not_waited_for() -> None:
    def drive(first: Reply) -> Script:
        return (yield Within(request=Look(None), until_s=0.5))

    reply = returned(play(drive, allow_truth=True, delays=Delays(look_s=5.0)))
    assert reply.by == "timed_out"
    assert reply.time_s == pytest.approx(0.5)


# Preemption


def ticks_to_peak() -> int:
    velocities = play(going())[0][1].reference()[1]
    return int(np.abs(velocities).max(axis=1).argmax())


def test_a_lane_stopped_at_peak_speed_brakes_within_limits_and_comes_to_rest() -> None:
    executor = start(executor_of(2, record_states=True), going(), going())
    for _ in range(ticks_to_peak()):
        executor.tick()
    executor.preempt(0)
    done = finish(executor)
    finished, track = done[0]
    assert finished == Finished("preempted")
    positions, velocities = track.reference()
    assert np.abs(velocities).max() > 2.5
    assert_within_limits(positions, velocities)
    assert not velocities[-PARTING_TICKS:].any()
    # From 3 rad/s at 20 rad/s², with the jerk to get there and away again, in under a quarter of a second.
    assert track.ticks <= ticks_to_peak() + 15 + PARTING_TICKS
    # The arm itself has come to rest, too.
    assert np.abs(track.states[-1, :6] - track.states[-5, :6]).max() < 2e-3
    assert track.states[-1, :6] == pytest.approx(positions[-1], abs=0.02)
    assert done[1][0].how == "returned"


@pytest.mark.parametrize("seed", range(6))
def test_a_lane_stopped_at_any_moment_keeps_limits(seed: int) -> None:
    random = np.random.default_rng(seed)
    limits = SO101.limits

    def wandering(first: Reply) -> Script:
        reply = first
        while True:
            target = random.uniform(limits.lower, limits.upper)
            path = joint_move(SO101, reply.command, target, speed=random.uniform(0.2, 1.0))
            reply = yield Within(request=Motion("go", path), until_s=reply.time_s + random.uniform(0.02, 0.8))

    executor = start(executor_of(1), wandering)
    for _ in range(int(random.integers(20, 200))):
        assert executor.tick() == {}
    executor.preempt(0)
    finished, track = finish(executor)[0]
    assert finished.how == "preempted"
    positions, velocities = track.reference()
    assert not velocities[-PARTING_TICKS:].any()
    assert_within_limits(positions, velocities)


def test_a_lane_may_be_stopped_before_its_driver_begins() -> None:
    def never(first: Reply) -> Script:
        raise AssertionError("must not begin")

    executor = start(executor_of(1), never)
    executor.preempt(0)
    finished, track = finish(executor)[0]
    assert finished == Finished("preempted")
    assert track.ticks == PARTING_TICKS


def test_a_lane_may_be_stopped_while_it_waits_for_an_answer() -> None:
    def drive(first: Reply) -> Script:
        yield Look(None)
        raise AssertionError("must not be answered")

    executor = start(executor_of(1, allow_truth=True, delays=Delays(look_s=5.0)), drive)
    for _ in range(10):
        executor.tick()
    executor.preempt(0)
    finished, track = finish(executor)[0]
    assert finished == Finished("preempted")
    assert track.ticks == 10 + PARTING_TICKS


def test_stopping_twice_or_an_idle_lane_changes_nothing() -> None:
    executor = start(executor_of(2), going())
    for _ in range(20):
        executor.tick()
    executor.preempt(0)
    executor.preempt(1)
    executor.tick()
    executor.preempt(0)
    finished, track = finish(executor)[0]
    assert finished.how == "preempted"
    assert_within_limits(*track.reference())


def test_a_driver_that_is_stopped_may_put_things_in_order_without_asking() -> None:
    order = []

    def tidy(first: Reply) -> Script:
        try:
            yield Motion("go", joint_move(SO101, first.command, AWAY))
        except Preempted:
            order.append("stopped")
            return "ignored"
        finally:
            order.append("tidied")

    executor = start(executor_of(1), tidy)
    for _ in range(5):
        executor.tick()
    executor.preempt(0)
    assert finish(executor)[0][0] == Finished("preempted")
    assert order == ["stopped", "tidied"]


def stubborn_finally(first: Reply) -> Script:
    try:
        yield Motion("go", joint_move(SO101, first.command, AWAY))
    finally:
        yield Motion("more", hold(SO101, first.command, 1.0))


def stubborn_except(first: Reply) -> Script:
    try:
        yield Motion("go", joint_move(SO101, first.command, AWAY))
    except Preempted:
        yield Motion("more", hold(SO101, first.command, 1.0))


def stubborn_to_the_end(first: Reply) -> Script:
    for _ in range(3):
        try:
            yield Motion("go", joint_move(SO101, first.command, AWAY))
        except BaseException:
            continue


@pytest.mark.parametrize("stubborn", [stubborn_finally, stubborn_except, stubborn_to_the_end])
def test_a_driver_that_asks_for_more_while_it_is_stopped_is_reported_as_crashed(stubborn: Any) -> None:
    executor = start(executor_of(2), stubborn, going())
    for _ in range(20):
        executor.tick()
    executor.preempt(0)
    done = finish(executor)
    assert done[0][0].how == "crashed"
    assert "the driver yielded while it was being stopped" in done[0][0].error
    assert_within_limits(*done[0][1].reference())
    assert done[1][0].how == "returned"


def test_an_error_while_a_driver_is_stopped_is_reported() -> None:
    def clumsy(first: Reply) -> Script:
        try:
            yield Motion("go", joint_move(SO101, first.command, AWAY))
        finally:
            raise KeyError("lost it")

    executor = start(executor_of(1), clumsy)
    for _ in range(20):
        executor.tick()
    executor.preempt(0)
    finished, track = finish(executor)[0]
    assert finished.how == "crashed"
    assert "lost it" in finished.error
    assert_within_limits(*track.reference())


# Events


def test_a_scheduled_event_strikes_before_the_tick_it_is_due_at() -> None:
    diary = Diary()
    executor = start(executor_of(1, observers=[diary]), holding(1.0))
    for _ in range(10):
        executor.tick()
    place = Place(body=CUBE, position_m=(0.3, -0.2, 0.015))
    executor.schedule(0, 0.25, place)
    push = Push(body=CUBE, force_n=(0.0, 0.0, 0.0))
    executor.schedule(0, 0.1, push)
    executor.schedule(0, 0.0, push)
    _, track = finish(executor)[0]
    assert track.events == [(10, push), (16, push), (25, place)]
    assert [(round(time_s * 60), applied.event) for _, time_s, applied in diary.of(Applied)] == track.events


def test_a_scheduled_event_takes_effect_from_its_tick_on() -> None:
    executor = start(executor_of(1), holding(1.0))
    executor.schedule(0, 0.2, Place(body=CUBE, position_m=(0.3, -0.2, 0.015)))
    y = []
    while executor.busy:
        executor.tick()
        y.append(executor.engine.qpos[0, -6])
    assert np.abs(np.array(y[:12]) - 0.22).max() < 1e-3
    assert np.abs(np.array(y[12:]) + 0.2).max() < 1e-3


def test_a_scheduled_event_does_not_strike_the_next_episode_of_its_lane() -> None:
    executor = start(executor_of(2), holding(0.2), holding(3.0))
    executor.schedule(0, 0.5, CorruptControl(joint="gripper"))
    executor.schedule(1, 0.5, Push(body=CUBE, force_n=(0.0, 0.0, 0.0)))
    done = {}
    while not done:
        done = executor.tick()
    executor.start(0, holding(2.0), START, PLAIN)
    later = finish(executor)
    assert later[0][0].how == "returned"
    assert later[0][1].events == []
    assert [tick for tick, _ in later[1][1].events] == [30]


# Observers and tracks


def test_observers_are_told_what_happens_in_order_with_lane_and_time() -> None:
    def drive(first: Reply) -> Script:
        yield Announce(Entered("look"))
        yield Look(None)
        yield Announce(Ended("look", "seen", "hold"))
        yield Announce(Entered("hold"))
        yield Motion("hold", hold(SO101, first.command, 0.1))
        yield Announce(Ended("hold", "held", EndsAs("success")))
        return "done"

    first, second = Diary(), Diary()
    executor = executor_of(2, allow_truth=True, observers=[first, second])
    executor.start(1, drive, START, PLAIN)
    push = Push(body=CUBE, force_n=(0.0, 0.0, 0.0))
    executor.schedule(1, 0.05, push)
    finish(executor)
    assert first.entries == second.entries
    assert [(lane, round(time_s * 60), notification) for lane, time_s, notification in first.entries] == [
        (1, 1, Entered("look")),
        (1, 1, Looked(None)),
        (1, 1, Ended("look", "seen", "hold")),
        (1, 1, Entered("hold")),
        (1, 3, Applied(push)),
        (1, 7, Ended("hold", "held", EndsAs("success"))),
        (1, 7, Finished("returned", value="done")),
    ]


def test_observers_learn_of_every_way_to_finish() -> None:
    diary = Diary()
    executor = start(executor_of(4, observers=[diary]), holding(0.1), raising, holding(5.0), holding(5.0))
    for _ in range(20):
        executor.tick()
    executor.preempt(2)
    executor.apply(3, CorruptControl(joint="gripper"))
    finish(executor)
    assert {lane: notification.how for lane, _, notification in diary.of(Finished)} == {
        0: "returned",
        1: "crashed",
        2: "preempted",
        3: "physics_diverged",
    }


def test_a_track_has_one_state_per_tick_and_a_row_of_reference_more() -> None:
    _, track = play(going(), record_states=True)[0]
    positions, velocities = track.reference()
    assert positions.shape == velocities.shape == (track.ticks + 1, 6)
    assert track.states.shape == (track.ticks, len(START))
    np.testing.assert_array_equal(track.start, START)
    assert track.variation == PLAIN
    np.testing.assert_array_equal(positions[0], SO101.home)


def test_states_are_kept_only_if_asked_for() -> None:
    _, track = play(going())[0]
    assert track.states.shape == (0, len(START))


def test_the_joints_follow_the_reference() -> None:
    _, track = play(going(), record_states=True)[0]
    positions, _ = track.reference()
    assert np.abs(track.states[:, :6] - positions[1:]).max() < 0.06


def test_a_lane_gets_the_same_bits_alone_and_among_others() -> None:
    def long(first: Reply) -> Script:
        reply = yield Motion("go", joint_move(SO101, first.command, AWAY, speed=0.3))
        reply = yield Motion("hold", hold(SO101, reply.command, 4.0))
        yield Motion("back", joint_move(SO101, reply.command, SO101.home, speed=0.2))

    alone = start(executor_of(1), long)
    finish(alone)
    among = executor_of(4)
    among.start(2, long, START, PLAIN)
    for _ in range(7):
        among.tick()
    # Paths longer than any before, begun while the lane is in the middle of one.
    among.start(0, holding(9.0), START, PLAIN)
    among.start(3, going(), START, PLAIN)
    while 2 not in (done := among.tick()):
        pass
    assert done[2][0].how == "returned"
    assert among.engine.state(2).tobytes() == alone.engine.state(0).tobytes()


def test_lanes_that_began_on_different_ticks_see_the_same() -> None:
    def drive(first: Reply) -> Script:
        yield Motion("hold", hold(SO101, first.command, 0.1))
        watch = Watch(target=CUBE, rate_hz=10.0)
        return (yield Motion("hold", hold(SO101, first.command, 1.0), guards=(slip_guard(first, 0.1),), watch=watch))

    replies = []
    for late in range(7):
        executor = executor_of(2, allow_truth=True)
        executor.start(0, drive, START, Variation())
        for _ in range(late):
            executor.tick()
        executor.start(1, drive, START, Variation())
        for _ in range(9):
            executor.tick()
        executor.apply(1, Place(body=CUBE, position_m=(0.15, 0.30, 0.015)))
        finished: dict[int, Any] = {}
        while executor.busy:
            finished.update(executor.tick())
        reply = finished[1][0].value
        replies.append((reply.time_s, reply.evidence))
    assert all(each == replies[0] for each in replies)


def test_a_beat_comes_every_so_many_ticks_and_whenever_nothing_plays() -> None:
    executor = executor_of(1)
    assert executor.on_beat
    start(executor, going())
    beats = []
    while executor.busy and len(beats) < 2 * BEAT:
        executor.tick()
        beats.append(executor.on_beat)
    assert [index + 1 for index, beat in enumerate(beats) if beat] == [BEAT, 2 * BEAT]
