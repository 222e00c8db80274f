"""Smooth offsets from a path: bumps that come and go, steps that stay; and paths that slow down for a while."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graspline.motion.lines import minimum_jerk
from graspline.motion.path import Path

Array = NDArray[np.float64]


def bump(ticks: int) -> tuple[Array, Array]:
    """From 0 to 1 and back to 0, (ticks + 1,), and its change per tick; at both ends without speed or acceleration."""
    share = np.arange(ticks + 1) / ticks
    room = share * (1 - share)
    return 64 * room**3, 192 * room**2 * (1 - 2 * share) / ticks


def step(ticks: int) -> tuple[Array, Array]:
    """From 0 to 1, (ticks + 1,), and its change per tick; at both ends without speed or acceleration."""
    share = np.arange(ticks + 1) / ticks
    return minimum_jerk(share), 30 * (share * (1 - share)) ** 2 / ticks


def with_offset(path: Path, offset: Array, start: int, shape: tuple[Array, Array]) -> Path:
    """The path with an offset (nu,) that follows a shape from this tick on; behind the shape there is none."""
    values, slopes = shape
    rows = slice(start, start + len(values))
    positions, velocities = path.positions.copy(), path.velocities.copy()
    positions[rows] += values[:, None] * offset
    velocities[rows] += slopes[:, None] * (offset / path.dt_s)
    return Path(positions=positions, velocities=velocities, dt_s=path.dt_s)


def slowed(path: Path, start: int, ticks: int, *, share: float, change: int) -> Path:
    """The path, played at a share of its speed for `ticks` ticks from tick `start` on.

    The first and the last `change` of these are spent on changing the speed. The ticks that this adds,
    (1 - share) * (ticks - change), must be a whole number, so that the path's own rows are met again behind them.
    """
    added = round((1 - share) * (ticks - change))
    count = path.ticks + added
    gone = np.clip(np.arange(count + 1) - start, 0, ticks)
    first, last = np.minimum(gone / change, 1.0), np.clip((gone - (ticks - change)) / change, 0.0, 1.0)
    # Integrals of the two changes of speed.
    lost = change * (_integral(first) - _integral(last)) + np.maximum(gone - change, 0)
    clock = np.arange(count + 1) - (1 - share) * lost
    clock[start + ticks :] = np.arange(start + ticks, count + 1) - added
    rate = 1 - (1 - share) * (minimum_jerk(first) - minimum_jerk(last))
    return _at(path, clock, rate)


def _integral(share: Array) -> Array:
    """Of the minimum-jerk step from 0 to this share."""
    return share**4 * (2.5 + share * (share - 3))


def _at(path: Path, clock: Array, rate: Array) -> Path:
    """The path at fractional ticks, between its rows by cubics that meet their velocities."""
    row = np.minimum(clock.astype(np.intp), path.ticks - 1)
    u = (clock - row)[:, None]
    begin, end = path.positions[row], path.positions[row + 1]
    out, into = path.velocities[row] * path.dt_s, path.velocities[row + 1] * path.dt_s
    positions = (
        (1 + 2 * u) * (1 - u) ** 2 * begin + u * (1 - u) ** 2 * out + u**2 * (3 - 2 * u) * end - u**2 * (1 - u) * into
    )
    slopes = 6 * u * (1 - u) * (end - begin) + (1 - u) * (1 - 3 * u) * out + u * (3 * u - 2) * into
    return Path(positions=positions, velocities=slopes * (rate / path.dt_s)[:, None], dt_s=path.dt_s)
