"""Lanes in play, and their time."""

from __future__ import annotations

import pytest

from graspline.errors import WiringError
from graspline.execution.lane_recording import LaneRecording
from graspline.execution.lanes import LaneTable
from graspline.execution.requests import Driver, Reply
from graspline.motion.path import Command
from graspline.robots.so101 import SO101

from .playing import PLAIN, START

STILL = Command(position=SO101.home, velocity=SO101.home * 0, acceleration=SO101.home * 0)


def _drive(reply: Reply) -> Driver:
    raise AssertionError(f"not asked for a driver here, got {reply!r}")


def _table(*lanes: int) -> LaneTable:
    table = LaneTable(3, 0.5)
    for lane in lanes:
        table.enter(lane, _drive, LaneRecording(start=START, variation=PLAIN), logged=True)
    return table


def test_each_lane_counts_time_from_its_own_start() -> None:
    table = _table(0)
    table.now = 4
    table.enter(1, _drive, LaneRecording(start=START, variation=PLAIN), logged=True)
    table.now = 6
    assert [table.time_s(lane) for lane in (0, 1)] == [3.0, 1.0]


def test_a_pause_takes_no_time_and_gives_back_the_command() -> None:
    table = _table(0, 1)
    table.now = 2
    table.pause(0, STILL)
    table.now = 7
    assert [table.ticks(lane) for lane in (0, 1)] == [2, 7]
    assert table.go_on(0) is STILL
    assert table.ticks(0) == 2
    table.now = 8
    assert table.ticks(0) == 3


def test_lanes_that_move_are_in_order_and_not_paused() -> None:
    table = _table(2, 0, 1)
    lanes, rows = table.moving()
    assert lanes.tolist() == [0, 1, 2]
    assert rows == slice(None)
    table.pause(1, STILL)
    lanes, rows = table.moving()
    assert lanes.tolist() == [0, 2]
    assert rows is lanes
    table.leave(0)
    table.go_on(1)
    assert table.moving()[0].tolist() == [1, 2]


def test_a_lane_that_is_done_goes_on_in_its_world_and_in_its_time() -> None:
    table = _table(0, 1)
    world = table[1].world
    table.now = 5
    table.leave(1)
    table.now = 9
    table.continue_with(1, _drive)
    assert (table[1].world, table.ticks(1), table[1].logged) == (world, 9, False)


@pytest.mark.parametrize("lane, problem", [(0, "lane 0 is busy"), (1, "lane 1 has played nothing")])
def test_only_a_lane_that_is_done_can_go_on(lane: int, problem: str) -> None:
    with pytest.raises(WiringError, match=problem):
        _table(0).continue_with(lane, _drive)


def test_a_lane_that_plays_nothing_is_named_with_those_that_play() -> None:
    with pytest.raises(WiringError, match=r"lane 2 plays nothing; busy lanes: \[0, 1\]"):
        _table(0, 1).time_s(2)
