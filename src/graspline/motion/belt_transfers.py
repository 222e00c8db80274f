"""Hops: off what moves, through the air, and down onto something that moves, nearly as fast as limits allow.

A hop has two ends that ride, and two kinds of progress between them: from one ride to the other, straight in joint
space, and up and down. Each joint follows the sum, so what one kind leaves of a joint's limits is the other's. How soon
the hand may leave the vertical over its start, and how soon it must be in that over its target, is said by clearances:
from them follows how long the flight waits for the rise, and how long the sink goes on after it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.kinematics.arm import Arm
from graspline.kinematics.arms import arm_of
from graspline.motion.belt_rides import Ride
from graspline.motion.path import Command
from graspline.motion.scaling import AT_ONCE, Rates, Scaling, TimeScaling, soonest
from graspline.refusal import Refusal
from graspline.robots.robot import Robot

Array = NDArray[np.float64]

# Shares of the fastest flight that are tried: a slower one leaves more for rise and sink.
_SHARES = np.array([1.0, 0.9, 0.8, 0.7, 0.6, 0.45])
# What a hop takes of limits; the rest is for differences of sampling, rides that are no lines in joint space, and small
# corrections of a target on the way.
_TAKEN = 0.97
# A sampled hop that breaks a limit all the same is slowed down by as much and a hair.
_HAIR = 0.995
_TRIES = 8
_FOR_EVER_S = 1e6
# Hops take about so long: where a search begins.
_ABOUT_S = 0.6
# Joints that move less than this have no say in how long it takes.
_LEAST_RAD = 1e-4
# Less than this share of a limit is not left over.
_LEAST_LEFT = 1e-6
# Half way, the hand may lean from how it points at the ends by an angle of this cosine, and be this much higher or
# lower than their mean.
_LEAST_ALIKE, _MOST_APART_M = 0.7, 0.2
# Shares of a flight, from either end, at which it is held against clearances.
_GONE = np.linspace(0.0, 1.0, 13) ** 2
# A vertical is solved at these shares of its height and joined by the polynomial through them, so that one solution
# serves every try. Measured over belts and bins that is off by 0.6 µrad over 0.1 m, and by 12 µrad, 2 µm, over 0.2 m.
_NODES = (1 - np.cos(np.pi * np.arange(7) / 6)) / 2
_THROUGH_NODES = np.linalg.inv(np.vander(_NODES, increasing=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Clearance:
    """Lower than this above an end of a hop, the hand is at most so far beside it along its closing axis and across."""

    height_m: float
    along_m: float
    across_m: float

    def taken_by(self, offsets_m: Array, rotation: Array) -> Array:
        """(T,) the share of it that offsets (T, 3) from the end take; more than 1 is too much."""
        beside = np.abs(offsets_m @ rotation[:, 1:])
        return np.maximum(beside[:, 1] / max(self.along_m, 1e-9), beside[:, 0] / max(self.across_m, 1e-9))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Hop:
    """Arm positions and velocities (T + 1, n), from when it begins to when the hand is on its target."""

    positions: Array
    velocities: Array
    begins_s: float
    ends_s: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HopQuery:
    """What a hop is asked for: from a command that rides or rests, at this time, to a ride.

    The hand rises by `rise_m` and sinks by `sink_m`. It is on the target within [`not_before_s`, `until_s`].
    """

    start: Command
    now_s: float
    target: Ride
    rise_m: float
    sink_m: float
    leaving: tuple[Clearance, ...] = ()
    landing: tuple[Clearance, ...] = ()
    not_before_s: float = 0.0
    until_s: float = float("inf")
    scaling: Scaling = "ruckig"


def plan_hop(robot: Robot, query: HopQuery) -> Hop | Refusal:
    """The hop that meets its target as soon as can be."""
    arm, joints = arm_of(robot), query.start.position[robot.arm]
    (point,), (turned,) = arm.forward(joints[None], query.target.tool_m)
    rows = arm.follow(_column(point, query.rise_m), turned, joints, query.target.tool_m)
    if rows is None:
        return Refusal(check="room_to_rise")
    begin = _end(rows, query.start.velocity[robot.arm], turned)
    search = _Search(robot=robot, arm=arm, query=query, begin=begin)
    guess, slower = round(_ABOUT_S * robot.control_hz), 1.0
    for _ in range(_TRIES):
        meeting = _meet(search, guess, slower)
        if isinstance(meeting, Refusal):
            return meeting
        hop = _sampled(search, meeting)
        load = _load(robot, hop)
        if load <= 1.0:
            return Refusal(check="posture") if _strays(search, hop) else hop
        guess, slower = round(meeting.shape.ticks * load**0.5), slower * _HAIR / load
    return Refusal(check="limits")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _End:
    """One end of a hop: the vertical over it in joints, and how they drift with its ride."""

    foot: Array
    # How joints change from the foot of the vertical to its top.
    climb: Array
    # Of the polynomial of the share of the height, (7, n).
    terms: Array
    drift: Array
    rotation: Array

    def at(self, heights: Array, times_s: Array) -> Array:
        """Joints (T, n) at these shares of the height, so long after the hand is, or was, at the foot.

        A ride is taken for straight in joint space: exact at the foot, and on the way near enough.
        """
        return np.vander(heights, len(_NODES), increasing=True) @ self.terms + times_s[:, None] * self.drift


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Search:
    """What is asked for, and the end that is known."""

    robot: Robot
    arm: Arm
    query: HopQuery
    begin: _End

    @property
    def first_tick(self) -> int:
        return max(2, int(np.ceil((self.query.not_before_s - self.query.now_s) / self.robot.dt_s - 1e-9)))

    @property
    def last_tick(self) -> int:
        return int(np.floor(min(self.query.until_s - self.query.now_s, _FOR_EVER_S) / self.robot.dt_s + 1e-9))

    def end_at(self, ticks: int) -> _End | None:
        """The other end, for a hop that takes so long; None where that is out of reach."""
        query, dt_s = self.query, self.robot.dt_s
        before, met, after = query.target.at(query.now_s + dt_s * np.arange(ticks - 1.0, ticks + 2))
        points, turned = np.concatenate([before[None], after[None], _column(met, query.sink_m)]), query.target.rotation
        rows = self.arm.follow(points, turned, query.start.position[self.robot.arm], query.target.tool_m)
        return None if rows is None else _end(rows[2:], (rows[1] - rows[0]) / (2 * dt_s), turned)


def _end(rows: Array, drift: Array, rotation: Array) -> _End:
    """The end whose vertical has these joints at the nodes, (7, n)."""
    return _End(foot=rows[0], climb=rows[-1] - rows[0], terms=_THROUGH_NODES @ rows, drift=drift, rotation=rotation)


def _column(point_m: Array, height_m: float) -> Array:
    """Points (7, 3) up from a point, at the nodes."""
    points = np.repeat(point_m[None], len(_NODES), axis=0)
    points[:, 2] += height_m * _NODES
    return points


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Shape:
    """The parts of a hop, how long the flight waits, and how many ticks it takes in all."""

    flight: TimeScaling
    rise: TimeScaling
    sink: TimeScaling
    wait_s: float
    ticks: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Meeting:
    """A hop's shape, and the end it leads to if it takes that many ticks: what is left is waited for over the start."""

    shape: _Shape
    end: _End
    ticks: int


