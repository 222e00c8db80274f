"""Lanes that change drivers without a reset, questions that wait, and computations that are given up."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from graspline.engine.events import CorruptControl, Place
from graspline.errors import WiringError
from graspline.execution.batched_solves import solve_all
from graspline.execution.executor import Executor
from graspline.execution.notifications import Finished
from graspline.execution.requests import Ask, Look, Motion, Preempted, Reply, Solve, Watch, Within
from graspline.motion.guards import Slipped
from graspline.motion.joint_moves import hold, joint_move
from graspline.rendering.picture import Picture
from graspline.robots.so101 import SO101
from graspline.scenes.cube_table import CUBE

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
    returned,
    start,
)

QUESTION = Ask(question="red or green?", options=("red", "green"), default="green")


def played(*drivers: Any, **options: Any) -> Executor:
    """One lane whose first driver is done and whose others take over one after the other."""
    first, *others = drivers
    executor = start(executor_of(1, **options), first)
    finish(executor)
    for driver in others:
        executor.take_over(0, driver)
        finish(executor)
    return executor


# Taking over


def test_a_new_driver_begins_where_the_last_one_left_the_arm() -> None:
    executor = played(going())
    before = executor.engine.state(0)
    replies: list[Reply] = []

    def drive(first: Reply) -> Script:
        replies.append(first)
        return (yield Motion("back", joint_move(SO101, first.command, SO101.home)))

    executor.take_over(0, drive)
    np.testing.assert_array_equal(executor.engine.state(0), before)
    reply = returned(finish(executor))
    np.testing.assert_array_equal(replies[0].command.position, AWAY)
    assert not replies[0].command.velocity.any()
    np.testing.assert_array_equal(reply.command.position, SO101.home)
    assert reply.readings.joints == pytest.approx(SO101.home, abs=0.05)


def test_the_time_of_a_lane_goes_on() -> None:
    executor = start(executor_of(1), holding(1.0))
    finish(executor)
    executor.take_over(0, holding(0.5))
    assert returned(finish(executor)).time_s == pytest.approx(1.0 + 0.5 + SO101.dt_s)


def test_a_lane_stopped_at_speed_is_taken_over_at_rest() -> None:
    executor = start(executor_of(1), going())
    for _ in range(20):
        executor.tick()
    assert np.abs(executor.command(0).velocity).max() > 0.5
    executor.preempt(0)
    _, track = finish(executor)[0]
    positions, velocities = track.reference()
    assert_within_limits(positions, velocities)
    executor.take_over(0, holding(0.1))
    np.testing.assert_array_equal(executor.command(0).position, positions[-1])
    assert returned(finish(executor)).by == "completed"


def test_what_was_going_to_happen_in_the_world_still_happens() -> None:
    executor = start(executor_of(1), holding(0.1))
    executor.schedule(0, 0.3, Place(body=CUBE, position_m=(0.2, -0.2, 0.015)))
    finish(executor)
    executor.take_over(0, holding(0.5))
    finish(executor)
    at = executor.engine.scene.joint_address(CUBE)
    assert executor.engine.qpos[0, at : at + 2] == pytest.approx([0.2, -0.2], abs=1e-3)


def test_nothing_of_it_is_logged_and_the_first_log_stays_as_it_was() -> None:
    executor = start(executor_of(1, record_states=True), going())
    _, first = finish(executor)[0]
    ticks = first.ticks
    executor.take_over(0, holding(1.0))
    executor.apply(0, Place(body=CUBE, position_m=(0.2, -0.2, 0.015)))
    _, second = finish(executor)[0]
    assert second.ticks == len(second.states) == len(second.events) == 0
    assert first.ticks == len(first.states) == ticks
    assert first.events == []


def test_a_lane_that_was_taken_over_can_be_reset_and_plays_the_same_bits() -> None:
    fresh = start(executor_of(1), going())
    finish(fresh)
    used = played(going(), holding(0.37), going(SO101.home))
    start(used, going())
    finish(used)
    np.testing.assert_array_equal(used.engine.qpos, fresh.engine.qpos)


def test_only_a_lane_that_is_done_can_be_taken_over() -> None:
    executor = executor_of(1)
    with pytest.raises(WiringError, match="lane 0 has played nothing"):
        executor.take_over(0, holding(1.0))
    start(executor, holding(1.0))
    with pytest.raises(WiringError, match="lane 0 is busy"):
        executor.take_over(0, holding(1.0))


def test_a_world_that_diverged_is_not_taken_over() -> None:
    executor = start(executor_of(1), holding(1.0))
    executor.apply(0, CorruptControl(joint=SO101.joints[0]))
    assert finish(executor)[0][0].how == "physics_diverged"
    with pytest.raises(WiringError, match="only a reset helps"):
        executor.take_over(0, holding(1.0))


def test_a_start_without_a_log_leaves_an_empty_track() -> None:
    executor = executor_of(1, record_states=True)
    executor.start(0, going(), START, PLAIN, logged=False)
    _, track = finish(executor)[0]
    assert track.ticks == len(track.states) == 0


def test_a_lane_says_what_it_does_and_where_its_command_stands() -> None:
    executor = start(executor_of(1), going())
    executor.tick()
    executor.tick()
    assert executor.doing(0) == "go"
    assert executor.command(0).position == pytest.approx(SO101.home, abs=0.01)
    finish(executor)
    with pytest.raises(WiringError, match="lane 0 plays nothing"):
        executor.doing(0)


# Questions that wait


def asking(first: Reply) -> Script:
    return (yield QUESTION)


def test_a_lane_holds_until_its_question_is_answered() -> None:
    answers: list[str | None] = [None] * 30 + ["red"]
    asked: list[Ask] = []

    def answer(lane: int, ask: Ask) -> str | None:
        asked.append(ask)
        return answers[len(asked) - 1]

    reply = returned(finish(start(executor_of(1, answer=answer), asking)))
    assert reply.value == "red"
    assert reply.by == "completed"
    assert all(each is QUESTION for each in asked)
    # One tick to stand still, and one for each time nobody answered.
    assert reply.time_s == pytest.approx(31 * SO101.dt_s)
    np.testing.assert_array_equal(reply.command.position, SO101.home)


def test_a_question_asked_at_speed_brakes_first() -> None:
    def drive(first: Reply) -> Script:
        moving = yield Within(request=Motion("go", joint_move(SO101, first.command, AWAY)), until_s=0.3)
        return (yield QUESTION), moving

    answers = iter([None, None, "red"])
    finished, track = finish(start(executor_of(1, answer=lambda lane, ask: next(answers)), drive))[0]
    reply, moving = cast(tuple[Reply, Reply], finished.value)
    assert np.abs(moving.command.velocity).max() > 0.5
    assert reply.value == "red"
    assert not reply.command.velocity.any()
    assert_within_limits(*track.reference())


def test_a_question_is_not_waited_for_longer_than_its_state_may_take() -> None:
    def drive(first: Reply) -> Script:
        return (yield Within(request=QUESTION, until_s=0.5))

    reply = returned(finish(start(executor_of(1, answer=lambda lane, ask: None), drive)))
    assert reply.by == "timed_out"
    assert reply.value is None
    assert reply.time_s == pytest.approx(0.5)


def test_a_lane_can_be_stopped_while_its_question_is_open() -> None:
    executor = start(executor_of(1, answer=lambda lane, ask: None), asking)
    for _ in range(5):
        executor.tick()
    assert executor.doing(0) == "ask"
    executor.preempt(0)
    assert finish(executor)[0][0].how == "preempted"


# Giving up


def test_a_lane_whose_computation_is_given_up_brakes_and_holds() -> None:
    """The others of the same tick get their answers."""
    unwound: list[str] = []

    def drive(first: Reply) -> Script:
        moving = yield Within(request=Motion("go", joint_move(SO101, first.command, AWAY)), until_s=0.3)
        try:
            reply = yield Solve(abs, (-3,))
        except Preempted:
            unwound.append("stopped")
            raise
        yield Motion("brake", hold(SO101, moving.command, 0.1))
        return reply.value

    def solve(solves: list[Solve[Any]]) -> list[Any]:
        return [Preempted(), *solve_all(solves[1:])]

    done = finish(start(executor_of(2, solve=solve), drive, drive))
    assert done[0][0] == Finished("preempted")
    assert_within_limits(*done[0][1].reference())
    assert returned(done, 1) == 3
    assert unwound == ["stopped"]


def test_a_lane_whose_picture_is_given_up_brakes_and_holds() -> None:
    def photograph(lane: int, look: Look) -> Picture:
        raise Preempted

    def drive(first: Reply) -> Script:
        yield Within(request=Motion("go", joint_move(SO101, first.command, AWAY)), until_s=0.3)
        return (yield Look("front"))

    finished, track = finish(start(executor_of(1, photograph=photograph), drive))[0]
    assert finished == Finished("preempted")
    assert_within_limits(*track.reference())


def test_a_watch_whose_picture_is_given_up_sees_nothing() -> None:
    def photograph(lane: int, look: Look) -> Picture:
        raise Preempted

    def drive(first: Reply) -> Script:
        watch = Watch(target=CUBE, look=Look("front"), track=lambda picture, tool, rotation: tool)
        guard = Slipped(offset_m=(0.0, 0.0, 0.0), slip_m=0.01)
        return (yield Motion("hold", hold(SO101, first.command, 0.3), guards=(guard,), watch=watch))

    assert returned(finish(start(executor_of(1, photograph=photograph), drive))).by == "completed"


def test_observers_learn_how_each_driver_finished() -> None:
    diary = Diary()
    played(going(), holding(0.1), observers=[diary])
    assert [each.how for _, _, each in diary.of(Finished)] == ["returned", "returned"]
