"""Pushes and wobbles of single motions, without physics."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from graspline.execution.disturbance import Disturbance, Disturber, disturbed
from graspline.execution.lane_recording import LaneRecording
from graspline.execution.requests import Disturbed, Free, Motion, Preempted, Within
from graspline.kinematics.differential import ToolKinematics
from graspline.motion.joint_moves import joint_move
from graspline.motion.path import CONTINUITY, Command, Path, at_rest, check_corners, check_path
from graspline.robots.so101 import SO101
from graspline.scenes.cube_table import cube_table

from .playing import AWAY, PLAIN, START

Array = NDArray[np.float64]

TOOL = ToolKinematics(cube_table())
WAY = joint_move(SO101, at_rest(SO101.home), AWAY, speed=0.3)
ONLY_PUSHES, ONLY_WOBBLES = Disturbance(pushed=1, wobbling=0), Disturbance(pushed=0, wobbling=1)


def disturber(settings: Disturbance, seed: int, *, clear: Callable[[Array], bool] = lambda rows: True) -> Disturber:
    return Disturber(SO101, TOOL, settings, np.random.default_rng(seed), lambda start: clear)


def again(start: Command) -> Path:
    return joint_move(SO101, start, AWAY, speed=0.3)


FREE = {"back": Free(), "again": Free(again=again), "until": Free(until=40), "since": Free(since=30)}


def off_m(first: Array, second: Array) -> Array:
    return np.linalg.norm(TOOL.poses(first)[0] - TOOL.poses(second)[0], axis=1)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("how", FREE)
def test_a_disturbed_motion_keeps_limits_and_starts_and_ends_where_it_was_meant_to(how: str, seed: int) -> None:
    motion = disturber(Disturbance(pushed=1), seed)(Motion("go", WAY, free=FREE[how]))
    assert check_path(motion.path, SO101) is None
    np.testing.assert_array_equal(motion.path.positions[0], WAY.positions[0])
    np.testing.assert_array_equal(motion.path.end, WAY.end)
    assert not motion.path.velocities[-1].any()
    assert motion.disturbed is not None
    intended, off = motion.disturbed.intended, motion.disturbed.off
    np.testing.assert_array_equal(intended[~off], motion.path.positions[~off])
    steady = Path(positions=intended, velocities=motion.path.velocities, dt_s=SO101.dt_s)
    assert check_corners(steady, SO101) is None
    # The jaw is not pushed.
    np.testing.assert_allclose(motion.path.positions[:, -1], intended[:, -1], atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_pushes_are_as_far_as_the_settings_say_and_are_planned_from_or_come_back(seed: int) -> None:
    motion = disturber(ONLY_PUSHES, seed)(Motion("go", WAY, free=Free()))
    assert motion.disturbed is not None
    nominal = TOOL.poses(WAY.positions)[0]
    points = TOOL.poses(motion.path.positions)[0]
    farthest = max(float(np.linalg.norm(nominal - each, axis=1).min()) for each in points)
    assert 0.002 < farthest < 0.055


def test_a_motion_that_is_not_said_to_be_free_is_left_alone_and_draws_nothing() -> None:
    random = np.random.default_rng(3)
    motion = Motion("close", WAY)
    assert Disturber(SO101, TOOL, Disturbance(), random, lambda start: lambda rows: True)(motion) is motion
    assert random.random() == np.random.default_rng(3).random()


def test_the_same_randomness_gives_the_same_bits() -> None:
    first, second = (disturber(Disturbance(), 4)(Motion("go", WAY, free=Free(again=again))) for _ in range(2))
    np.testing.assert_array_equal(first.path.positions, second.path.positions)
    other = disturber(Disturbance(), 5)(Motion("go", WAY, free=Free(again=again)))
    assert (
        len(other.path.positions) != len(first.path.positions) or (other.path.positions != first.path.positions).any()
    )


@pytest.mark.parametrize("settings", [ONLY_PUSHES, ONLY_WOBBLES])
def test_where_there_is_no_room_nothing_is_disturbed(settings: Disturbance) -> None:
    motion = Motion("go", WAY, free=Free())
    assert disturber(settings, 1, clear=lambda rows: False)(motion) is motion


@pytest.mark.parametrize("seed", range(4))
def test_pushes_are_shrunk_until_they_fit(seed: int) -> None:
    def near(rows: Array) -> bool:
        nominal = TOOL.poses(WAY.positions)[0]
        return all(np.linalg.norm(nominal - each, axis=1).min() < 0.015 for each in TOOL.poses(rows)[0])

    motion = disturber(ONLY_PUSHES, seed, clear=near)(Motion("go", WAY, free=Free()))
    if motion.disturbed is not None:
        assert near(motion.path.positions)


@pytest.mark.parametrize("seed", range(6))
def test_by_the_tick_that_is_named_the_arm_is_on_its_path_again(seed: int) -> None:
    until = 45
    motion = disturber(Disturbance(pushed=1), seed)(Motion("down", WAY, free=Free(until=until)))
    rest = WAY.ticks - until
    np.testing.assert_array_equal(motion.path.positions[-rest:], WAY.positions[-rest:])


@pytest.mark.parametrize("seed", range(6))
def test_what_is_intended_while_pushed_lies_between_the_path_and_the_arm(seed: int) -> None:
    motion = disturber(ONLY_PUSHES, seed)(Motion("go", WAY, free=Free(again=again)))
    assert motion.disturbed is not None
    apart = off_m(motion.path.positions, motion.disturbed.intended)
    assert apart.max() > 0.001
    assert apart[-1] == 0


class TestDriver:
    def test_motions_are_disturbed_with_and_without_a_time_limit_and_replies_pass_through(self) -> None:
        motion = Motion("go", WAY, free=Free())

        def drive() -> Generator[Any, Any, Any]:
            first = yield motion
            second = yield Within(request=motion, until_s=5.0)
            return first, second

        other = Motion("pushed", WAY)
        driver = disturbed(drive(), lambda each: other)
        assert next(driver) is other
        request = driver.send("one")
        assert isinstance(request, Within)
        assert (request.request, request.until_s) == (other, 5.0)
        with pytest.raises(StopIteration) as stop:
            driver.send("two")
        assert stop.value.value == ("one", "two")

    def test_a_driver_that_has_to_stop_unwinds(self) -> None:
        seen: list[str] = []

        def drive() -> Generator[Any, Any, Any]:
            try:
                yield Motion("go", WAY)
            except Preempted:
                seen.append("stopped")
                raise

        driver = disturbed(drive(), lambda each: each)
        next(driver)
        with pytest.raises(Preempted):
            driver.throw(Preempted())
        assert seen == ["stopped"]


class TestTrack:
    def test_what_was_intended_is_kept_beside_what_was_executed(self) -> None:
        track, rows = LaneRecording(start=START, variation=PLAIN), WAY.positions
        off = np.zeros(len(rows), bool)
        off[3:9] = True
        intended = rows.copy()
        intended[3:9] += 0.01
        track.append(WAY, 5)
        track.append(WAY, WAY.ticks, Disturbed(intended=intended, off=off))
        kept, flags = track.intention()
        np.testing.assert_array_equal(kept[5:], intended)
        np.testing.assert_array_equal(np.flatnonzero(flags), np.arange(8, 14))

    def test_a_motion_that_ends_while_pushed_gives_way_to_where_the_arm_is(self) -> None:
        track, rows = LaneRecording(start=START, variation=PLAIN), WAY.positions
        track.append(WAY, 30, Disturbed(intended=rows + 0.02, off=np.ones(len(rows), bool)))
        kept, _ = track.intention()
        apart = np.abs(kept - track.reference()[0]).max(axis=1)
        assert apart[10] == pytest.approx(0.02)
        assert apart[-2] < CONTINUITY
        assert apart[-1] == 0

    def test_an_undisturbed_track_has_no_intention_of_its_own(self) -> None:
        track = LaneRecording(start=START, variation=PLAIN)
        track.append(WAY, 5)
        assert [len(each) for each in track.intention()] == [0, 0]
