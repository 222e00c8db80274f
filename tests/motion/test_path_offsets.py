"""Offsets from paths: smooth, gone at their ends, and paths that slow down come out where they would have."""

from __future__ import annotations

import numpy as np
import pytest

from graspline.motion.joint_moves import joint_move
from graspline.motion.path import at_rest, check_path
from graspline.motion.path_offsets import bump, slowed, step, with_offset
from graspline.robots.so101 import HOME, SO101

AWAY = HOME + np.array([0.8, 0.3, -0.2, 0.2, 0.4, 0.3])


@pytest.mark.parametrize("ticks", [12, 15, 40])
def test_a_bump_begins_and_ends_at_nothing_and_its_slope_is_that_of_its_values(ticks: int) -> None:
    values, slopes = bump(ticks)
    assert (values[0], values[-1], slopes[0], slopes[-1]) == (0, 0, 0, 0)
    assert values.max() == pytest.approx(1, abs=0.05)
    assert np.abs(np.cumsum((slopes[1:] + slopes[:-1]) / 2) - values[1:]).max() < 0.05


def test_a_step_stays_where_it_ends() -> None:
    values, slopes = step(20)
    assert (values[0], values[-1], slopes[0], slopes[-1]) == (0, 1, 0, 0)
    assert (np.diff(values) >= 0).all()


def test_a_path_with_an_offset_is_itself_before_and_behind_it_and_keeps_limits() -> None:
    path = joint_move(SO101, at_rest(HOME), AWAY, speed=0.3)
    offset = np.array([0.05, 0.03, -0.02, 0.0, 0.1, 0.0])
    pushed = with_offset(path, offset, 20, bump(24))
    assert check_path(pushed, SO101) is None
    np.testing.assert_array_equal(pushed.positions[:21], path.positions[:21])
    np.testing.assert_array_equal(pushed.positions[44:], path.positions[44:])
    np.testing.assert_allclose(pushed.positions[32], path.positions[32] + offset)


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_path_that_slows_down_keeps_limits_and_meets_its_own_rows_again(share: float) -> None:
    path = joint_move(SO101, at_rest(HOME), AWAY, speed=0.2)
    slower = slowed(path, 15, 40, share=share, change=10)
    added = round((1 - share) * 30)
    assert slower.ticks == path.ticks + added
    assert check_path(slower, SO101) is None
    np.testing.assert_allclose(slower.positions[:16], path.positions[:16], atol=1e-15)
    np.testing.assert_array_equal(slower.positions[55:], path.positions[55 - added :])


def test_a_path_that_is_halted_stands_still() -> None:
    path = joint_move(SO101, at_rest(HOME), AWAY, speed=0.2)
    slower = slowed(path, 15, 40, share=0.0, change=10)
    assert np.ptp(slower.positions[25:46], axis=0).max() < 1e-12
