"""From rest to rest along a line of waypoints in joint space, through the corners without stopping.

Distance along the line is measured in seconds: what the slowest joint takes at its velocity limit. At a corner the
direction changes gradually, along a cubic, at an even pace; between corners the pace changes by ruckig's jerk-limited
profiles. So position, velocity and acceleration are continuous, and no limit is passed anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import ruckig
from numpy.typing import NDArray

from graspline.errors import WiringError
from graspline.motion.path import Path
from graspline.robots.robot import JointLimits, Robot

Array = NDArray[np.float64]

# What is taken of limits; the rest covers rounding.
_TAKEN = 0.999
# Waypoints closer than this, in seconds of the slowest joint, are one; directions that differ by less than this share
# of velocity limits are one, too.
_SAME_S, _SAME = 1e-9, 1e-6
# The change of direction goes with 3 x² - 2 x³ over x in [0, 1]: its peak slope, the peak of its second derivative,
# and how far it passes inside the corner, as shares of change of direction times length.
_SLOPE, _BEND, _INSIDE = 1.5, 6.0, 3 / 32


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _WaypointLine:
    """M waypoints, (M, nu), where each is along the line, (M,), and the direction towards the next, (M - 1, nu)."""

    points: Array
    along_s: Array
    directions: Array

    @property
    def lengths_s(self) -> Array:
        return np.diff(self.along_s)


def through(robot: Robot, waypoints: Array, *, speed: float = 1.0, corner_m: float = 0.02) -> Path:
    """Along `waypoints` (M, nu) at up to this share of velocity limits.

    Corners are cut so that nothing of the robot is ever farther than `corner_m` from where it would be on the line.
    """
    line = _line(waypoints, robot.limits)
    if line is None:
        still = np.repeat(waypoints[:1], 2, axis=0)
        return Path(positions=still, velocities=np.zeros_like(still), dt_s=robot.dt_s)
    corners_s, paces = _corners(robot, line, speed, corner_m)
    profile = _profile(robot.limits, line, corners_s, paces, speed)
    ticks = max(1, int(np.ceil(profile.duration_s * robot.control_hz - 1e-9)))
    # A hair slower, so that it ends on a tick.
    stretch = profile.duration_s / (ticks * robot.dt_s)
    along_s, pace = profile.at(np.linspace(0.0, profile.duration_s, ticks + 1))
    positions, slopes = _bent(line, corners_s, along_s)
    velocities = slopes * (pace * stretch)[:, None]
    positions[0], positions[-1] = waypoints[0], waypoints[-1]
    velocities[0] = velocities[-1] = 0.0
    return Path(positions=positions, velocities=velocities, dt_s=robot.dt_s)


def duration_s(robot: Robot, waypoints: Array, *, speed: float = 1.0, corner_m: float = 0.02) -> float:
    """How long `through` takes, up to a tick."""
    line = _line(waypoints, robot.limits)
    if line is None:
        return 0.0
    corners_s, paces = _corners(robot, line, speed, corner_m)
    return _profile(robot.limits, line, corners_s, paces, speed).duration_s


def _line(waypoints: Array, limits: JointLimits) -> _WaypointLine | None:
    """The line through all waypoints but those that repeat another or lie straight on; None where nothing moves."""
    points, directions = [waypoints[0]], list[Array]()
    for point in waypoints[1:]:
        length_s = (np.abs(point - points[-1]) / limits.velocity).max()
        if length_s <= _SAME_S:
            continue
        direction = (point - points[-1]) / length_s
        if directions and (np.abs(direction - directions[-1]) <= _SAME * limits.velocity).all():
            points[-1] = point
        else:
            points.append(point)
            directions.append(direction)
    if not directions:
        return None
    steps = np.diff(points, axis=0)
    lengths_s = (np.abs(steps) / limits.velocity).max(axis=1)
    along_s = np.concatenate([[0.0], np.cumsum(lengths_s)])
    return _WaypointLine(points=np.array(points), along_s=along_s, directions=steps / lengths_s[:, None])


def _corners(robot: Robot, line: _WaypointLine, speed: float, corner_m: float) -> tuple[Array, Array]:
    """How much of the line each waypoint's corner takes, (M,), and the pace there, (M,); nothing at either end."""
    limits, lengths, most = robot.limits, line.lengths_s, speed * _TAKEN
    turns = np.abs(np.diff(line.directions, axis=0))
    pushes = (_SLOPE * turns / (limits.acceleration * _TAKEN)).max(axis=1, initial=0.0)
    jerks = (_BEND * turns / limits.jerk).max(axis=1, initial=0.0)
    # No longer than full pace needs.
    enough_s = np.maximum(pushes * most**2, np.sqrt(jerks * most**3))
    inside_s = corner_m / (_INSIDE * (turns @ robot.levers_m))
    corners_s = np.minimum(np.minimum(inside_s, enough_s), np.minimum(lengths[:-1], lengths[1:]))
    paces = np.minimum(np.sqrt(corners_s / pushes), np.cbrt(corners_s**2 / jerks))
    rest = np.zeros(1)
    return np.concatenate([rest, corners_s, rest]), np.concatenate([rest, np.minimum(paces, most), rest])