def _meet(search: _Search, guess: int, slower: float) -> _Meeting | Refusal:
    """The first meeting that the hand reaches no later than the target.

    Where they meet decides how long the hop takes, and that where they meet; from a guess one soon leads to the other.
    """
    first, last = search.first_tick, search.last_tick
    low, ticks = first - 1, max(guess, first)
    best: _Meeting | None = None
    for _ in range(3 * _TRIES):
        ticks = min(ticks, last)
        if ticks <= low:
            return best or Refusal(check="leaves_first")
        found = _meeting_at(search, ticks, slower)
        if isinstance(found, Refusal):
            if best is not None or low >= first or ticks == first:
                return best or found
            # Sooner it may be in reach.
            ticks = first
            continue
        if found.shape.ticks <= found.ticks:
            best = found
        else:
            low = found.ticks
        ticks = max(found.shape.ticks, low + 1)
        # One tick sooner is not worth another look.
        if best is not None and ticks >= best.ticks - 1:
            return best
    return best or Refusal(check="meeting")


def _meeting_at(search: _Search, ticks: int, slower: float) -> _Meeting | Refusal:
    """The fastest hop to where the target is `ticks` ticks from now; it may take longer than that."""
    end = search.end_at(ticks)
    if end is None:
        return Refusal(check="reach")
    shape = _fastest(search, end, ticks * search.robot.dt_s, slower)
    if shape is None:
        return Refusal(check="limits")
    if not search.query.target.velocity_m_s.any():
        # It waits: the end is the same at any time.
        ticks = min(max(shape.ticks, search.first_tick), search.last_tick)
    return _Meeting(shape=shape, end=end, ticks=ticks)


