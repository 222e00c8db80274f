"""Policies, sliders and logs as drivers of a lane."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import numpy as np
import pytest

from graspline.engine.events import Place, Push
from graspline.execution.drivers import follow, jog, replay
from graspline.execution.requests import Look, Motion, Reply, Within
from graspline.motion.joint_moves import hold, joint_move
from graspline.robots.so101 import SO101
from graspline.scenes.cube_table import CUBE

from .playing import (
    AWAY,
    PLAIN,
    START,
    Array,
    Script,
    assert_within_limits,
    executor_of,
    finish,
    going,
    play,
    returned,
    start,
)

LIMITS = SO101.limits


# follow


def waving(time_s: float) -> Array:
    """A slow wave around home, well inside every limit."""
    return SO101.home + 0.2 * (1 - np.cos(2.0 * time_s)) * np.array([1.0, -1.0, 0.5, -0.5, 1.0, 1.0])


def following(choose: Callable[[Reply], Array | None], rate_hz: float = 30.0) -> Callable[[Reply], Script]:
    """A driver that follows a policy which does not look."""

    def policy(reply: Reply) -> Generator[Any, Reply, Array | None]:
        yield from ()
        return choose(reply)

    return lambda first: follow(SO101, first, policy, rate_hz=rate_hz)


def test_a_policy_is_asked_at_its_rate_and_its_targets_are_reached_exactly_one_period_later() -> None:
    for rate_hz, every in ((60.0, 1), (30.0, 2), (20.0, 3), (10.0, 6)):
        replies: list[Reply] = []
        targets: list[Array] = []

        def policy(reply: Reply, replies: list[Reply] = replies, targets: list[Array] = targets) -> Array | None:
            replies.append(reply)
            targets.append(waving(reply.time_s))
            return targets[-1] if reply.time_s < 2.5 else None

        done = play(following(policy, rate_hz))
        assert returned(done) is replies[-1]
        ticks = [round(reply.time_s * SO101.control_hz) for reply in replies]
        assert set(np.diff(ticks)) == {every}
        for reply, target in zip(replies[1:], targets, strict=False):
            np.testing.assert_array_equal(reply.command.position, target)


def test_on_the_way_to_a_target_the_reference_is_straight_and_its_velocity_the_slope() -> None:
    target = SO101.home + 0.1
    done = play(following(lambda reply: target if reply.time_s < 0.05 else None, 10.0))
    positions, velocities = done[0][1].reference()
    np.testing.assert_allclose(positions[1:], SO101.home + 0.1 * np.arange(7)[:, None] / 6, atol=1e-12)
    np.testing.assert_allclose(velocities[1:-1], 1.0, atol=1e-12)


def test_a_policy_may_look_before_it_chooses() -> None:
    seen: list[object] = []

    def policy(reply: Reply) -> Generator[Any, Reply, Array | None]:
        answer = yield Look(None)
        seen.append(answer.value)
        return SO101.home if reply.time_s < 0.1 else None

    play(lambda first: follow(SO101, first, policy, rate_hz=30), allow_truth=True)
    assert len(seen) == 4
    assert all(isinstance(each, dict) and CUBE in each for each in seen)


def test_a_policy_that_gives_up_at_once_moves_nothing() -> None:
    done = play(following(lambda reply: None))
    assert returned(done).command.position == pytest.approx(SO101.home)
    assert done[0][1].ticks == 1


def test_a_lane_that_does_not_stand_still_first_plays_what_it_is_told_from_the_first_tick() -> None:
    executor, target = executor_of(1), SO101.home + 0.02
    choose = following(lambda reply: target if reply.time_s == 0 else None, 60.0)
    executor.start(0, choose, START, PLAIN, still_ticks=0)
    ((_, track),) = finish(executor).values()
    np.testing.assert_array_equal(track.reference()[0], [SO101.home, target])


def test_a_policy_that_ends_on_the_way_leaves_the_reference_where_it_is() -> None:
    done = play(following(lambda reply: AWAY if reply.time_s < 0.4 else None))
    positions, velocities = done[0][1].reference()
    assert not velocities[-1].any()
    np.testing.assert_array_equal(positions[-1], returned(done).command.position)


def test_a_target_far_away_is_approached_at_the_speed_limit_and_reached_in_the_end() -> None:
    done = play(following(lambda reply: AWAY if reply.time_s < 1 else None))
    np.testing.assert_array_equal(returned(done).command.position, AWAY)
    speeds = np.abs(np.diff(done[0][1].reference()[0], axis=0)) * SO101.control_hz
    assert speeds.max(axis=0) == pytest.approx(np.minimum(LIMITS.velocity, np.abs(AWAY - SO101.home) * 30), rel=1e-6)


@pytest.mark.parametrize("rate_hz", [60.0, 20.0])
def test_a_wild_policy_cannot_leave_range_or_speed(rate_hz: float) -> None:
    random = np.random.default_rng(3)

    def wild(reply: Reply) -> Array | None:
        return SO101.home + random.normal(0.0, 3.0, 6) if reply.time_s < 3 else None

    done = play(following(wild, rate_hz))
    assert done[0][0].how == "returned", done[0][0].error
    positions, velocities = done[0][1].reference()
    assert (positions >= LIMITS.lower).all()
    assert (positions <= LIMITS.upper).all()
    assert (np.abs(velocities) <= LIMITS.velocity * (1 + 1e-6)).all()
    assert (np.abs(np.diff(positions, axis=0)) * SO101.control_hz <= LIMITS.velocity * (1 + 1e-6)).all()


# jog


def test_jogging_goes_to_the_wish_and_stays_there_until_it_is_taken_back() -> None:
    done = play(lambda first: jog(SO101, first, lambda reply: AWAY if reply.time_s < 6 else None))
    positions, velocities = done[0][1].reference()
    reply = returned(done)
    np.testing.assert_array_equal(reply.command.position, AWAY)
    assert not reply.command.velocity.any()
    assert 6.0 <= reply.time_s <= 6.2
    # At the speed it was given.
    assert np.abs(velocities).max() <= 0.3 * LIMITS.velocity.max() * (1 + 1e-6)
    assert_within_limits(positions, velocities)


def test_jogging_follows_a_wish_that_changes_on_the_way() -> None:
    other = SO101.home + 0.2
    wished: list[float] = []

    def wish(reply: Reply) -> Array | None:
        wished.append(reply.time_s)
        if reply.time_s > 4:
            return None
        return AWAY if reply.time_s < 0.8 else other

    done = play(lambda first: jog(SO101, first, wish, speed=1.0))
    np.testing.assert_array_equal(returned(done).command.position, other)
    assert_within_limits(*done[0][1].reference())
    # It is asked again ten times a second, or sooner when the arm arrives.
    assert max(np.diff(wished)) <= 0.1 + 1e-9


def test_jogging_ends_at_rest_when_the_wish_is_taken_back_on_the_way() -> None:
    done = play(lambda first: jog(SO101, first, lambda r: AWAY if r.time_s < 0.2 else None, speed=1.0))
    reply = returned(done)
    assert not reply.command.velocity.any()
    assert np.abs(reply.command.position - AWAY).max() > 0.1
    assert_within_limits(*done[0][1].reference())


def test_a_wish_beyond_the_range_is_taken_as_the_end_of_it() -> None:
    far = SO101.home + np.array([0.0, 0.0, 0.0, 0.0, 0.0, 9.0])
    done = play(lambda first: jog(SO101, first, lambda r: far if r.time_s < 3 else None, speed=1.0))
    assert returned(done).command.position[SO101.jaw] == LIMITS.upper[SO101.jaw]
    assert_within_limits(*done[0][1].reference())


@pytest.mark.parametrize("seed", range(4))
def test_any_wishes_at_all_keep_limits(seed: int) -> None:
    random = np.random.default_rng(seed)

    def restless(reply: Reply) -> Array | None:
        return random.uniform(LIMITS.lower, LIMITS.upper) if reply.time_s < 4 else None

    done = play(lambda first: jog(SO101, first, restless, speed=float(random.uniform(0.3, 1.0))))
    assert done[0][0].how == "returned", done[0][0].error
    assert_within_limits(*done[0][1].reference())


# replay


def busy(first: Reply) -> Script:
    """Moves, cut short and braked, and holds."""
    reply = yield Within(request=Motion("go", joint_move(SO101, first.command, AWAY)), until_s=0.35)
    reply = yield Motion("back", joint_move(SO101, reply.command, SO101.home, speed=0.4))
    reply = yield Motion("hold", hold(SO101, reply.command, 0.3))
    yield Within(request=Motion("go", joint_move(SO101, reply.command, AWAY)), until_s=reply.time_s + 0.3)


def test_a_replayed_reference_is_the_same_and_leads_to_the_same_bits() -> None:
    recorded = start(executor_of(1), busy)
    _, track = finish(recorded)[0]
    positions, velocities = track.reference()

    again = start(executor_of(1), lambda first: replay(SO101, first, positions, velocities))
    done = finish(again)
    assert done[0][0].how == "returned", done[0][0].error
    assert done[0][1].ticks == track.ticks
    for old, new in zip((positions, velocities), done[0][1].reference(), strict=True):
        np.testing.assert_array_equal(new, old)
    assert again.engine.state(0).tobytes() == recorded.engine.state(0).tobytes()


def test_a_replay_with_the_recorded_events_leads_to_the_same_bits() -> None:
    recorded = start(executor_of(1), busy)
    recorded.schedule(0, 0.2, Push(body=CUBE, force_n=(0.4, 0.0, 0.0)))
    recorded.schedule(0, 0.4, Push(body=CUBE, force_n=(0.0, 0.0, 0.0)))
    recorded.schedule(0, 0.9, Place(body=CUBE, position_m=(0.2, -0.25, 0.02)))
    _, track = finish(recorded)[0]

    again = start(executor_of(1), lambda first: replay(SO101, first, *track.reference()))
    for tick, event in track.events:
        again.schedule(0, tick * SO101.dt_s, event)
    _, played = finish(again)[0]
    assert played.events == track.events
    assert again.engine.state(0).tobytes() == recorded.engine.state(0).tobytes()


def test_a_replay_of_nothing_is_over_at_once() -> None:
    done = play(lambda first: replay(SO101, first, np.zeros((1, 6)), np.zeros((1, 6))))
    assert done[0][0].how == "returned"
    assert done[0][1].ticks == 1


def test_a_recording_that_arrives_on_its_last_tick_is_replayed_to_the_same_bits() -> None:
    recorded = start(executor_of(1), going())
    _, track = finish(recorded)[0]
    again = start(executor_of(1), lambda first: replay(SO101, first, *track.reference()))
    _, played = finish(again)[0]
    assert played.ticks == track.ticks
    assert again.engine.state(0).tobytes() == recorded.engine.state(0).tobytes()


def test_a_lane_that_replays_runs_beside_others() -> None:
    _, track = play(busy)[0]
    executor = executor_of(2)
    executor.start(0, lambda first: replay(SO101, first, *track.reference()), START, PLAIN)
    executor.start(1, going(), START, PLAIN)
    done = finish(executor)
    np.testing.assert_array_equal(done[0][1].reference()[0], track.reference()[0])
    np.testing.assert_array_equal(returned(done, 1).command.position, AWAY)
