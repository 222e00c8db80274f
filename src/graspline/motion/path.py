"""A path: the joint reference at the control rate, checked against limits before it is played."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Evidence, at_least, at_most, failures
from graspline.refusal import Refusal
from graspline.robots.robot import JointLimits, Robot

Array = NDArray[np.float64]

# Sampling rounds: a path may exceed a limit by this share before it is refused.
SLACK = 1e-6
# A motion starts where the last one ended, in position and velocity, to this.
CONTINUITY = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """The reference in force at one instant, every joint of the robot, (nu,) each."""

    position: Array
    velocity: Array
    acceleration: Array

    @property
    def moving(self) -> bool:
        """Whether any joint has a velocity."""
        # `ndarray.any` takes several times as long on so few.
        return any(self.velocity.tolist())


def at_rest(position: Array) -> Command:
    """The command that holds a position."""
    zero = np.zeros_like(position)
    return Command(position=position, velocity=zero, acceleration=zero)


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """Position and velocity at T + 1 instants `dt_s` apart, (T + 1, nu) each; row 0 is where it starts."""

    positions: Array
    velocities: Array
    dt_s: float
    # The robot whose limits it was found to keep; from then on its rows cannot be written.
    _kept: Robot | None = field(default=None, init=False, repr=False, compare=False)

    def keeps_limits_of(self, robot: Robot) -> bool:
        """Whether `check_path` has passed it for this robot."""
        return self._kept is robot

    def seal(self, robot: Robot) -> None:
        """Remember that it keeps this robot's limits."""
        self.positions.flags.writeable = self.velocities.flags.writeable = False
        object.__setattr__(self, "_kept", robot)

    @property
    def ticks(self) -> int:
        """The number of control steps."""
        return len(self.positions) - 1

    @property
    def duration_s(self) -> float:
        """How long it takes."""
        return self.ticks * self.dt_s

    @property
    def end(self) -> Array:
        """The joint positions at the end."""
        return self.positions[-1]

    def cut(self, ticks: int) -> tuple[Path, Path]:
        """The first `ticks` ticks, and the rest."""
        at = min(ticks, self.ticks)
        first = Path(positions=self.positions[: at + 1], velocities=self.velocities[: at + 1], dt_s=self.dt_s)
        return first, Path(positions=self.positions[at:], velocities=self.velocities[at:], dt_s=self.dt_s)

    def command_at(self, tick: int) -> Command:
        """The reference after `tick` ticks, its acceleration by central difference; a path ends at rest."""
        acceleration = np.zeros(self.positions.shape[1])
        if 0 < tick < self.ticks:
            acceleration = (self.velocities[tick + 1] - self.velocities[tick - 1]) / (2 * self.dt_s)
        return Command(
            position=self.positions[tick].copy(),
            velocity=self.velocities[tick].copy(),
            acceleration=acceleration,
        )


def controls_of(robot: Robot, positions: Array, velocities: Array) -> Array:
    """The servo law: what is sent to the servos so that the joints follow this reference from each row to the next.

    A servo trails its control, which moreover is held for a whole tick: the control leads by both.
    """
    now, (by_velocity_s, by_change_s) = velocities[:-1], _leads_s(robot)
    controls = positions[:-1] + by_velocity_s * now
    if by_change_s is not None:
        controls += by_change_s * (velocities[1:] - now)
    return controls


@functools.cache
def _leads_s(robot: Robot) -> tuple[Array, Array | None]:
    """By how much of each joint's velocity controls lead, and of its change within a tick, if by that at all."""
    servo, dt_s = robot.servo, robot.dt_s
    return servo.lag_s + dt_s / 2, servo.lag_s2(dt_s) / dt_s if servo.led_by_acceleration else None


def check_path(path: Path, robot: Robot) -> Refusal | None:
    """Every sample inside range, velocity and acceleration limits, or what breaks which limit by how much."""
    if path.keeps_limits_of(robot):
        return None
    if not _keeps_limits(path, robot):
        return _refusal(path, robot)
    path.seal(robot)
    return None


def seal_kept(paths: Sequence[Path], robot: Robot) -> None:
    """Check paths of one robot all at once and seal those that keep its limits, as `check_path` does one by one."""
    whole = Path(
        positions=np.concatenate([path.positions for path in paths]),
        velocities=np.concatenate([path.velocities for path in paths]),
        dt_s=robot.dt_s,
    )
    ends = list(itertools.accumulate(len(path.positions) for path in paths))
    alike = all(path.dt_s == robot.dt_s for path in paths)
    if alike and _keeps_limits(whole, robot, seams=[end - 1 for end in ends[:-1]]):
        for path in paths:
            path.seal(robot)
    else:
        for path in paths:
            check_path(path, robot)


