"""Ways through the air as paths: the arm's hop with what the jaw does meanwhile, bent after a block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graspline.execution.requests import Reply
from graspline.motion.hops import Hop
from graspline.motion.joint_moves import with_jaw
from graspline.motion.path import Command, Path
from graspline.motion.rides import bent_to, ride_along
from graspline.perception.tracks import Tracks
from graspline.tasks.sort.cell import Cell, Departure
from graspline.tasks.sort.choice import Catch, ride_of

Array = NDArray[np.float64]

# A block within this distance of where it is expected needs no correction; one that is farther off than a correction
# can make good has escaped.
_SAME_M, _SAME_SPEED = 0.0004, 0.01
_CORRECTED_M = 0.03
# Fingers begin to close this long before the hand has come down.
_EARLY_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Going:
    """What is left of a way: to a block, or home where there is none."""

    path: Path
    catch: Catch | None


def to_block(cell: Cell, begin: Departure, catch: Catch) -> Going:
    """The way to a block, opening for it and beginning to close a moment before the hand is there."""
    early = max(0, len(catch.hop.positions) - 1 - round(_EARLY_S * cell.robot.control_hz))
    phases = ((0, catch.grasp.open_rad), (early, gripped_rad(cell, catch)))
    return Going(path=_rising(cell, begin, catch.hop, phases), catch=catch)


def to_home(cell: Cell, begin: Departure, hop: Hop) -> Going:
    return Going(path=_rising(cell, begin, hop, ((0, float(cell.robot.home[cell.robot.jaw])),)), catch=None)


def holding(cell: Cell, begin: Departure, hop: Hop, catch: Catch) -> Path:
    """A hop with a block in the hand."""
    return _with_jaw(cell, begin.start, hop.positions, hop.velocities, ((0, gripped_rad(cell, catch)),))


def riding(cell: Cell, last: Reply, catch: Catch, duration_s: float) -> Path | None:
    """Along with a block for a time, the jaw closing on it meanwhile; None if it leads out of reach."""
    ticks, ride = max(2, int(np.ceil(duration_s * cell.robot.control_hz))), ride_of(cell, catch.track, catch.grasp)
    found = ride_along(cell.robot, last.command, last.time_s, ride, ticks)
    return None if found is None else _with_jaw(cell, last.command, *found, ((0, gripped_rad(cell, catch)),))


def corrected(cell: Cell, going: Going, tracks: Tracks, time_s: float) -> Going | None:
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
    catch = replace(catch, track=track)
    bent = bent_to(cell.robot, going.path, ride_of(cell, track, catch.grasp), ends_s)
    return None if bent is None else replace(going, path=bent, catch=catch)


def gripped_rad(cell: Cell, catch: Catch) -> float:
    """The jaw command that holds a block: narrower than its width."""
    return catch.grasp.touch_rad - cell.settings.grip.squeeze_rad * cell.robot.jaw_unit


def _with_jaw(
    cell: Cell, start: Command, positions: Array, velocities: Array, phases: Sequence[tuple[int, float]]
) -> Path:
    return with_jaw(cell.robot, start, positions, velocities, phases, speed_rad_s=cell.jaw_speed)


def _rising(cell: Cell, begin: Departure, hop: Hop, phases: Sequence[tuple[int, float]]) -> Path:
    """A hop on which the jaw opens wide until the hand is above what it leaves, then does what the phases say."""
    if begin.leaving:
        heights = cell.tool(hop.positions)[0][:, 2]
        above = heights > heights[0] + begin.over_m
        risen = int(np.argmax(above)) if above.any() else len(heights) - 1
        wide = max(begin.wide_rad, float(begin.start.position[cell.robot.jaw]))
        phases = ((0, wide), *((max(tick, risen), angle) for tick, angle in phases))
    return _with_jaw(cell, begin.start, hop.positions, hop.velocities, phases)
