"""Moves in joint space: jerk-limited point to point, jaw ramps, holds and brakes, from any command."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import ruckig
from numpy.typing import NDArray

from graspline.errors import WiringError
from graspline.motion.path import Command, Path, at_rest, keeps_range
from graspline.robots.robot import JointLimits, Robot

Array = NDArray[np.float64]

# Sampled velocity changes average the acceleration over a tick, so staying under the limit in continuous time is
# enough; the margin covers rounding of the last tick.
_MARGIN = 0.999
# A sampled path's acceleration is known by differences only, so a move that takes over close to a limit may pass it by
# this much: what is left of a tick's jerk. It is held at the limit instead.
_HAIR_RAD = 1e-3


def joint_move(robot: Robot, start: Command, target: Array, *, speed: float | Array = 1.0) -> Path:
    """From any command to rest at `target`; `speed` is the share of each joint's velocity limit, (nu,) or one."""
    limits = robot.limits
    request = _request(robot, start)
    request.target_position = target.tolist()
    request.target_velocity = [0.0] * len(target)
    request.target_acceleration = [0.0] * len(target)
    # A start faster than the slower limit asked for is allowed: it is slowed down from there.
    velocity = np.maximum(speed * limits.velocity * _MARGIN, np.minimum(np.abs(start.velocity), limits.velocity))
    request.max_velocity = velocity.tolist()
    moving = start.moving
    try:
        path = _sample(robot, request, target)
    except WiringError:
        if not moving:
            raise
    else:
        if not moving or keeps_range(path.positions, robot.limits):
            return path
    # Joints that wait for slower ones may swing out beyond a limit they were heading for, and one about to arrive may
    # have no synchronised profile to rounding; from rest they do not.
    stop = brake(robot, start)
    return join(stop, joint_move(robot, at_rest(stop.end), target, speed=speed))


def brake(robot: Robot, start: Command) -> Path:
    """From any command to rest as soon as limits allow, all joints together so that the hand keeps its direction."""
    request = _request(robot, start)
    request.control_interface = ruckig.ControlInterface.Velocity
    # Whole ticks would be a later stop than limits allow, and ruckig fails where less than one is left.
    request.duration_discretization = ruckig.DurationDiscretization.Continuous
    request.target_velocity = [0.0] * len(start.position)
    request.target_acceleration = [0.0] * len(start.position)
    try:
        together = _sample(robot, request, None)
    except WiringError:
        together = None
    if together is not None and keeps_range(together.positions, robot.limits):
        return together
    # A joint about to reach its limit does not wait for the others; and to rounding they may have no common stop.
    request.synchronization = ruckig.Synchronization.No
    return _sample(robot, request, None)


def jaw_move(robot: Robot, start: Command, jaw_rad: float, *, speed_rad_s: float) -> Path:
    """Only the jaw moves, at most this fast; the arm comes to rest where its command ends.

    A jaw that slides goes as fast as one that swings by the given angle; see `Robot.jaw_unit`.
    """
    jaw, limits = robot.jaw, robot.limits
    angle = min(max(float(jaw_rad), float(limits.lower[jaw])), float(limits.upper[jaw]))
    share = min(speed_rad_s * robot.jaw_unit / float(limits.velocity[jaw]), 1.0)
    if start.velocity[robot.arm].any() or start.acceleration[robot.arm].any():
        target, shares = start.position.copy(), np.ones(len(start.position))
        target[jaw], shares[jaw] = angle, share
        return joint_move(robot, start, target, speed=shares)
    # One joint's move takes a fraction of the time to plan that all of them take.
    only = slice(jaw, jaw + 1)
    begin = Command(position=start.position[only], velocity=start.velocity[only], acceleration=start.acceleration[only])
    alone = joint_move(_jaw_alone(robot), begin, np.array([angle]), speed=share)
    positions = np.empty((len(alone.positions), len(start.position)))
    positions[:] = start.position
    velocities = np.zeros(positions.shape)
    positions[:, only], velocities[:, only] = alone.positions, alone.velocities
    return Path(positions=positions, velocities=velocities, dt_s=robot.dt_s)