def _fastest(search: _Search, end: _End, lasts_s: float, slower: float) -> _Shape | None:
    """The best of some ways to share limits between flight, rise and sink; None if the ride alone takes all."""
    begin, robot, scaling = search.begin, search.robot, search.query.scaling
    kept = robot.limits
    # Velocity, acceleration and jerk, (3, n); the ride goes on under the flight.
    limits = _TAKEN * slower * np.stack([kept.velocity, kept.acceleration, kept.jerk])[:, robot.arm]
    limits[0] -= np.abs(begin.drift)
    if limits.min() <= 0.0:
        return None
    way = end.foot - begin.foot
    way = np.maximum(np.maximum(np.abs(way), np.abs(way + end.climb - begin.climb)), _LEAST_RAD)
    rates = (limits / way).min(axis=1)
    left = limits - _SHARES[:, None, None] * (rates[:, None] * way)
    left[left < _LEAST_LEFT * limits] = 0.0
    rise_rates, sink_rates = (_rates(np.abs(climb), left) for climb in (begin.climb, end.climb))
    lows = _lows(search, end, lasts_s)
    best: _Shape | None = None
    for share, up, down in zip(_SHARES.tolist(), rise_rates, sink_rates, strict=True):
        if not min(*up, *down) > 0.0:
            continue
        flight = _progress((share * rates).tolist(), scaling)
        if best is not None and flight.duration_s * robot.control_hz >= best.ticks:
            # Those that follow are slower still.
            break
        shape = _timed(robot, (flight, _progress(up, scaling), _progress(down, scaling)), lows)
        if best is None or shape.ticks < best.ticks:
            best = shape
    return best


def _rates(way_rad: Array, left: Array) -> list[list[float]]:
    """(S, 3): the rates of progress at which every joint, moving so far in all, keeps what is left, (S, 3, n)."""
    moves = way_rad > _LEAST_RAD
    if not moves.any():
        return [[np.inf] * 3] * len(left)
    return (left[..., moves] / way_rad[moves]).min(axis=-1).tolist()


def _progress(rates: list[float], scaling: Scaling) -> TimeScaling:
    speed, push, jerk = rates
    return AT_ONCE if speed == np.inf else soonest(Rates(speed=speed, push=push, jerk=jerk), scaling)


# For each clearance, the share of a vertical below which the hand is low, and that of the flight it may have gone then.
_Lows = list[tuple[float, float]]


def _lows(search: _Search, end: _End, lasts_s: float) -> tuple[_Lows, _Lows]:
    """What clearances ask of a rise and of a sink."""
    query, begin = search.query, search.begin
    # When the hand is at one end, the other one has still to go on with its ride, or has done so already.
    leaving = _flights(begin, end, -lasts_s, query.leaving, query.rise_m)
    landing = _flights(end, begin, lasts_s, query.landing, query.sink_m)
    flights = np.concatenate([leaving, landing])
    points = search.arm.forward(flights.reshape(-1, flights.shape[-1]), query.target.tool_m)[0].reshape(
        *flights.shape[:2], 3
    )
    offsets = points - points[:, :1]
    rises, sinks = offsets[: len(leaving)], offsets[len(leaving) :]
    return (
        [_low(*each, begin.rotation, query.rise_m) for each in zip(query.leaving, rises, strict=False)],
        [_low(*each, end.rotation, query.sink_m) for each in zip(query.landing, sinks, strict=False)],
    )