def _bent(line: _WaypointLine, corners_s: Array, along_s: Array) -> tuple[Array, Array]:
    """Positions and directions, (T, nu) each, at these distances along the line, with its corners rounded off."""
    nearest = np.searchsorted((line.along_s[1:] + line.along_s[:-1]) / 2, along_s)
    legs = np.clip(np.searchsorted(line.along_s, along_s, side="right") - 1, 0, len(line.directions) - 1)
    slopes = line.directions[legs]
    positions = line.points[legs] + (along_s - line.along_s[legs])[:, None] * slopes
    length = corners_s[nearest]
    past = along_s - line.along_s[nearest] + length / 2
    turning = (past > 0) & (past < length)
    corner, length = nearest[turning], length[turning]
    share = past[turning] / length
    before, after = line.directions[corner - 1], line.directions[corner]
    turned, gained = share**2 * (3 - 2 * share), length * share**3 * (1 - share / 2)
    slopes[turning] = before + turned[:, None] * (after - before)
    start = line.points[corner] - (length / 2)[:, None] * before
    positions[turning] = start + past[turning, None] * before + gained[:, None] * (after - before)
    return positions, slopes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Profile:
    """Distance along the line over time, as cubics one after another, (n,) each: when they begin, and their terms."""

    begins_s: Array
    terms: Array
    duration_s: float

    def at(self, times_s: Array) -> tuple[Array, Array]:
        """Distance and pace."""
        phase = np.searchsorted(self.begins_s, times_s, side="right") - 1
        t = times_s - self.begins_s[phase]
        p, v, a, j = self.terms[:, phase]
        return p + t * (v + t * (a / 2 + t * (j / 6))), v + t * (a + t * (j / 2))


def _profile(limits: JointLimits, line: _WaypointLine, corners_s: Array, paces: Array, speed: float) -> _Profile:
    """As fast as limits and the corners' paces allow."""
    lengths = line.lengths_s - (corners_s[:-1] + corners_s[1:]) / 2
    share = np.abs(line.directions)
    with np.errstate(divide="ignore"):
        push = (limits.acceleration / share).min(axis=1) * _TAKEN
        jerk = (limits.jerk / share).min(axis=1)
    paces = _within_reach(paces, lengths, push, jerk)
    phases: list[tuple[float, float, float, float, float]] = []
    at = 0.0
    for leg, length in enumerate(lengths):
        if length > _SAME_S:
            phases += _leg(at, length, (paces[leg], paces[leg + 1]), (speed * _TAKEN, push[leg], jerk[leg]))
            at += length
        if corners_s[leg + 1] > 0:
            phases.append((corners_s[leg + 1] / paces[leg + 1], at, paces[leg + 1], 0.0, 0.0))
            at += corners_s[leg + 1]
    durations, *terms = np.array(phases).T
    ends = np.cumsum(durations)
    return _Profile(begins_s=ends - durations, terms=np.array(terms), duration_s=float(ends[-1]))


def _within_reach(paces: Array, lengths: Array, push: Array, jerk: Array) -> Array:
    """Paces at waypoints, lowered until each can be had from those before and after it."""
    found = paces.copy()
    legs = range(len(lengths))
    for leg in legs:
        found[leg + 1] = min(found[leg + 1], _reached(found[leg], lengths[leg], push[leg], jerk[leg]))
    for leg in reversed(legs):
        found[leg] = min(found[leg], _reached(found[leg + 1], lengths[leg], push[leg], jerk[leg]))
    return found


def _reached(pace: float, length: float, push: float, jerk: float) -> float:
    """The highest pace that can be had over a length, with no push at either end."""

    def needed(gain: float) -> float:
        time_s = gain / push + push / jerk if gain > push * push / jerk else 2 * np.sqrt(gain / jerk)
        return (pace + gain / 2) * time_s

    low, high = 0.0, 1.0
    while needed(high) < length:
        low, high = high, 2 * high
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if needed(middle) < length else (low, middle)
    return pace + low


def _leg(
    begin: float, length: float, paces: Sequence[float], rates: Sequence[float]
) -> list[tuple[float, float, float, float, float]]:
    """Phases of a straight part: how long each lasts, and its terms."""
    request = ruckig.InputParameter(1)
    request.current_velocity, request.target_velocity = [paces[0]], [paces[1]]
    request.target_position = [length]
    request.max_velocity, request.max_acceleration, request.max_jerk = ([rate] for rate in rates)
    trajectory = ruckig.Trajectory(1)
    result = _ONE.calculate(request, trajectory)
    if result not in (ruckig.Result.Working, ruckig.Result.Finished):
        raise WiringError(f"no way along {length} s from pace {paces[0]} to {paces[1]} within {rates}: {result.name}")
    found = trajectory.profiles[0][0]
    return [
        (t, begin + p, v, a, j)
        for t, p, v, a, j in zip(found.t, found.p[:-1], found.v[:-1], found.a[:-1], found.j, strict=True)
        if t > 0
    ]


_ONE = ruckig.Ruckig(1)