def with_jaw(
    robot: Robot,
    start: Command,
    positions: Array,
    velocities: Array,
    phases: Sequence[tuple[int, float]],
    *,
    speed_rad_s: float,
) -> Path:
    """A path of the arm, (T + 1, n) each, while the jaw goes to one angle after the other, each from its tick on.

    What it has not reached when the next one is due, or the path ends, it does not reach.
    """
    jaw, command = robot.jaw, _only_jaw(robot, start)
    angles, rates = np.full(len(positions), start.position[jaw]), np.zeros(len(positions))
    for tick, angle in phases:
        if 0 < tick < len(angles):
            command = _jaw_at(robot, start, angles, rates, tick)
        alone = jaw_move(robot, command, angle, speed_rad_s=speed_rad_s)
        rows = np.minimum(np.arange(len(angles) - tick), alone.ticks)
        angles[tick:], rates[tick:] = alone.positions[rows, jaw], alone.velocities[rows, jaw]
    return Path(
        positions=np.column_stack([positions, angles]),
        velocities=np.column_stack([velocities, rates]),
        dt_s=robot.dt_s,
    )


def _jaw_at(robot: Robot, start: Command, angles: Array, rates: Array, tick: int) -> Command:
    """An arm at rest whose jaw moves as it does at this tick."""
    position, velocity, acceleration = (np.zeros_like(start.position) for _ in range(3))
    position[:], position[robot.jaw] = start.position, angles[tick]
    velocity[robot.jaw] = rates[tick]
    later = min(tick + 1, len(rates) - 1)
    acceleration[robot.jaw] = (rates[later] - rates[tick - 1]) / (2 * robot.dt_s)
    return Command(position=position, velocity=velocity, acceleration=acceleration)


def _only_jaw(robot: Robot, start: Command) -> Command:
    """The same command with an arm at rest."""
    velocity, acceleration = np.zeros_like(start.velocity), np.zeros_like(start.acceleration)
    velocity[robot.jaw], acceleration[robot.jaw] = start.velocity[robot.jaw], start.acceleration[robot.jaw]
    return Command(position=start.position, velocity=velocity, acceleration=acceleration)


@functools.cache
def _jaw_alone(robot: Robot) -> Robot:
    """The jaw as if it were all there is."""
    only = slice(robot.jaw, robot.jaw + 1)
    limits = JointLimits(
        lower=robot.limits.lower[only],
        upper=robot.limits.upper[only],
        velocity=robot.limits.velocity[only],
        acceleration=robot.limits.acceleration[only],
        jerk=robot.limits.jerk[only],
    )
    return replace(robot, joints=robot.joints[only], jaw=0, limits=limits)


def hold(robot: Robot, start: Command, duration_s: float) -> Path:
    """Stand still for a time, after coming to rest."""
    stop = brake(robot, start) if start.moving else None
    at = start.position if stop is None else stop.end
    positions = np.empty((max(1, round(duration_s * robot.control_hz)) + 1, len(at)))
    positions[:] = at
    still = Path(positions=positions, velocities=np.zeros(positions.shape), dt_s=robot.dt_s)
    if stop is not None:
        return join(stop, still)
    if keeps_range(at, robot.limits):
        # All rows are this one.
        still.seal(robot)
    return still


def ramp(robot: Robot, start: Array, target: Array, ticks: int, velocity: Array | None = None) -> Path:
    """Straight to a target in `ticks` ticks, or as far towards it as range and speed limits let each joint come.

    It has corners: the velocity is the slope from the first row on, and nothing at the end, so that what takes over
    starts from rest. Servos that are led by the acceleration would be commanded to brake in the last tick of every
    ramp. Theirs changes from the `velocity` before (at rest if it is left out) to the slope within the first tick, and
    stays so: one ramp after another is then one reference, which gives the same controls when it is played from a log.
    """
    limits, duration_s = robot.limits, ticks * robot.dt_s
    reach = limits.velocity * duration_s
    end = target.clip(limits.lower, limits.upper).clip(start - reach, start + reach)
    step = end - start
    positions = start + step * _shares(ticks)
    positions[-1] = end
    velocities = np.empty(positions.shape)
    velocities[:] = step / duration_s
    if robot.servo.led_by_acceleration:
        velocities[0] = 0.0 if velocity is None else velocity
    else:
        velocities[-1] = 0.0
    return Path(positions=positions, velocities=velocities, dt_s=robot.dt_s)


