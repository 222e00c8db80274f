"""The session's threads: commands in, snapshots out, and nobody who can hang or kill it unnoticed."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
import pytest

from graspline.episodes.episode import Episode
from graspline.episodes.run import run_scenarios
from graspline.episodes.scenario import Scenario
from graspline.errors import InputError
from graspline.execution.requests import Reply, solved
from graspline.machine.outcome import Outcome, Stage
from graspline.robots.so101 import SO101
from graspline.serve.live.commands import Home, Jog, Record, ResetScene, RunTask, Select, StrikeFault, Zero
from graspline.serve.live.lane_controller import Conductor
from graspline.serve.live.pace import Pacer
from graspline.serve.live.session import Session
from graspline.serve.live.snapshot import SessionSnapshot
from graspline.tasks.console import Done, Refused
from graspline.tasks.lift_cube import LIFT_CUBE

from .benches import AWAY, PARAMETERS, PlainConsole, Wall, task_of

# Nothing here takes so long; a machine that is very busy may.
# A deadline is for what would never happen, on a machine with eight times as much to do as it can.
PATIENCE_S = 600.0


@pytest.fixture
def fast() -> Iterator[Session]:
    with Session(LIFT_CUBE, PARAMETERS, 3, pace=math.inf) as session:
        yield session


@pytest.fixture
def live() -> Iterator[Session]:
    with Session(LIFT_CUBE, PARAMETERS, 3) as session:
        yield session


def until(session: Session, reached: Callable[[SessionSnapshot], bool]) -> SessionSnapshot:
    snapshot, end_s = session.snapshot, time.monotonic() + PATIENCE_S
    while not reached(snapshot):
        assert time.monotonic() < end_s, snapshot.as_dict()
        snapshot = session.wait(snapshot.number, 1.0)
    return snapshot


# Bits and time


def test_a_task_played_in_real_threads_has_the_bits_of_a_run(fast: Session) -> None:
    (episode,) = run_scenarios([Scenario(task=LIFT_CUBE, parameters=PARAMETERS, seed=5)])
    fast.submit(Jog(tuple(AWAY)))
    result = fast.submit(RunTask(5)).result(PATIENCE_S)
    assert isinstance(result, Done)
    assert result.data["state_hash"] == episode.state_hash
    assert fast.snapshot.verdict == "success"


def test_physics_keeps_pace_with_the_clock_and_shows_every_tick() -> None:
    shown: list[tuple[float, SessionSnapshot]] = []
    wall = Wall()

    def pacer(dt_s: float, pace: float) -> Pacer:
        def sleep(seconds: float) -> None:
            # In the session's thread, after each tick.
            shown.append((wall.now_s, session.snapshot))
            wall.sleep(seconds)

        return Pacer(dt_s, pace, wall.clock, sleep)

    session = Session(LIFT_CUBE, PARAMETERS, 3, make_pacer=pacer)
    with session:
        until(session, lambda each: each.time_s > 1.0)
    (began_s, first), *rest = shown
    assert len(rest) >= 59
    for number, (now_s, snapshot) in enumerate(rest, start=1):
        assert snapshot.number == first.number + number
        assert snapshot.time_s - first.time_s == pytest.approx(now_s - began_s, abs=1e-6)


def test_physics_never_runs_ahead_of_the_real_clock(live: Session) -> None:
    first, began_s = live.wait(0, PATIENCE_S), time.monotonic()
    last = until(live, lambda each: each.time_s - first.time_s > 0.5)
    # A busy machine makes the right side larger, never smaller.
    assert last.time_s - first.time_s < time.monotonic() - began_s + 0.2


def test_snapshots_are_numbered_without_gaps_and_a_slow_reader_gets_the_newest(live: Session) -> None:
    numbers = [live.wait(0, PATIENCE_S).number]
    for _ in range(5):
        numbers.append(live.wait(numbers[-1], PATIENCE_S).number)
    assert numbers == sorted(set(numbers))
    until(live, lambda each: each.number > numbers[-1] + 5)


def test_waiting_for_what_does_not_come_ends(live: Session) -> None:
    snapshot = live.wait(10**9, 0.05)
    assert snapshot.number < 10**9


# Stop


def test_stop_comes_to_hold_soon(live: Session) -> None:
    order = live.submit(Zero())
    begun = until(live, lambda each: each.mode == "moving" and each.doing == "zero")
    called = until(live, lambda each: each.time_s > begun.time_s + 0.3)
    assert isinstance(live.stop().result(PATIENCE_S), Done)
    # By the simulation's clock, which a busy machine does not hurry: it must not wait for the move, of seconds.
    assert live.snapshot.time_s - called.time_s < 1.0
    assert order.result(PATIENCE_S) == Refused(reason="stopped")
    held = until(live, lambda each: each.mode == "idle")
    assert np.abs(held.command_rad - SO101.home).max() > 0.05
    assert np.abs(held.command_rad).max() > 0.05


def test_stop_does_not_wait_behind_commands(live: Session) -> None:
    tickets = [live.submit(command) for command in (Zero(), Home(), ResetScene(4), RunTask(5))]
    assert isinstance(live.stop().result(PATIENCE_S), Done)
    results = [ticket.result(PATIENCE_S) for ticket in tickets]
    assert all(isinstance(each, Refused) for each in results)
    assert until(live, lambda each: each.mode == "idle").seed == 3


def test_stop_does_not_wait_for_a_plan() -> None:
    planning, release = threading.Event(), threading.Event()

    def ponder() -> str:
        planning.set()
        release.wait(PATIENCE_S)
        return "a plan"

    def thinking(last: Reply) -> Stage[Literal["done"]]:
        yield from solved(ponder)
        return Outcome("done")

    with Session(task_of(thinking), PARAMETERS, 3) as session:
        order = session.submit(RunTask(5))
        assert planning.wait(PATIENCE_S)
        seen = until(session, lambda each: each.doing == "planning")
        waited = session.wait(seen.number, PATIENCE_S)
        # The clock of the simulation waits.
        assert waited.time_s == seen.time_s
        assert waited.number > seen.number
        assert isinstance(session.stop().result(PATIENCE_S), Done)
        assert isinstance(order.result(PATIENCE_S), Refused)
        assert until(session, lambda each: each.mode == "idle").verdict == "interrupted"
        # What was given up is still at it; who plans next waits for it, and can be stopped, too.
        again = session.submit(Home())
        assert isinstance(session.stop().result(PATIENCE_S), Done)
        assert isinstance(again.result(PATIENCE_S), Refused)
        release.set()
        assert isinstance(session.submit(Home()).result(PATIENCE_S), Done)


def test_a_plan_that_takes_long_changes_no_bits_and_is_caught_up_with() -> None:
    delay_s, wall, behind_s = [0.0], Wall(), list[float]()

    def ponder() -> None:
        wall.now_s += delay_s[0]

    def pacer(dt_s: float, pace: float) -> Pacer:
        def sleep(seconds: float) -> None:
            # In the session's thread, after each tick.
            behind_s.append(session.snapshot.behind_s)
            wall.sleep(seconds)

        return Pacer(dt_s, pace, wall.clock, sleep)

    def thinking(last: Reply) -> Stage[Literal["done"]]:
        yield from solved(ponder)
        return Outcome("done")

    hashes = []
    session = Session(task_of(thinking), PARAMETERS, 3, make_pacer=pacer)
    with session:
        for delay_s[0] in (0.0, 0.3):
            assert max(behind_s, default=0.0) < 0.02
            result = session.submit(RunTask(5)).result(PATIENCE_S)
            hashes.append(result.data["state_hash"])
        until(session, lambda each: bool(behind_s) and max(behind_s) > 0.1 and each.behind_s < 0.02)
    assert hashes[0] == hashes[1]
    late = behind_s[behind_s.index(max(behind_s)) :]
    # A quarter faster than the clock: 0.3 s take 1.2 s of ticks.
    assert 0.1 < late[0] <= 0.3
    assert np.diff(late).max() < 1e-9


# Ends


def test_closing_brakes_the_arm_and_refuses_what_is_open() -> None:
    session = Session(LIFT_CUBE, PARAMETERS, 3)
    session.start()
    order = session.submit(RunTask(5))
    begun = until(session, lambda each: each.state == "approach")
    until(session, lambda each: each.time_s > begun.time_s + 0.3)
    session.close()
    result = order.result(0)
    assert isinstance(result, Refused)
    assert session.snapshot.mode == "idle"
    assert session.snapshot.verdict == "interrupted"
    assert session.submit(Home()).result(0) == Refused(reason="the session is closed")
    assert session.stop().result(0) == Refused(reason="the session is closed")
    session.close()


def test_a_session_that_never_began_can_be_closed() -> None:
    session = Session(LIFT_CUBE, PARAMETERS, 3)
    ticket = session.submit(Home())
    session.close()
    assert ticket.result(0) == Refused(reason="the session is closed")


def test_a_session_that_dies_says_why_and_refuses_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks: list[int] = []
    tick = Conductor.tick

    def dying(self: Conductor) -> None:
        ticks.append(1)
        if len(ticks) > 20:
            raise ZeroDivisionError("the world ended")
        tick(self)

    monkeypatch.setattr(Conductor, "tick", dying)
    with Session(LIFT_CUBE, PARAMETERS, 3, pace=math.inf) as session:
        order = session.submit(Zero())
        why = "the session has died, restart it: ZeroDivisionError: the world ended"
        assert order.result(PATIENCE_S) == Refused(reason=why)
        snapshot = until(session, lambda each: each.message == why)
        assert session.wait(snapshot.number, 60.0).message == why
        assert session.submit(Home()).result(0) == Refused(reason=why)
        assert session.stop().result(0) == Refused(reason=why)


def test_a_command_that_makes_no_sense_is_refused_and_kills_nobody(fast: Session) -> None:
    nonsense: Any = "up a bit"
    result = fast.submit(nonsense).result(PATIENCE_S)
    assert isinstance(result, Refused)
    assert isinstance(fast.submit(StrikeFault("shove")).result(PATIENCE_S), Done)


def test_parameters_that_cannot_be_are_refused_where_the_session_is_made() -> None:
    impossible = PARAMETERS.model_copy(
        update={"cube": PARAMETERS.cube.model_copy(update={"radius_m": type(PARAMETERS.cube.radius_m)(0.55, 0.6)})}
    )
    with pytest.raises(InputError, match="radius_m"):
        Session(LIFT_CUBE, impossible, 3)


# Around it


def test_recorded_episodes_are_handed_over_elsewhere_and_slowness_there_slows_nothing() -> None:
    release, handed = threading.Event(), list[tuple[Episode, str]]()

    def write(episode: Episode) -> None:
        release.wait(PATIENCE_S)
        handed.append((episode, threading.current_thread().name))

    with Session(LIFT_CUBE, PARAMETERS, 3, pace=math.inf, on_episode=write) as session:
        session.submit(Record(on=True)).result(PATIENCE_S)
        for seed in (5, 6):
            assert isinstance(session.submit(RunTask(seed)).result(PATIENCE_S), Done)
        assert handed == []
        release.set()
    # Closing waits until they are written.
    assert [episode.scenario.seed for episode, _ in handed] == [5, 6]
    assert all(name.startswith("graspline-scribe") for _, name in handed)


@pytest.mark.parametrize(
    "error, words, traced",
    [
        (OSError("no space left"), "OSError: no space left", True),
        (InputError("the set has an episode of seed 5 already"), "the set has an episode of seed 5 already", False),
    ],
)
def test_an_episode_that_is_not_recorded_is_a_message(
    error: Exception, words: str, traced: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def write(episode: Episode) -> None:
        raise error

    with Session(LIFT_CUBE, PARAMETERS, 3, pace=math.inf, on_episode=write) as session:
        session.submit(Record(on=True)).result(PATIENCE_S)
        session.submit(RunTask(5)).result(PATIENCE_S)
        until(session, lambda each: f"an episode was not recorded: {words}" in each.message)
        # The session goes on.
        assert isinstance(session.submit(RunTask(6)).result(PATIENCE_S), Done)
    assert words in caplog.text
    assert ("Traceback" in caplog.text) == traced


def test_the_operator_is_shown(fast: Session) -> None:
    assert fast.lease.take("ann")
    until(fast, lambda each: each.operator == "ann")
    fast.lease.release("ann")
    until(fast, lambda each: each.operator == "")


def test_pictures_are_of_a_recent_snapshot(live: Session) -> None:
    assert set(live.cameras) == {"front", "wrist"}
    before = live.wait(0, PATIENCE_S).number
    number, jpeg = live.picture("front", 64, 48, timeout_s=PATIENCE_S)
    assert before <= number <= live.snapshot.number
    assert jpeg.startswith(b"\xff\xd8")
    later, _ = live.picture("front", 64, 48, newer_than=number, timeout_s=PATIENCE_S)
    assert later > number


def test_a_console_is_used_in_the_session_s_thread() -> None:
    names: list[str] = []

    class Watched(PlainConsole):
        def select(self, name: str) -> Any:
            names.append(threading.current_thread().name)
            return super().select(name)

    with Session(LIFT_CUBE, PARAMETERS, 3, pace=math.inf, console=Watched()) as session:
        session.submit(Select("cube")).result(PATIENCE_S)
        assert session.snapshot.selected == "cube"
    assert names == ["graspline-session"]
