"""Time scaling: a path given by progress is sampled so that speed and acceleration limits hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from graspline.motion.lines import PEAK, minimum_jerk, scaled_paths
from graspline.motion.path import check_path
from graspline.robots.so101 import LOWER, SO101, UPPER

Array = NDArray[np.float64]


def straight(starts: Array, ends: Array):
    """Moves that are straight in joint space."""

    def joints_at(move: NDArray[np.intp], progress: Array) -> Array:
        return starts[move] + progress[:, None] * (ends[move] - starts[move])

    return joints_at


def test_progress_begins_and_ends_at_rest() -> None:
    share = np.linspace(0, 1, 1001)
    progress = minimum_jerk(share)
    assert progress[0] == 0.0
    assert progress[-1] == 1.0
    assert (np.diff(progress) >= 0).all()
    speed = np.gradient(progress, share)
    assert speed[0] == pytest.approx(0.0, abs=1e-4)
    assert speed[-1] == pytest.approx(0.0, abs=1e-4)
    assert speed.max() == pytest.approx(PEAK, abs=1e-4)


@settings(deadline=None)
@given(st.floats(0, 1))
def test_progress_is_the_same_from_either_end(share: float) -> None:
    assert float(minimum_jerk(np.array(share))) == pytest.approx(
        1 - float(minimum_jerk(np.array(1 - share))), abs=1e-12
    )


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.floats(0.01, 2.0))
def test_scaled_paths_keep_limits_and_end_where_asked(seed: int, count: int, speed_m_s: float) -> None:
    random = np.random.default_rng(seed)
    starts, ends = random.uniform(LOWER, UPPER, (2, count, 6))
    lengths = random.uniform(0.0, 0.3, count).tolist()
    paths = scaled_paths(SO101, straight(starts, ends), lengths, [speed_m_s] * count)
    assert len(paths) == count
    for path, start, end, length in zip(paths, starts, ends, lengths, strict=True):
        assert check_path(path, SO101) is None
        np.testing.assert_array_equal(path.positions[0], start)
        np.testing.assert_allclose(path.end, end, atol=1e-15)
        assert not path.velocities[[0, -1]].any()
        assert path.duration_s >= max(PEAK * length / speed_m_s, 0.2) - 1e-9


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.02, 0.3), st.floats(0.02, 0.3))
def test_the_tool_is_never_faster_than_asked(seed: int, length_m: float, speed_m_s: float) -> None:
    """With progress along a line of this length, its rate is the tool's speed."""
    random = np.random.default_rng(seed)
    start = random.uniform(LOWER, UPPER)
    end = start + 0.01 * (random.uniform(LOWER, UPPER) - start)
    (path,) = scaled_paths(SO101, straight(start[None], end[None]), [length_m], [speed_m_s])
    progress = (path.positions - start) @ (end - start) / np.sum((end - start) ** 2)
    speeds = np.diff(progress) * length_m / path.dt_s
    assert speeds.max() <= speed_m_s * (1 + 1e-6)
    if path.duration_s > 0.25:
        assert speeds.max() > 0.85 * speed_m_s


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.05, 1.0))
def test_velocities_are_those_of_the_positions(seed: int, speed_m_s: float) -> None:
    random = np.random.default_rng(seed)
    starts, ends = random.uniform(LOWER, UPPER, (2, 1, 6))
    (path,) = scaled_paths(SO101, straight(starts, ends), [0.2], [speed_m_s])
    steps = (path.velocities[1:] + path.velocities[:-1]) / 2 * path.dt_s
    assert np.abs(np.diff(path.positions, axis=0) - steps).max() < 2e-3


def test_a_move_of_no_length_still_takes_the_shortest_time() -> None:
    start = np.zeros((1, 6))
    (path,) = scaled_paths(SO101, straight(start, start), [0.0], [0.1], shortest_s=0.2)
    assert path.duration_s == pytest.approx(0.2)
    assert not path.velocities.any()


def test_moves_planned_together_are_the_moves_planned_alone() -> None:
    random = np.random.default_rng(3)
    starts, ends = random.uniform(LOWER, UPPER, (2, 3, 6))
    lengths, speeds = [0.1, 0.02, 0.3], [0.1, 0.2, 0.05]
    together = scaled_paths(SO101, straight(starts, ends), lengths, speeds)
    for index, path in enumerate(together):
        one = slice(index, index + 1)
        (alone,) = scaled_paths(SO101, straight(starts[one], ends[one]), lengths[one], speeds[one])
        assert alone.positions.tobytes() == path.positions.tobytes()
        assert alone.velocities.tobytes() == path.velocities.tobytes()


def test_a_move_whose_joint_leaps_is_not_tried_at_a_slower_pace() -> None:
    asked: list[int] = []

    def leaping(move: NDArray[np.intp], progress: Array) -> Array:
        asked.append(len(move))
        rows = np.repeat(SO101.home[None], len(move), axis=0)
        rows[:, 0] = np.where(progress < 0.5, -0.6, 0.6)
        return rows

    (path,) = scaled_paths(SO101, leaping, [0.1], [0.1])
    assert len(asked) == 1
    assert check_path(path, SO101) is not None
