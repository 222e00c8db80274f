"""Hops: off what moves, through the air, and down onto something that moves, nearly as fast as limits allow.

A hop has two ends that ride, and two kinds of progress between them: from one ride to the other, straight in joint
space, and up and down. Each joint follows the sum, so what one kind leaves of a joint's limits is the other's. How soon
the hand may leave the vertical over its start, and how soon it must be in that over its target, is said by clearances:
from them follows how long the flight waits for the rise, and how long the sink goes on after it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from graspline.motion.path import Command
from graspline.motion.scaling import Progress, Rates, Scaling, soonest
from graspline.robots.robot import Robot

Array = NDArray[np.float64]

# Shares of the fastest flight that are tried: a slower one leaves more for rise and sink.
_SHARES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.45)
# What a hop takes of limits; the rest is for differences of sampling, rides that are no lines in joint space, and small
# corrections of a target on the way.
_TAKEN = 0.97
# A sampled hop that breaks a limit all the same is slowed down by as much and a hair.
_HAIR = 0.995
_TRIES = 8
# Joints that move less than this have no say in how long it takes.
_LEAST_RAD = 1e-4


class Follower(Protocol):
    """The kinematics of an arm whose hand keeps one rotation along a line."""

    def forward(self, joints_rad: Array) -> tuple[Array, Array]:
        """Points (..., 3) and rotations (..., 3, 3) of the tool."""
        ...

    def follow(self, points_m: Array, rotation: Array, near_rad: Array) -> Array | None:
        """Joints (T, n) along points (T, 3) in the posture nearest to `near_rad`; None where any is out of reach."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ride:
    """A point that moves evenly, (3,) each, in W."""

    point_m: Array
    velocity_m_s: Array
    time_s: float

    def at(self, times_s: Array | float) -> Array:
        """(..., 3)"""
        return self.point_m + np.asarray(times_s - self.time_s)[..., None] * self.velocity_m_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Clearance:
    """Lower than this above an end of a hop, the hand is at most so far beside it: along its closing axis and across."""

    height_m: float
    along_m: float
    across_m: float

    def share_of(self, way_m: Array, rotation: Array) -> float:
        """How much of a level way (2,) the hand may go while it is low."""
        along, across = abs(float(way_m @ rotation[:2, 2])), abs(float(way_m @ rotation[:2, 1]))
        return min(self.along_m / max(along, 1e-9), self.across_m / max(across, 1e-9), 1.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Hop:
    """Arm positions and velocities (T + 1, n), and when the hand is over its target and on it."""

    positions: Array
    velocities: Array
    begins_s: float
    arrives_s: float
    ends_s: float
    # What was met: its joints at the end.
    target: Ride
    rotation: Array


@dataclass(frozen=True, slots=True, kw_only=True)
class NoHop:
    """Why there is no hop: the target is out of reach where it would be met, or leaves before."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HopQuery:
    """What a hop is asked for: from a command that rides or rests, at this time, to a ride, the hand turned like this.

    The hand rises by `rise_m` and sinks by `sink_m`. It is on the target within [`not_before_s`, `until_s`].
    """

    start: Command
    now_s: float
    target: Ride
    rotation: Array
    rise_m: float
    sink_m: float
    leaving: tuple[Clearance, ...] = ()
    landing: tuple[Clearance, ...] = ()
    not_before_s: float = 0.0
    until_s: float = float("inf")
    scaling: Scaling = "ruckig"


def plan_hop(robot: Robot, arm: Follower, query: HopQuery) -> Hop | NoHop:
    """The hop that meets its target as soon as can be."""
    joints = query.start.position[robot.arm]
    point, turned = arm.forward(joints)
    velocity = _tool_velocity(arm, joints, query.start.velocity[robot.arm])
    away = Ride(point_m=point, velocity_m_s=velocity, time_s=query.now_s)
    slower = 1.0
    for _ in range(_TRIES):
        shape = _meet(robot, arm, query, away, turned, slower)
        if isinstance(shape, NoHop):
            return shape
        found = _sampled(robot, arm, query, turned, shape)
        load = 0.0 if isinstance(found, NoHop) else _load(robot, found)
        if load <= 1.0:
            return found
        slower *= _HAIR / load
    return NoHop(reason="no hop keeps the limits")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Shape:
    """The parts of a hop and when each begins, in ticks; how long it takes in all."""

    flight: Progress
    rise: Progress | None
    sink: Progress | None
    wait: int
    arrived: int
    ticks: int


def _meet(robot: Robot, arm: Follower, query: HopQuery, away: Ride, turned: Array, slower: float) -> _Shape | NoHop:
    """The shape of the hop that takes no longer than its target takes to come where it ends."""
    dt_s, joints = robot.dt_s, query.start.position[robot.arm]
    rise = _vertical(arm, away.point_m, turned, query.rise_m, joints)
    ticks = max(2, int(np.ceil((query.not_before_s - query.now_s) / dt_s - 1e-9)))
    for _ in range(3 * _TRIES):
        ends_s = query.now_s + ticks * dt_s
        if ends_s > query.until_s + 1e-9:
            return NoHop(reason="it leaves before it could be met")
        met = query.target.at(ends_s)
        sink = _vertical(arm, met, query.rotation, query.sink_m, joints)
        if rise is None or sink is None:
            return NoHop(reason="out of reach where it would be met" if rise is not None else "no room to rise")
        shape = _fastest(robot, arm, query, turned, (rise, sink), slower)
        if shape.ticks <= ticks:
            return _stretched(shape, ticks)
        ticks = shape.ticks
    return NoHop(reason="no meeting was found")


def _vertical(
    arm: Follower, point_m: Array, rotation: Array, height_m: float, near_rad: Array
) -> tuple[Array, Array] | None:
    """Joints on a point, and how they change up to this height over it."""
    points = np.repeat(point_m[None], 2, axis=0)
    points[1, 2] += height_m
    rows = arm.follow(points, rotation, near_rad)
    return None if rows is None else (rows[0], rows[1] - rows[0])


def _fastest(
    robot: Robot,
    follower: Follower,
    query: HopQuery,
    turned: Array,
    ends: tuple[tuple[Array, Array], tuple[Array, Array]],
    slower: float,
) -> _Shape:
    """The best of some ways to share limits between flight, rise and sink."""
    (begin, rise), (end, sink) = ends
    ways_m = _ways(follower, begin, end)
    limits, arm = robot.limits, robot.arm
    room = _TAKEN * slower
    speed, push, jerk = (room * each[arm] for each in (limits.velocity, limits.acceleration, limits.jerk))
    # Both rides go on under the flight.
    speed = speed - np.abs(query.start.velocity[arm])
    flight_rad = np.maximum(np.abs(end - begin), np.abs(end + sink - begin - rise))
    best: _Shape | None = None
    for share in _SHARES:
        rates = _rates(flight_rad, share * speed, share * push, share * jerk)
        left = (
            speed - rates.speed * flight_rad,
            push - rates.push * flight_rad,
            jerk - rates.jerk * flight_rad,
        )
        verticals = [_quickest(np.abs(each), left, query.scaling) for each in (rise, sink)]
        if None in verticals:
            continue
        flight = soonest(rates, query.scaling)
        shape = _timed(robot, query, flight, (verticals[0], verticals[1]), ways_m, turned)
        if best is None or shape.ticks < best.ticks:
            best = shape
        if not query.rise_m and not query.sink_m:
            break
    assert best is not None
    return best


def _ways(arm: Follower, begin: Array, end: Array) -> tuple[Array, Array]:
    """(2,) each: how the tool moves over the ground per progress where a flight begins and where it ends."""
    share = 0.02
    points, _ = arm.forward(np.stack([begin, begin + share * (end - begin), end - share * (end - begin), end]))
    return (points[1] - points[0])[:2] / share, (points[3] - points[2])[:2] / share


def _rates(way_rad: Array, speed: Array, push: Array, jerk: Array) -> Rates:
    """The rates of progress at which every joint, moving so far in all, keeps these limits."""
    way = np.maximum(way_rad, _LEAST_RAD)
    return Rates(speed=float((speed / way).min()), push=float((push / way).min()), jerk=float((jerk / way).min()))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Nothing(Progress):
    """No way to go."""

    duration_s: float = 0.0


def _quickest(way_rad: Array, left: tuple[Array, Array, Array], scaling: Scaling) -> Progress | None:
    """The fastest rise or sink with what is left of the limits; None if nothing is."""
    moves = way_rad > _LEAST_RAD
    if not moves.any():
        return _Nothing()
    speed, push, jerk = (each[moves] for each in left)
    if min(speed.min(), push.min(), jerk.min()) <= 0.0:
        return None
    return soonest(_rates(way_rad[moves], speed, push, jerk), scaling)


def _timed(
    robot: Robot,
    query: HopQuery,
    flight: Progress,
    verticals: tuple[Progress | None, Progress | None],
    ways_m: tuple[Array, Array],
    turned: Array,
) -> _Shape:
    """When each part begins for the clearances to hold."""
    rise, sink = verticals
    assert rise is not None and sink is not None
    wait_s = lag_s = 0.0
    for each in query.leaving if query.rise_m else ():
        high_s = rise.when(each.height_m / query.rise_m)
        wait_s = max(wait_s, high_s - flight.when(each.share_of(ways_m[0], turned)))
    for each in query.landing if query.sink_m else ():
        # A sink mirrors a rise in time.
        low_s = sink.when(each.height_m / query.sink_m)
        lag_s = max(lag_s, low_s - flight.when(each.share_of(ways_m[1], query.rotation)))
    hz = robot.control_hz
    wait, arrived = (int(np.ceil(each * hz - 1e-6)) for each in (wait_s, wait_s + flight.duration_s))
    # Rise and sink follow one another: both brake the same joints half way.
    least_s = max(wait_s + flight.duration_s + lag_s, rise.duration_s + sink.duration_s)
    ticks = max(arrived, int(np.ceil(least_s * hz - 1e-6)))
    return _Shape(flight=flight, rise=rise, sink=sink, wait=wait, arrived=arrived, ticks=max(ticks, 2))


def _stretched(shape: _Shape, ticks: int) -> _Shape:
    """The same hop for a target that comes later: it is waited for over the start."""
    later = ticks - shape.ticks
    return replace(shape, wait=shape.wait + later, arrived=shape.arrived + later, ticks=ticks)


def _sampled(robot: Robot, arm: Follower, query: HopQuery, turned: Array, shape: _Shape) -> Hop | NoHop:
    """Every joint at every tick.

    Rides are straight in joint space over the time of a hop, exact where it begins and ends; on the way nobody can tell.
    """
    dt_s, near, speed = robot.dt_s, query.start.position[robot.arm], query.start.velocity[robot.arm]
    ends_s = query.now_s + shape.ticks * dt_s
    offsets = dt_s * np.arange(-1, shape.ticks + 2)
    flown, _ = shape.flight.at(offsets - shape.wait * dt_s)
    risen = _height(shape.rise, offsets) * query.rise_m
    # Seen from its end a sink is a rise.
    sunk = _height(shape.sink, shape.ticks * dt_s - offsets) * query.sink_m
    # Half way a hop that rises and sinks is as high over one end as over the other.
    over = np.minimum(risen, sunk) if query.rise_m and query.sink_m else None
    begin = _raised(arm, arm.forward(near)[0], turned, risen if over is None else over, near)
    met = query.target.at(ends_s + dt_s * np.arange(-1, 2))
    meeting = arm.follow(met, query.rotation, near)
    end = None
    if meeting is not None:
        end = _raised(arm, met[1], query.rotation, sunk if over is None else over, meeting[1])
    if begin is None or end is None or meeting is None:
        return NoHop(reason="no room to rise" if begin is None else "out of reach where it would be met")
    drift = (meeting[2] - meeting[0]) / (2 * dt_s)
    begin += offsets[:, None] * speed
    end += (offsets - shape.ticks * dt_s)[:, None] * drift
    rows = begin + flown[:, None] * (end - begin)
    positions, velocities = rows[1:-1].copy(), (rows[2:] - rows[:-2]) / (2 * dt_s)
    positions[0], velocities[0] = near, speed
    positions[-1], velocities[-1] = meeting[1], drift
    return Hop(
        positions=positions,
        velocities=velocities,
        begins_s=query.now_s,
        arrives_s=query.now_s + shape.arrived * dt_s,
        ends_s=ends_s,
        target=query.target,
        rotation=query.rotation,
    )


def _raised(arm: Follower, point_m: Array, rotation: Array, heights_m: Array, near: Array) -> Array | None:
    """Joints (T, n) at these heights over a point."""
    points = np.repeat(point_m[None], len(heights_m), axis=0)
    points[:, 2] += heights_m
    return arm.follow(points, rotation, near)


def _height(progress: Progress | None, times_s: Array) -> Array:
    if progress is None or not progress.duration_s:
        return np.ones_like(times_s)
    return progress.at(times_s)[0]


def _load(robot: Robot, found: Hop) -> float:
    """The greatest share of a velocity or acceleration limit that a hop takes."""
    limits, arm = robot.limits, robot.arm
    speed = np.abs(found.velocities).max(axis=0) / limits.velocity[arm]
    push = np.abs(np.diff(found.velocities, axis=0)).max(axis=0) / (limits.acceleration[arm] * robot.dt_s)
    return float(max(speed.max(), push.max()))


def _tool_velocity(arm: Follower, joints: Array, speed: Array) -> Array:
    """(3,): how the tool moves at this joint speed."""
    if not speed.any():
        return np.zeros(3)
    step_s = 1e-4
    points, _ = arm.forward(np.stack([joints - step_s * speed, joints + step_s * speed]))
    return (points[1] - points[0]) / (2 * step_s)
