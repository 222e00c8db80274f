"""Time scaling of a whole path: a function of progress, sampled so that speed limits hold."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from graspline.motion.path import Path, keeps_rates, load_factor
from graspline.robots.robot import Robot

Array = NDArray[np.float64]

# Peak speed of a minimum-jerk move over its mean.
PEAK = 1.875


def minimum_jerk(share: Array) -> Array:
    """Progress in [0, 1] over the share of time gone, at rest at both ends."""
    return share**3 * (10 + share * (6 * share - 15))


def scaled_paths(
    robot: Robot,
    joints_at: Callable[[NDArray[np.intp], Array], Array],
    lengths_m: Sequence[float],
    speeds_m_s: Sequence[float],
    *,
    shortest_s: float = 0.2,
) -> list[Path]:
    """Several moves solved in one call, each at most this fast.

    `joints_at(move, progress)` gives joint positions (n, nu) for the number of a move and progress in [0, 1], (n,).
    If a joint would exceed its limits, that move is slowed down until none does.
    """
    durations = [max(PEAK * length / speed, shortest_s) for length, speed in zip(lengths_m, speeds_m_s, strict=True)]
    paths = _sampled(robot, joints_at, list(range(len(durations))), durations)
    for move, duration_s in enumerate(durations):
        for _ in range(3):
            if keeps_rates(paths[move], robot.limits):
                break
            duration_s *= load_factor(paths[move], robot.limits) * 1.02
            paths[move] = _sampled(robot, joints_at, [move], [duration_s])[0]
    return paths


def _sampled(
    robot: Robot,
    joints_at: Callable[[NDArray[np.intp], Array], Array],
    moves: list[int],
    durations_s: list[float],
) -> list[Path]:
    ticks = [max(2, int(np.ceil(duration * robot.control_hz - 1e-9))) for duration in durations_s]
    progress = np.concatenate([_progress(count) for count in ticks])
    counts = [count + 1 for count in ticks]
    positions = joints_at(np.repeat(moves, counts), progress)
    paths, begin = [], 0
    for count in counts:
        rows = positions[begin : begin + count].copy()
        begin += count
        velocities = np.zeros_like(rows)
        velocities[1:-1] = (rows[2:] - rows[:-2]) * (0.5 * robot.control_hz)
        paths.append(Path(positions=rows, velocities=velocities, dt_s=robot.dt_s))
    return paths


@functools.lru_cache(maxsize=512)
def _progress(ticks: int) -> Array:
    return minimum_jerk(np.linspace(0.0, 1.0, ticks + 1))
