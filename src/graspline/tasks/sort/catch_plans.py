"""Which block is next, and how the hand gets to it, to a bin, or home: whole plans, checked before anything moves.

A plan is a hop of the arm; the way that is gone is that hop with what the jaw does meanwhile, bent after a block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graspline.execution.requests import Reply
from graspline.grasping.candidates import Grasp
from graspline.kinematics.arm import straight_down
from graspline.motion.belt_rides import Ride, bent_to, ride_along
from graspline.motion.belt_transfers import Clearance, Hop, HopQuery, plan_hop
from graspline.motion.joint_moves import with_jaw
from graspline.motion.path import Command, Path
from graspline.perception.belt.tracks import BlockTrack, Tracks
from graspline.refusal import Refusal
from graspline.scenes.belt_line import OUTPUTS
from graspline.tasks.sort.cell import Departure, SortCell
from graspline.tasks.sort.hand_poses import (
    DOWNSTREAM_M,
    HOME_YAW_RAD,
    HOP_M,
    UPSTREAM_M,
    grasps_of,
    landing,
    tool_height_m,
    tool_point_m,
)
from graspline.tasks.sort.parameters import Sort

Array = NDArray[np.float64]

# After a meeting it takes so long until the block is off the belt.
_TAKING_S = 0.5
# A block that comes into reach later than this is not waited for: there is time to look around.
_SOON_S = 0.9
# Where blocks are let go, along x, on every output belt.
DROP_M = 0.26
# How far over a bin the hand may be turned from home's heading, in which it leaves a block along its fingers.
_DROP_TURN_RAD = 0.6
# About how long a block takes to be gripped, and to be let go.
_GRIP_S, _DROP_S = 0.14, 0.12
# Above this height nothing on the belts is in the way of the hand.
_HIGH_M = 0.2
# How the hand gets away from where it is unknown what is between its fingers.
LEAVING_ANYTHING = (Clearance(height_m=0.05, along_m=0.006, across_m=0.03),)
_OVER_BIN = (Clearance(height_m=0.01, along_m=0.02, across_m=0.02),)
# A block within this distance of where it is expected needs no correction; one that is farther off than a correction
# can make good has escaped.
_SAME_M, _SAME_SPEED = 0.0004, 0.01
_CORRECTED_M = 0.03
# Fingers begin to close this long before the hand has come down.
_EARLY_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Catch:
    """A block that is gone for, how it is taken with what room around the fingers, and the hop to it."""

    track: BlockTrack
    grasp: Grasp
    room_m: float
    hop: Hop


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What to go for, if anything, and why each of the others is not gone for, by track."""

    catch: Catch | None
    refused: tuple[tuple[int, str], ...]


def plan_next(cell: SortCell, begin: Departure, tracks: Tracks) -> Choice:
    """The block to go for now."""
    refused: list[tuple[int, str]] = []
    catches: list[Catch] = []
    settings = cell.settings
    line = downstream_first(tracks, settings)
    ahead = settings.order.ahead if settings.order.rule == "planned" else 1
    for track in line:
        found = plan_catch(cell, begin, tracks, track)
        if isinstance(found, Catch):
            catches.append(found)
        else:
            refused.append((track.number, found))
        if len(catches) == ahead:
            break
    if len(catches) > 1:
        catches.sort(key=lambda each: _worth(each, line, settings), reverse=True)
    return Choice(catch=catches[0] if catches else None, refused=tuple(refused))


def _worth(catch: Catch, line: list[BlockTrack], settings: Sort) -> tuple[int, float]:
    """How many blocks are caught if this one is first and the rest as they leave, and how soon that is done."""
    at_rad, time_s = _bin_rad(catch.track, settings), catch.hop.ends_s + _GRIP_S
    time_s += _flight_s(_pan_rad(catch.track, time_s) - at_rad) + _DROP_S
    caught = 1
    for track in line:
        window = _window(track, time_s)
        if track.number == catch.track.number or window is None:
            continue
        meets_s = max(time_s + _flight_s(_pan_rad(track, time_s) - at_rad), window[0])
        if meets_s <= window[1]:
            caught += 1
            at_rad = _bin_rad(track, settings)
            time_s = meets_s + _GRIP_S + _flight_s(_pan_rad(track, meets_s) - at_rad) + _DROP_S
    return caught, -time_s


def _pan_rad(track: BlockTrack, time_s: float) -> float:
    x, y = track.at(time_s)
    return float(np.arctan2(y, x))


def _bin_rad(track: BlockTrack, settings: Sort) -> float:
    return float(np.arctan2(OUTPUTS[settings.rules.its_bin(track.colour)], DROP_M))


