"""Ways through the air as paths: the arm's hop with what the jaw does meanwhile, in pieces, bent after a block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graspline.execution.requests import Reply
from graspline.motion.hops import Hop, Ride
from graspline.motion.joint_moves import with_jaw
from graspline.motion.lines import minimum_jerk
from graspline.motion.path import Command, Path, check_path
from graspline.perception.tracks import Tracks
from graspline.robots.robot import Robot
from graspline.tasks.sort.choice import HAND, Catch, ride_of
from graspline.tasks.sort.parameters import Sort

Array = NDArray[np.float64]

# A block within this distance of where it is expected needs no correction; one that is farther off than a correction
# can make good has escaped.
_SAME_M, _SAME_SPEED = 0.0004, 0.01
_CORRECTED_M = 0.03
# Fingers begin to close this long before the hand has come down.
_EARLY_S = 0.05
# A hand that is not quite on a ride gets there in this time.
_CATCH_UP_S = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Going:
    """What is left of a way: to a block, or home where there is none."""

    path: Path
    catch: Catch | None


def to_block(robot: Robot, settings: Sort, start: Command, catch: Catch) -> Going:
    """The way to a block from where nothing is between the fingers."""
    hop, phases = catch.hop, _to_grip(robot, settings, catch)
    path = with_jaw(robot, start, hop.positions, hop.velocities, phases, speed_rad_s=jaw_speed(robot))
    return Going(path=path, catch=catch)


def off_block(robot: Robot, settings: Sort, start: Command, catch: Catch, wide_rad: float, over_m: float) -> Going:
    """The way to a block from around another, which the fingers rise from so far before they close in on the next."""
    path = _rising(robot, start, catch.hop, wide_rad, over_m, _to_grip(robot, settings, catch))
    return Going(path=path, catch=catch)


def off_home(robot: Robot, start: Command, hop: Hop, wide_rad: float, over_m: float) -> Going:
    """The way home from around a block."""
    path = _rising(robot, start, hop, wide_rad, over_m, ((0, float(robot.home[robot.jaw])),))
    return Going(path=path, catch=None)


def holding(robot: Robot, settings: Sort, start: Command, hop: Hop, catch: Catch) -> Path:
    """A hop with a block in the hand."""
    phases = ((0, gripped_rad(robot, settings, catch)),)
    return with_jaw(robot, start, hop.positions, hop.velocities, phases, speed_rad_s=jaw_speed(robot))


def riding(robot: Robot, last: Reply, ride: Ride, rotation: Array, duration_s: float, jaw_rad: float) -> Path | None:
    """Along with a ride for a time, the jaw going to an angle meanwhile; None if it leads out of reach."""
    ticks = max(2, int(np.ceil(duration_s * robot.control_hz)))
    times = last.time_s + robot.dt_s * np.arange(-1.0, ticks + 2)
    here, speed = last.command.position[robot.arm], last.command.velocity[robot.arm]
    rows = HAND.follow(ride.at(times), rotation, here)
    if rows is None:
        return None
    positions, velocities = rows[1:-1].copy(), (rows[2:] - rows[:-2]) / (2 * robot.dt_s)
    late = np.minimum(np.arange(ticks + 1) / (_CATCH_UP_S * robot.control_hz), 1.0)
    fade, rate = 1 - minimum_jerk(late), -30 * late**2 * (1 - late) ** 2 / _CATCH_UP_S
    off, drift = here - positions[0], speed - velocities[0]
    positions += fade[:, None] * off
    velocities += rate[:, None] * off + fade[:, None] * drift
    positions[0], velocities[0] = here, speed
    return with_jaw(robot, last.command, positions, velocities, ((0, jaw_rad),), speed_rad_s=jaw_speed(robot))


def cut(path: Path, ticks: int) -> tuple[Path, Path]:
    """The first `ticks` ticks of a path, and the rest."""
    at = min(ticks, path.ticks)
    first = Path(positions=path.positions[: at + 1], velocities=path.velocities[: at + 1], dt_s=path.dt_s)
    return first, Path(positions=path.positions[at:], velocities=path.velocities[at:], dt_s=path.dt_s)


def corrected(robot: Robot, going: Going, tracks: Tracks, time_s: float) -> Going | None:
    """The same way, bent to where its block is now believed to be; None if that is nowhere, or too far off."""
    catch = going.catch
    assert catch is not None
    track = next((each for each in tracks.alive if each.number == catch.track.number), None)
    if track is None:
        return None
    ends_s = time_s + going.path.duration_s
    was, now = (np.array(each.at(ends_s)) for each in (catch.track, track))
    apart = float(np.hypot(*(now - was)))
    speeds = -catch.track.velocity_m_s[1], -track.velocity_m_s[1]
    if apart <= _SAME_M and abs(speeds[1] - speeds[0]) <= _SAME_SPEED * max(abs(speeds[0]), 0.01):
        return going
    if apart > _CORRECTED_M:
        return None
    bent = _bent(robot, going.path, ride_of(track, catch.grasp), catch, ends_s)
    return None if bent is None else replace(going, path=bent, catch=replace(catch, track=track))


def gripped_rad(robot: Robot, settings: Sort, catch: Catch) -> float:
    """What the jaw is told to hold a block with: less than its width."""
    return float(robot.jaw_law.angle_rad(catch.grasp.width_m)) - settings.grip.squeeze_rad


def jaw_speed(robot: Robot) -> float:
    return 0.95 * float(robot.limits.velocity[robot.jaw])


def _to_grip(robot: Robot, settings: Sort, catch: Catch) -> tuple[tuple[int, float], ...]:
    """Open for a block on the way to it, and begin to close a moment before the hand is there."""
    ticks = len(catch.hop.positions) - 1
    early = max(0, ticks - round(_EARLY_S * robot.control_hz))
    return (0, catch.grasp.open_rad), (early, gripped_rad(robot, settings, catch))


def _rising(
    robot: Robot, start: Command, hop: Hop, wide_rad: float, over_m: float, phases: Sequence[tuple[int, float]]
) -> Path:
    """A way up: the jaw opens wide until the hand has risen so far, then does what the phases say."""
    heights = HAND.forward(hop.positions)[0][:, 2]
    above = heights > heights[0] + over_m
    risen = int(np.argmax(above)) if above.any() else len(heights) - 1
    later = [(max(tick, risen), angle) for tick, angle in phases]
    wide = max(wide_rad, float(start.position[robot.jaw]))
    return with_jaw(robot, start, hop.positions, hop.velocities, ((0, wide), *later), speed_rad_s=jaw_speed(robot))


def _bent(robot: Robot, path: Path, ride: Ride, catch: Catch, ends_s: float) -> Path | None:
    """A path that ends on another ride: the difference is let in smoothly; None if that breaks a limit."""
    dt_s, end = robot.dt_s, path.positions[-1, robot.arm]
    rows = HAND.follow(ride.at(ends_s + dt_s * np.arange(-1.0, 2)), catch.grasp.rotation, end)
    if rows is None:
        return None
    share = np.arange(path.ticks + 1) / path.ticks
    weight, rate = minimum_jerk(share), 30 * share**2 * (1 - share) ** 2 / path.duration_s
    drift = (rows[2] - rows[0]) / (2 * dt_s) - path.velocities[-1, robot.arm]
    offset = rows[1] - end + (share - 1)[:, None] * path.duration_s * drift
    positions, velocities = path.positions.copy(), path.velocities.copy()
    positions[:, robot.arm] += weight[:, None] * offset
    velocities[:, robot.arm] += rate[:, None] * offset + weight[:, None] * drift
    bent = Path(positions=positions, velocities=velocities, dt_s=dt_s)
    return bent if check_path(bent, robot) is None else None