def _flights(here: _End, there: _End, away_s: float, clearances: tuple[Clearance, ...], height_m: float) -> Array:
    """Joints (K, 13, n) of the flight from one end as high as each clearance reaches; none where nothing rises."""
    heights = np.array([min(each.height_m / height_m, 1.0) for each in clearances if height_m])
    near, far = here.at(heights, np.zeros_like(heights)), there.at(heights, np.full_like(heights, away_s))
    return near[:, None] + _GONE[:, None] * (far - near)[:, None]


def _low(clearance: Clearance, offsets_m: Array, rotation: Array, height_m: float) -> tuple[float, float]:
    """What a clearance asks of a vertical this high, if flying moves the hand by these offsets (13, 3)."""
    taken = clearance.taken_by(offsets_m, rotation)
    gone, beyond = 1.0, int(np.argmax(taken > 1.0))
    if beyond:
        low, high = taken[beyond - 1], taken[beyond]
        gone = float(_GONE[beyond - 1] + (1.0 - low) / (high - low) * (_GONE[beyond] - _GONE[beyond - 1]))
    # Where a flight leads down, or its arc does, the hand must have been lifted by that much more.
    lifted = clearance.height_m - float(np.interp(gone, _GONE, offsets_m[:, 2]))
    return lifted / height_m, gone


def _timed(robot: Robot, parts: tuple[TimeScaling, TimeScaling, TimeScaling], lows: tuple[_Lows, _Lows]) -> _Shape:
    """When flight, rise and sink happen for the clearances to hold."""
    flight, rise, sink = parts
    # A sink mirrors a rise in time, and so does the flight's end its beginning.
    wait_s, lag_s = (
        max([0.0, *(vertical.when(height) - flight.when(gone) for height, gone in each)])
        for vertical, each in ((rise, lows[0]), (sink, lows[1]))
    )
    # Rise and sink follow one another: both brake the same joints half way.
    least_s = max(wait_s + flight.duration_s + lag_s, rise.duration_s + sink.duration_s)
    ticks = max(2, int(np.ceil(least_s * robot.control_hz - 1e-6)))
    return _Shape(flight=flight, rise=rise, sink=sink, wait_s=wait_s, ticks=ticks)


def _sampled(search: _Search, meeting: _Meeting) -> Hop:
    """Every joint at every tick."""
    dt_s, query, shape, end = search.robot.dt_s, search.query, meeting.shape, meeting.end
    lasts_s = meeting.ticks * dt_s
    times = dt_s * np.arange(-1.0, meeting.ticks + 2)
    waits_s = shape.wait_s + (meeting.ticks - shape.ticks) * dt_s
    flown = shape.flight.at(times - waits_s)[0][:, None]
    # As one follows the other, either is all there is of the height over both ends.
    heights = shape.rise.at(times)[0] * shape.sink.at(lasts_s - times)[0]
    begins, ends = search.begin.at(heights, times), end.at(heights, times - lasts_s)
    rows = begins + flown * (ends - begins)
    positions, velocities = rows[1:-1].copy(), (rows[2:] - rows[:-2]) / (2 * dt_s)
    positions[0], velocities[0] = query.start.position[search.robot.arm], search.begin.drift
    positions[-1], velocities[-1] = end.foot, end.drift
    return Hop(
        positions=positions, velocities=velocities, begins_s=query.now_s, ends_s=query.now_s + meeting.ticks * dt_s
    )


def _strays(search: _Search, hop: Hop) -> bool:
    """Whether half way the hand points, or is, where neither end does: another posture was nearer than a long turn."""
    begin, end = hop.positions[0], hop.positions[-1]
    points, rotations = search.arm.forward(np.stack([begin, (begin + end) / 2, end]), search.query.target.tool_m)
    before, between, after = rotations[:, :, 0]
    apart_m = points[1, 2] - (points[0, 2] + points[2, 2]) / 2
    return bool(between @ (before + after) < 2 * _LEAST_ALIKE or abs(apart_m) > _MOST_APART_M)


def _load(robot: Robot, hop: Hop) -> float:
    """The greatest share of a velocity or acceleration limit that a hop takes."""
    limits, arm = robot.limits, robot.arm
    speed = np.abs(hop.velocities).max(axis=0) / limits.velocity[arm]
    push = np.abs(np.diff(hop.velocities, axis=0)).max(axis=0) / (limits.acceleration[arm] * robot.dt_s)
    return float(max(speed.max(), push.max()))