def _flight_s(turn_rad: float) -> float:
    """About how long a hop takes by which the arm turns so far, at default limits."""
    return 0.45 + 0.3 * abs(turn_rad)


def downstream_first(tracks: Tracks, settings: Sort) -> list[BlockTrack]:
    """Blocks that go into a bin, the one that leaves first at the head."""
    wanted = [each for each in tracks.alive if settings.rules.bin_for(each.colour) is not None and not each.missing]
    return sorted(wanted, key=lambda each: each.y_m * np.sign(tracks.speed_m_s or 1.0))


def plan_catch(cell: SortCell, begin: Departure, tracks: Tracks, track: BlockTrack) -> Catch | str:
    """The hop that catches a block first, or why there is none."""
    robot, grip, now_s = cell.robot, cell.settings.grip, begin.now_s
    window = _window(track, now_s)
    if window is None:
        return "late"
    if window[0] - now_s > _SOON_S:
        return "not_yet"
    best: Catch | None = None
    reason = "crowded"
    for grasp, room in grasps_of(robot, track, tracks.alive, now_s, grip):
        found = _hop(
            cell,
            begin,
            ride_of(cell, track, grasp),
            rise_m=0.0 if is_high(cell, begin.start) else _hop_m(cell),
            sink_m=_hop_m(cell),
            landing=landing(grasp, room, grip, track.sigma_at(now_s)),
            not_before_s=window[0],
            until_s=window[1],
        )
        if isinstance(found, Refusal):
            reason = "late" if found.check == "leaves_first" else "unreachable"
        elif best is None or found.ends_s < best.hop.ends_s:
            best = Catch(track=track, grasp=grasp, room_m=room, hop=found)
    if best is None:
        return reason
    return best if is_free(cell, best.hop.positions) else "blocked"


def _window(track: BlockTrack, now_s: float) -> tuple[float, float] | None:
    """From when until when a block can be met; None if it is past."""
    speed, (_, y) = -track.velocity_m_s[1], track.at(now_s)
    if abs(speed) > 1e-3:
        enters_m, leaves_m = (UPSTREAM_M, DOWNSTREAM_M) if speed > 0 else (DOWNSTREAM_M, UPSTREAM_M)
        begins, ends = now_s + (y - enters_m) / speed, now_s + (y - leaves_m) / speed - _TAKING_S
    else:
        begins, ends = (now_s, np.inf) if DOWNSTREAM_M <= y <= UPSTREAM_M else (np.inf, np.inf)
    return (max(begins, now_s), ends) if ends > now_s else None


def ride_of(cell: SortCell, track: BlockTrack, grasp: Grasp) -> Ride:
    """Where the tool has to be to take a block."""
    return Ride(
        point_m=np.array([track.x_m, track.y_m, tool_height_m(cell.robot, grasp, cell.settings.grip.tip_m)]),
        velocity_m_s=np.array([*track.velocity_m_s, 0.0]),
        time_s=track.time_s,
        rotation=straight_down(grasp.yaw_rad),
        tool_m=tool_point_m(cell.robot, grasp),
    )


def plan_home(cell: SortCell, begin: Departure) -> Hop | Refusal:
    """The way home, at rest there."""
    (point,), (rotation,) = cell.tool(cell.robot.home[None])
    home = Ride(point_m=point, velocity_m_s=np.zeros(3), time_s=begin.now_s, rotation=rotation, tool_m=cell.tool_m)
    rise_m = 0.0 if is_high(cell, begin.start) else cell.settings.motion.hop_m
    return _hop(cell, begin, home, rise_m=rise_m, sink_m=0.0)


def plan_carry(cell: SortCell, begin: Departure, catch: Catch) -> Hop | Refusal:
    """From where a block was gripped to over its bin."""
    grip, grasp = cell.settings.grip, catch.grasp
    y = OUTPUTS[cell.settings.rules.its_bin(catch.track.colour)]
    point = np.array([DROP_M, y, tool_height_m(cell.robot, grasp, grip.tip_m + grip.release_m)])
    over_bin = Ride(
        point_m=point,
        velocity_m_s=np.zeros(3),
        time_s=begin.now_s,
        rotation=straight_down(_drop_yaw(cell, begin.start, point, grasp)),
        tool_m=tool_point_m(cell.robot, grasp),
    )
    found = _hop(cell, begin, over_bin, rise_m=_hop_m(cell), sink_m=_hop_m(cell), landing=_OVER_BIN)
    if isinstance(found, Hop) and not is_free(cell, found.positions):
        return Refusal(check="collision")
    return found


