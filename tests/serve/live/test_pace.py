from __future__ import annotations

import math

import pytest

from graspline.serve.live.pace import MOST_BEHIND_S, Pacer

from .benches import Wall

DT_S = 1 / 60


@pytest.fixture
def wall() -> Wall:
    return Wall()


def pacer_of(wall: Wall, pace: float = 1.0) -> Pacer:
    return Pacer(DT_S, pace, wall.clock, wall.sleep)


def test_ticks_come_at_the_control_rate_whatever_they_cost(wall: Wall) -> None:
    pacer, began_s = pacer_of(wall), wall.now_s
    for tick in range(600):
        wall.now_s += 0.003 + 0.01 * (tick % 2)
        pacer.wait()
    assert wall.now_s - began_s == pytest.approx(10.0)
    assert pacer.behind_s == 0


def test_a_tick_that_is_a_little_late_is_caught_up_with_at_once(wall: Wall) -> None:
    pacer, began_s = pacer_of(wall), wall.now_s
    wall.now_s += 1.6 * DT_S
    pacer.wait()
    assert pacer.behind_s == pytest.approx(0.6 * DT_S)
    pacer.wait()
    assert wall.now_s - began_s == pytest.approx(2 * DT_S)
    assert pacer.behind_s == 0


def test_the_clock_waits_for_planning_and_what_was_lost_is_paid_back(wall: Wall) -> None:
    pacer, began_s = pacer_of(wall), wall.now_s
    wall.now_s += 0.4
    assert pacer.behind_s == pytest.approx(0.4, abs=DT_S)
    pacer.wait()
    lost = [pacer.behind_s]
    assert lost[0] == pytest.approx(0.4 - DT_S)
    ticks = 1
    while pacer.behind_s > 1e-9:
        before_s = wall.now_s
        pacer.wait()
        ticks += 1
        # Never more than a quarter faster than the clock.
        assert wall.now_s - before_s >= DT_S / 1.25 - 1e-9
        lost.append(pacer.behind_s)
        assert ticks < 1000
    assert lost == sorted(lost, reverse=True)
    assert wall.now_s - began_s == pytest.approx(ticks * DT_S)


def test_a_machine_that_slept_does_not_race_afterwards(wall: Wall) -> None:
    pacer = pacer_of(wall)
    wall.now_s += 3600
    pacer.wait()
    assert pacer.behind_s == MOST_BEHIND_S


def test_a_restart_forgets_what_was_lost(wall: Wall) -> None:
    pacer = pacer_of(wall)
    wall.now_s += 5
    pacer.restart()
    assert pacer.behind_s == 0


def test_twice_the_pace_takes_half_the_time(wall: Wall) -> None:
    pacer, began_s = pacer_of(wall, 2.0), wall.now_s
    for _ in range(120):
        pacer.wait()
    assert wall.now_s - began_s == pytest.approx(1.0)


def test_at_an_infinite_pace_nobody_waits(wall: Wall) -> None:
    pacer = pacer_of(wall, math.inf)
    for _ in range(100):
        wall.now_s += 0.5
        pacer.wait()
    assert wall.slept_s == 0
    assert pacer.behind_s == 0
    pacer.wait(breathe=True)
    assert 0 < wall.slept_s < 0.01


def test_no_pace_is_refused(wall: Wall) -> None:
    with pytest.raises(ValueError, match="above 0"):
        pacer_of(wall, 0.0)
