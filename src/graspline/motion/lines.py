"""Time scaling of a whole path: a function of progress, sampled so that speed limits hold."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from graspline.motion.path import Path, keeps_rates, load_factor, within_rates
from graspline.robots.robot import Robot

Array = NDArray[np.float64]

# Peak speed of a minimum-jerk move over its mean.
PEAK = 1.875
# How often a move is slowed down until it keeps its limits, and how long it may take then.
_STRETCHES, _LONGEST_S = 3, 60.0
# A joint leaps that goes farther than this from one sample to the next, rad or m, and this many times as far as just
# before and after.
_LEAP, _LEAPS = 0.5, 4.0


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
    If a joint would exceed its limits, that move is slowed down until none does. The moves may be those of many arms:
    each is what it is alone.
    """
    durations = [max(PEAK * length / speed, shortest_s) for length, speed in zip(lengths_m, speeds_m_s, strict=True)]
    moves = list(range(len(durations)))
    paths, fits = _sampled(robot, joints_at, moves, durations)
    for _ in range(_STRETCHES):
        moves = [move for move, fit in zip(moves, fits, strict=True) if not fit]
        if not moves:
            break
        slower = {move: durations[move] * load_factor(paths[move], robot.limits) * 1.02 for move in moves}
        # Where joints leap from one branch to another no pace is slow enough, and the path is refused by its limits.
        moves = [move for move in moves if slower[move] <= _LONGEST_S and not _leaps(paths[move].positions)]
        if not moves:
            break
        for move in moves:
            durations[move] = slower[move]
        again, fits = _sampled(robot, joints_at, moves, [durations[move] for move in moves])
        for move, path in zip(moves, again, strict=True):
            paths[move] = path
    return paths


def _leaps(positions: Array) -> bool:
    """Whether any joint of positions (T, nu) leaps."""
    steps = np.abs(np.diff(positions, axis=0, prepend=positions[:1], append=positions[-1:]))
    return bool(np.any(steps[1:-1] > np.maximum(_LEAP, _LEAPS * np.maximum(steps[:-2], steps[2:]))))


def _sampled(
    robot: Robot,
    joints_at: Callable[[NDArray[np.intp], Array], Array],
    moves: list[int],
    durations_s: list[float],
) -> tuple[list[Path], list[bool]]:
    """These moves at these durations, and whether each keeps velocity and acceleration limits."""
    ticks = [max(2, math.ceil(duration * robot.control_hz - 1e-9)) for duration in durations_s]
    progress = np.concatenate([_progress(count) for count in ticks])
    counts = [count + 1 for count in ticks]
    positions = joints_at(np.repeat(moves, counts), progress)
    velocities = np.zeros_like(positions)
    velocities[1:-1] = (positions[2:] - positions[:-2]) * (0.5 * robot.control_hz)
    ends = list(itertools.accumulate(counts))
    begins = [0, *ends[:-1]]
    # Each begins and ends at rest, whatever stands before and behind it here.
    velocities[begins] = 0.0
    velocities[[end - 1 for end in ends]] = 0.0
    paths = [
        Path(positions=positions[begin:end].copy(), velocities=velocities[begin:end].copy(), dt_s=robot.dt_s)
        for begin, end in zip(begins, ends, strict=True)
    ]
    if keeps_rates(velocities, robot.limits, robot.dt_s):
        return paths, [True] * len(paths)
    return paths, np.logical_and.reduceat(within_rates(velocities, robot.limits, robot.dt_s), begins).tolist()


@functools.lru_cache(maxsize=512)
def _progress(ticks: int) -> Array:
    return minimum_jerk(np.linspace(0.0, 1.0, ticks + 1))