def _keeps_limits(path: Path, robot: Robot, seams: Sequence[int] = ()) -> bool:
    """Whether it keeps every limit; a step from one of the `seams` to the row behind it is none."""
    limits, velocities = robot.limits, path.velocities
    fast = limits.velocity * (1 + SLACK)
    if not keeps_range(path.positions, limits) or not _all(np.abs(velocities) <= fast):
        return False
    changes, jumps = velocities[1:] - velocities[:-1], _jumps(path)
    if seams:
        changes[seams] = jumps[seams] = 0.0
    hard = limits.acceleration * (path.dt_s * (1 + SLACK))
    return _all(np.abs(changes) <= hard) and _all(np.abs(jumps) <= limits.acceleration * _jump_s2(path))


def check_corners(path: Path, robot: Robot) -> Refusal | None:
    """Every sample inside range and every step inside velocity limits; how corners are taken is left to the servos."""
    limits, positions = robot.limits, path.positions
    speeds = np.abs(positions[1:] - positions[:-1]) / path.dt_s
    if keeps_range(positions, limits) and _all(speeds <= limits.velocity * (1 + SLACK)):
        return None
    return Refusal(check="limits", evidence=failures(_range_and_speed(positions, speeds.max(axis=0), robot)))


def _jumps(path: Path) -> Array:
    """How far each step of the positions, (T, nu), differs from what the velocities say."""
    steps = path.positions[1:] - path.positions[:-1]
    return steps - (path.velocities[1:] + path.velocities[:-1]) * (0.5 * path.dt_s)


def _jump_s2(path: Path) -> float:
    # Velocities by differences of a sampled line are off by a share of what acceleration does in a tick.
    return 0.5 * path.dt_s * path.dt_s


def _all(flags: NDArray[np.bool_]) -> bool:
    """Whether all flags are set; `ndarray.all` takes several times as long on arrays this small."""
    return b"\x00" not in flags.tobytes()


def _range_and_speed(positions: Array, speed: Array, robot: Robot) -> Evidence:
    """Joint by joint; `speed` is the highest of each, (nu,)."""
    limits, low, high = robot.limits, positions.min(axis=0), positions.max(axis=0)
    found = []
    for i, name in enumerate(robot.joints):
        found += [
            at_least(f"{name} position", low[i], limits.lower[i], "rad"),
            at_most(f"{name} position", high[i], limits.upper[i], "rad"),
            at_most(f"{name} velocity", speed[i], limits.velocity[i] * (1 + SLACK), "rad/s"),
        ]
    return tuple(found)


def _refusal(path: Path, robot: Robot) -> Refusal:
    limits = robot.limits
    accelerations = np.diff(path.velocities, axis=0) / path.dt_s
    speed = np.abs(path.velocities).max(axis=0)
    push = np.abs(accelerations).max(axis=0) if len(accelerations) else np.zeros_like(speed)
    hard = tuple(
        at_most(f"{name} acceleration", push[i], limits.acceleration[i] * (1 + SLACK), "rad/s²")
        for i, name in enumerate(robot.joints)
    )
    broken = failures((*_range_and_speed(path.positions, speed, robot), *hard))
    if not broken:
        # Velocities that break a limit mostly contradict the positions, too; alone, a jump is the news.
        jump = np.abs(_jumps(path)).max(axis=0)
        bounds = limits.acceleration * _jump_s2(path)
        broken = failures(
            tuple(at_most(f"{name} jump", jump[i], bounds[i], "rad") for i, name in enumerate(robot.joints))
        )
    return Refusal(check="limits", evidence=broken)


def keeps_range(positions: Array, limits: JointLimits) -> bool:
    """Whether all positions, (…, nu), are inside the joints' range; what is not a number is not."""
    return _all((positions >= limits.lower) & (positions <= limits.upper))


def keeps_rates(velocities: Array, limits: JointLimits, dt_s: float) -> bool:
    """Whether velocity and acceleration limits hold on every sample, (T + 1, nu), so far apart."""
    change = limits.acceleration * (dt_s * (1 + SLACK))
    return _all(np.abs(velocities) <= limits.velocity * (1 + SLACK)) and _all(
        np.abs(velocities[1:] - velocities[:-1]) <= change
    )


def within_rates(velocities: Array, limits: JointLimits, dt_s: float) -> NDArray[np.bool_]:
    """At which samples, (T + 1,), velocity limits hold, and acceleration limits on the way there."""
    within = np.all(np.abs(velocities) <= limits.velocity * (1 + SLACK), axis=1)
    change = limits.acceleration * (dt_s * (1 + SLACK))
    within[1:] &= np.all(np.abs(velocities[1:] - velocities[:-1]) <= change, axis=1)
    return within


def load_factor(path: Path, limits: JointLimits) -> float:
    """By how much time must be stretched for the path to keep velocity and acceleration limits (1 or less: it does)."""
    speed = (np.abs(path.velocities).max(axis=0) / limits.velocity).max()
    if path.ticks == 0:
        return float(speed)
    push = (np.abs(np.diff(path.velocities, axis=0)).max(axis=0) / path.dt_s / limits.acceleration).max()
    return float(max(speed, np.sqrt(push)))