def _hop(cell: SortCell, begin: Departure, target: Ride, **more: Any) -> Hop | Refusal:
    scaling, leaving = cell.settings.motion.scaling, begin.leaving
    query = HopQuery(start=begin.start, now_s=begin.now_s, target=target, leaving=leaving, scaling=scaling, **more)
    return plan_hop(cell.robot, query)


def _hop_m(cell: SortCell) -> float:
    return max(cell.settings.motion.hop_m, HOP_M)


def _drop_yaw(cell: SortCell, start: Command, point_m: Array, grasp: Grasp) -> float:
    """How the hand is turned over a bin: as far as may be like the arm turns anyway, so that the wrist need not."""
    here = cell.tool(start.position[None])[0][0]
    turn = float(np.arctan2(point_m[1], point_m[0]) - np.arctan2(here[1], here[0]))
    return float(np.clip(grasp.yaw_rad + turn, HOME_YAW_RAD - _DROP_TURN_RAD, HOME_YAW_RAD + _DROP_TURN_RAD))


def leaving_bin(grasp: Grasp) -> tuple[Clearance, ...]:
    """How the open hand gets off a block that it has let go."""
    return (Clearance(height_m=grasp.standoff_m, along_m=0.008, across_m=0.1),)


def is_high(cell: SortCell, start: Command) -> bool:
    """Whether the tool is above everything on the belt."""
    return bool(cell.tool(start.position[None])[0][0, 2] > _HIGH_M)


def is_free(cell: SortCell, positions: Array) -> bool:
    """Whether the arm touches no furniture on its way."""
    robot, world = cell.robot, cell.world
    rows = np.column_stack([positions, np.full(len(positions), robot.home[robot.jaw])])
    world.place(())
    return world.first_collision(world.samples(rows)) is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Going:
    """What is left of a way: to a block, or home where there is none."""

    path: Path
    catch: Catch | None


def to_block(cell: SortCell, begin: Departure, catch: Catch) -> Going:
    """The way to a block, opening for it and beginning to close a moment before the hand is there."""
    early = max(0, len(catch.hop.positions) - 1 - round(_EARLY_S * cell.robot.control_hz))
    phases = ((0, catch.grasp.open_rad), (early, gripped_rad(cell, catch)))
    return Going(path=_rising(cell, begin, catch.hop, phases), catch=catch)


def to_home(cell: SortCell, begin: Departure, hop: Hop) -> Going:
    """The way home."""
    return Going(path=_rising(cell, begin, hop, ((0, float(cell.robot.home[cell.robot.jaw])),)), catch=None)


def holding(cell: SortCell, begin: Departure, hop: Hop, catch: Catch) -> Path:
    """A hop with a block in the hand."""
    return _with_jaw(cell, begin.start, hop.positions, hop.velocities, ((0, gripped_rad(cell, catch)),))


def riding(cell: SortCell, last: Reply, catch: Catch, duration_s: float) -> Path | None:
    """Along with a block for a time, the jaw closing on it meanwhile; None if it leads out of reach."""
    ticks, ride = max(2, int(np.ceil(duration_s * cell.robot.control_hz))), ride_of(cell, catch.track, catch.grasp)
    found = ride_along(cell.robot, last.command, last.time_s, ride, ticks)
    return None if found is None else _with_jaw(cell, last.command, *found, ((0, gripped_rad(cell, catch)),))


def corrected(cell: SortCell, going: Going, tracks: Tracks, time_s: float) -> Going | None:
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


def gripped_rad(cell: SortCell, catch: Catch) -> float:
    """The jaw command that holds a block: narrower than its width."""
    return catch.grasp.touch_rad - cell.settings.grip.squeeze_rad * cell.robot.jaw_unit


def _with_jaw(
    cell: SortCell, start: Command, positions: Array, velocities: Array, phases: Sequence[tuple[int, float]]
) -> Path:
    return with_jaw(cell.robot, start, positions, velocities, phases, speed_rad_s=cell.jaw_speed)


def _rising(cell: SortCell, begin: Departure, hop: Hop, phases: Sequence[tuple[int, float]]) -> Path:
    """A hop on which the jaw opens wide until the hand is above what it leaves, then does what the phases say."""
    if begin.leaving:
        heights = cell.tool(hop.positions)[0][:, 2]
        above = heights > heights[0] + begin.over_m
        risen = int(np.argmax(above)) if above.any() else len(heights) - 1
        wide = max(begin.wide_rad, float(begin.start.position[cell.robot.jaw]))
        phases = ((0, wide), *((max(tick, risen), angle) for tick, angle in phases))
    return _with_jaw(cell, begin.start, hop.positions, hop.velocities, phases)
