"""Paths through waypoints keep every limit, stay by the line, and do not stop at corners."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from graspline.motion.joint_moves import joint_move
from graspline.motion.path import Path, at_rest, check_path
from graspline.motion.waypoints import duration_s, through
from graspline.robots.hsr import HSR
from graspline.robots.robot import Robot
from graspline.robots.so101 import SO101
from graspline.robots.ur5e import UR5E

Array = NDArray[np.float64]


def jerks(path: Path) -> Array:
    return np.abs(np.diff(path.velocities, n=2, axis=0)) / path.dt_s**2


def off_line_m(robot: Robot, path: Path, waypoints: Array) -> float:
    """How far anything of the robot is from where it would be on the line, at most."""
    shares = np.linspace(0.0, 1.0, 200)[:, None]
    line = np.concatenate([a + shares * (b - a) for a, b in itertools.pairwise(waypoints)])
    return max(float((np.abs(line - row) @ robot.levers_m).min()) for row in path.positions)


def walk(robot: Robot, seed: int, count: int, size: float) -> Array:
    """Waypoints that wander from home, some steps much shorter than others."""
    random = np.random.default_rng(seed)
    steps = random.uniform(-size, size, (count, len(robot.joints))) * 10 ** random.uniform(-2, 0, (count, 1))
    # Some joints rest, and some waypoints repeat.
    steps *= (random.random(steps.shape) < 0.7) & (random.random((count, 1)) < 0.9)
    rows = robot.home + np.concatenate([np.zeros((1, steps.shape[1])), np.cumsum(steps, axis=0)])
    return np.clip(rows, robot.limits.lower, robot.limits.upper)


@given(
    robot=st.sampled_from([HSR, UR5E, SO101]),
    seed=st.integers(0, 2**31),
    count=st.integers(1, 8),
    size=st.sampled_from([1e-6, 1e-3, 0.1, 1.0]),
    speed=st.sampled_from([1.0, 0.4, 0.05]),
    corner_m=st.sampled_from([0.1, 0.02, 0.001]),
)
@settings(max_examples=150, deadline=None)
def test_limits_hold_wherever_it_goes(
    robot: Robot, seed: int, count: int, size: float, speed: float, corner_m: float
) -> None:
    waypoints = walk(robot, seed, count, size)
    path = through(robot, waypoints, speed=speed, corner_m=corner_m)
    assert check_path(path, robot) is None
    assert np.array_equal(path.positions[0], waypoints[0])
    assert np.array_equal(path.end, waypoints[-1])
    assert not path.velocities[[0, -1]].any()
    assert (np.abs(path.velocities) <= speed * robot.limits.velocity * (1 + 1e-9)).all()
    if path.ticks > 1:
        assert (jerks(path) <= robot.limits.jerk * (1 + 1e-3)).all()
    assert duration_s(robot, waypoints, speed=speed, corner_m=corner_m) == pytest.approx(
        path.duration_s, abs=robot.dt_s * (1 + 1e-6)
    )


@pytest.mark.parametrize("corner_m", [0.05, 0.01, 0.002])
def test_corners_are_cut_no_farther_than_allowed(corner_m: float) -> None:
    for seed in range(4):
        waypoints = walk(HSR, seed, 5, 0.6)
        path = through(HSR, waypoints, corner_m=corner_m)
        # The line is looked at in steps, too.
        assert off_line_m(HSR, path, waypoints) <= corner_m + 0.003


def square() -> Array:
    rows = np.repeat(HSR.home[None], 4, axis=0)
    rows[:, :2] = (0, 0), (1, 0), (1, 1), (0, 1)
    return rows


def test_it_does_not_stop_at_corners() -> None:
    path = through(HSR, square(), corner_m=0.05)
    speed = np.hypot(path.velocities[:, 0], path.velocities[:, 1])
    assert speed[60:-60].min() > 0.1
    stops = sum(joint_move(HSR, at_rest(a), b).duration_s for a, b in itertools.pairwise(square()))
    assert path.duration_s < stops - 0.5
    # The wider a corner, the faster.
    assert path.duration_s < through(HSR, square(), corner_m=0.01).duration_s


def test_waypoints_on_a_line_cost_nothing() -> None:
    start, goal = HSR.home, square()[2]
    shares = np.array([0.0, 0.1, 0.1, 0.5, 0.9, 1.0])[:, None]
    one = through(HSR, np.stack([start, goal]))
    many = through(HSR, start + shares * (goal - start))
    assert many.duration_s == pytest.approx(one.duration_s, abs=2 * HSR.dt_s)


def test_a_line_takes_as_long_as_its_slowest_joint() -> None:
    goal = HSR.home + np.array([0.5, 0.1, 0.2, 0.1, -0.3, 0.2, 0.1, 0.3, 0.1, 0.1, 0.0])
    alone = joint_move(HSR, at_rest(HSR.home), goal)
    straight = through(HSR, np.stack([HSR.home, goal]))
    assert straight.duration_s <= alone.duration_s * 1.3
    way = goal - HSR.home
    progress = (straight.positions - HSR.home) @ way / (way @ way)
    np.testing.assert_allclose(straight.positions, HSR.home + progress[:, None] * way, atol=1e-12)


def test_it_can_turn_back_on_itself() -> None:
    rows = square()[[0, 1, 0]]
    path = through(HSR, rows)
    assert check_path(path, HSR) is None
    assert path.positions[:, 0].max() == pytest.approx(1.0, abs=0.021)


def test_where_there_is_nothing_to_do_it_stands_still() -> None:
    path = through(HSR, np.stack([HSR.home] * 3))
    assert path.ticks == 1
    assert not path.velocities.any()
    assert duration_s(HSR, HSR.home[None]) == 0.0
