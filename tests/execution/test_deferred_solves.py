"""Lanes that stand still while what they asked for is computed, and others that move meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from graspline.engine.events import Misjudge, Push
from graspline.execution.answers import Delays
from graspline.execution.deferred_solves import Thinking
from graspline.execution.executor import Executor
from graspline.execution.requests import Look, Motion, Preempted, Reply, Solve
from graspline.execution.scheduler import Agenda
from graspline.motion.guards import ReachedHeight
from graspline.motion.joint_moves import hold, joint_move
from graspline.planning.batched_planning import Planning, together
from graspline.robots.so101 import SO101
from graspline.scenes.cube_table import CUBE

from .playing import AWAY, Diary, Script, executor_of, finish, holding, play, returned, start


@dataclass(frozen=True)
class Next:
    """The question of a planner that counts."""

    number: int

    @classmethod
    def answered(cls, asked: Sequence[Next]) -> list[int]:
        if any(each.number == 13 for each in asked):
            raise ValueError("thirteen")
        return [each.number + 1 for each in asked]


@together
def counted(first: int, times: int) -> Planning[int]:
    for _ in range(times):
        first = yield Next(first)
    if first < 0:
        raise ZeroDivisionError("below nothing")
    return first


def asking(first: int, times: int) -> Callable[[Reply], Script]:
    """A driver that moves, asks on its way and moves on; it returns what it was told, and all its replies."""

    def drive(reply: Reply) -> Script:
        replies = [reply]
        high = ReachedHeight(height_m=0.0, for_s=0.2)
        replies.append((yield Motion("go", joint_move(SO101, reply.command, AWAY, speed=0.5), guards=(high,))))
        replies.append((yield Solve(counted, (first, times))))
        value = replies[-1].value
        replies.append((yield Motion("on", joint_move(SO101, replies[-1].command, AWAY, speed=0.5))))
        return value, [(each.by, each.time_s, each.readings.row.tobytes()) for each in replies]

    return drive


def test_that_it_stood_still_cannot_be_told_from_what_a_lane_does() -> None:
    drivers = asking(0, 5), asking(1, 9), holding(0.3)
    at_once = play(*drivers)
    thinking = Thinking()
    executor = start(executor_of(3, thinking=thinking), *drivers)
    stood, done = 0, {}
    while executor.busy:
        done.update(executor.tick())
        if thinking.under_way:
            stood += 1
            thinking.go_on()
    assert stood >= 9
    for lane in range(3):
        np.testing.assert_array_equal(done[lane][1].reference()[0], at_once[lane][1].reference()[0])
    assert returned(done, 0) == returned(at_once, 0)
    assert returned(done, 1) == returned(at_once, 1)
    assert returned(done, 0)[0] == 5


def _until_it_stands(executor: Executor, thinking: Thinking) -> None:
    for _ in range(100):
        if not thinking.under_way:
            executor.tick()
    assert thinking.under_way


def test_no_time_passes_in_a_lane_that_stands_still() -> None:
    thinking, diary = Thinking(), Diary()
    executor = start(executor_of(2, thinking=thinking, observers=[diary]), asking(0, 2), holding(2.0))
    happened: list[float] = []
    executor.call(0, 0.5, lambda: happened.append(executor.time_s(0)))
    _until_it_stands(executor, thinking)
    time_s, command, qpos = executor.time_s(0), executor.command(0), executor.engine.qpos[0].copy()
    for _ in range(80):
        executor.tick()
    assert executor.time_s(0) == time_s
    assert executor.time_s(1) == pytest.approx(time_s + 80 / 60)
    assert executor.command(0) is command
    np.testing.assert_array_equal(executor.engine.qpos[0], qpos)
    assert happened == []
    # What is put off now counts from now, and what happens now is at its time.
    executor.call(0, 0.1, lambda: happened.append(-executor.time_s(0)))
    executor.apply(0, Push(body=CUBE, force_n=(0.0, 0.0, 0.0)))
    assert diary.entries[-1][:2] == (0, time_s)
    for _ in range(3):
        thinking.go_on()
    finish(executor)
    assert happened == pytest.approx([-time_s - 0.1, 0.5])


def test_if_all_stand_still_the_first_answer_is_waited_for() -> None:
    thinking = Thinking()
    executor = start(executor_of(2, thinking=thinking), asking(0, 3), asking(0, 3))
    ticks = 0
    while executor.busy:
        executor.tick()
        ticks += 1
    assert not thinking.under_way
    at_once = start(executor_of(2), asking(0, 3), asking(0, 3))
    while at_once.busy:
        at_once.tick()
        ticks -= 1
    assert ticks == 0


def test_a_driver_may_ask_again_and_again_and_return_without_another_motion() -> None:
    def drive(first: Reply) -> Script:
        one = (yield Solve(counted, (0, 2))).value
        two = (yield Solve(abs, (one,))).value
        return (yield Solve(counted, (two, 3))).value

    thinking = Thinking()
    assert returned(play(drive, thinking=thinking)) == 5
    assert not thinking.under_way


def test_what_raises_ends_the_lane_that_asked_and_no_other() -> None:
    done = play(asking(-9, 2), asking(12, 3), asking(3, 3), thinking=Thinking())
    assert "below nothing" in done[0][0].error
    assert "thirteen" in done[1][0].error
    assert [done[lane][0].how for lane in range(3)] == ["crashed", "crashed", "returned"]
    assert returned(done, 2)[0] == 6


@together
def refused(first: int) -> Planning[int]:
    if first < 0:
        raise ValueError("refused before anything is asked")
    return counted.steps(first, 1)


def test_what_raises_before_it_asks_anything_ends_only_its_lane_too() -> None:
    def drive(first: int) -> Callable[[Reply], Script]:
        def asking(reply: Reply) -> Script:
            return (yield Solve(refused, (first,))).value

        return asking

    done = play(drive(-1), drive(1), thinking=Thinking())
    assert "refused before anything is asked" in done[0][0].error
    assert returned(done, 1) == 2


def test_a_computation_that_asks_nothing_does_not_wait_for_those_that_do() -> None:
    thinking = Thinking()
    thinking.begin(0, Solve(counted, (20, 50)))
    thinking.begin(1, Solve(abs, (-3,)))
    thinking.go_on()
    assert thinking.take() == {1: 3}


def test_a_lane_is_stopped_while_it_stands_still() -> None:
    unwound: list[bool] = []

    def drive(first: Reply) -> Script:
        try:
            return (yield Solve(counted, (20, 50)))
        except Preempted:
            unwound.append(True)
            raise

    thinking = Thinking()
    executor = start(executor_of(2, thinking=thinking), drive, holding(1.0))
    _until_it_stands(executor, thinking)
    executor.preempt(0)
    assert not thinking.under_way
    done = finish(executor)
    assert unwound == [True]
    assert done[0][0].how == "preempted"
    assert returned(done, 1).by == "completed"


def test_a_solve_that_takes_time_takes_it_after_the_answer() -> None:
    def drive(first: Reply) -> Script:
        return (yield Solve(counted, (0, 4))).time_s

    options = {"delays": Delays(solve_s=0.2)}
    assert returned(play(drive, thinking=Thinking(), **options)) == returned(play(drive, **options))


def test_late_eyes_do_not_catch_up_while_a_lane_stands_still() -> None:
    def drive(first: Reply) -> Script:
        yield Motion("hold", hold(SO101, first.command, 0.1))
        yield Solve(counted, (20, 30))
        seen = yield Look(None)
        objects: Any = seen.value
        return objects[CUBE].position_m.tolist()

    def seen(thinking: Thinking | None) -> list[float]:
        executor = start(executor_of(2, allow_truth=True, thinking=thinking), drive, holding(2.0))
        executor.apply(0, Misjudge(delay_s=0.1, sigma_m=0.0, seed=0))
        executor.apply(0, Push(body=CUBE, force_n=(1.0, 0.0, 0.0)))
        done = {}
        while executor.busy:
            done.update(executor.tick())
            if thinking is not None:
                thinking.go_on()
        return returned(done)

    assert seen(Thinking()) == seen(None)


def test_what_is_to_happen_keeps_its_order_over_a_pause() -> None:
    scheduler, done = Agenda(), list[str]()
    scheduler.put(0, 5, 0, 7, lambda: done.append("a"))
    scheduler.put(0, 5, 0, 7, lambda: done.append("b"))
    scheduler.put(0, 6, 1, 8, lambda: done.append("other"))
    scheduler.pause(7, 2)
    scheduler.put(3, 3, 0, 7, lambda: done.append("c"))
    assert not scheduler.due(5)
    assert scheduler.due(6)
    assert scheduler.pop()[:2] == (1, 8)
    scheduler.go_on(7, 10)
    assert not scheduler.due(12)
    while scheduler.due(13):
        scheduler.pop()[2]()
    assert done == ["a", "b", "c"]