@functools.cache
def _shares(ticks: int) -> Array:
    """(ticks + 1, 1): which share of a way is done after each tick."""
    return (np.arange(ticks + 1) / ticks)[:, None]


def join(first: Path, second: Path) -> Path:
    """One path after the other; the second must start where the first ends."""
    return Path(
        positions=np.concatenate([first.positions, second.positions[1:]]),
        velocities=np.concatenate([first.velocities, second.velocities[1:]]),
        dt_s=first.dt_s,
    )


def _request(robot: Robot, start: Command) -> ruckig.InputParameter:
    velocity, acceleration, jerk = _limit_lists(robot)
    request = ruckig.InputParameter(len(start.position))
    request.current_position = start.position.tolist()
    if start.moving or start.acceleration.any():
        limits, bound = robot.limits, np.array(acceleration)
        request.current_velocity = np.clip(start.velocity, -limits.velocity, limits.velocity).tolist()
        # An acceleration can be taken over only as far as jerk can still remove it before the velocity limit.
        room = np.sqrt(2 * limits.jerk * np.maximum(limits.velocity * _MARGIN - np.abs(start.velocity), 0.0))
        takeover = np.minimum(bound, np.where(start.acceleration * start.velocity > 0, room, bound))
        request.current_acceleration = np.clip(start.acceleration, -takeover, takeover).tolist()
    request.max_velocity = velocity
    request.max_acceleration = acceleration
    request.max_jerk = jerk
    # The arrival falls on a tick.
    request.duration_discretization = ruckig.DurationDiscretization.Discrete
    return request


@functools.cache
def _limit_lists(robot: Robot) -> tuple[list[float], list[float], list[float]]:
    """Velocity, acceleration and jerk limits as ruckig takes them."""
    limits = robot.limits
    return (limits.velocity * _MARGIN).tolist(), (limits.acceleration * _MARGIN).tolist(), limits.jerk.tolist()


@functools.cache
def _generator(robot: Robot) -> ruckig.Ruckig:
    return ruckig.Ruckig(len(robot.joints), robot.dt_s)


def _sample(robot: Robot, request: ruckig.InputParameter, target: Array | None) -> Path:
    joints = len(request.current_position)
    trajectory = ruckig.Trajectory(joints)
    try:
        result = _generator(robot).calculate(request, trajectory)
    except ruckig.RuckigError as error:
        raise WiringError(f"no joint move from {request.current_position} to {target}: {error}") from error
    if result not in (ruckig.Result.Working, ruckig.Result.Finished):
        raise WiringError(f"no joint move from {request.current_position} to {target}: {result.name}")
    dt_s, at_time = robot.dt_s, trajectory.at_time
    rows = max(1, math.ceil(trajectory.duration / dt_s - 1e-6)) + 1
    instants = (at_time(row * dt_s) for row in range(rows))
    # One flat stream of numbers is read in half the time of as many nested lists.
    numbers = itertools.chain.from_iterable(position + velocity for position, velocity, _ in instants)
    found = np.fromiter(numbers, float, rows * 2 * joints).reshape(rows, 2, joints)
    positions, velocities = found[:, 0].copy(), found[:, 1].copy()
    _keep_inside(robot, positions, velocities)
    # The rows the next path starts from are exact: the command it left, and rest at the target.
    positions[0], velocities[0] = request.current_position, request.current_velocity
    velocities[-1] = 0.0
    if target is not None:
        positions[-1] = target
    return Path(positions=positions, velocities=velocities, dt_s=robot.dt_s)


def _keep_inside(robot: Robot, positions: Array, velocities: Array) -> None:
    """Hold at the limit what would pass it by a hair."""
    if keeps_range(positions, robot.limits):
        return
    inside = np.clip(positions, robot.limits.lower, robot.limits.upper)
    over = positions != inside
    if over.any() and np.abs(positions - inside).max() <= _HAIR_RAD:
        positions[over], velocities[over] = inside[over], 0.0
