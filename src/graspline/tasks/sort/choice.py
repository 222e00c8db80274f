"""Which block is next, and how the hand gets to it, to a bin, or home: whole plans, checked before anything moves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.kinematics.following import Ur5eHand
from graspline.kinematics.ur5e import straight_down
from graspline.motion.hops import Clearance, Hop, HopQuery, Ride, plan_hop
from graspline.motion.path import Command
from graspline.perception.tracks import Track, Tracks
from graspline.planning.collision import CollisionWorld
from graspline.refusal import Refusal
from graspline.robots.robot import Robot
from graspline.scenes.belt_line import OUTPUTS
from graspline.tasks.sort.hand import DOWNSTREAM_M, HOME_YAW_RAD, UPSTREAM_M, Grasp, grasps_of, tool_height_m
from graspline.tasks.sort.parameters import Sort

Array = NDArray[np.float64]

HAND = Ur5eHand()
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Catch:
    """A block that is gone for, how it is taken, and the hop to it."""

    track: Track
    grasp: Grasp
    hop: Hop


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What to go for, if anything, and why each of the others is not gone for, by track."""

    catch: Catch | None
    refused: tuple[tuple[int, str], ...]


def plan_next(
    robot: Robot,
    world: CollisionWorld,
    settings: Sort,
    start: Command,
    now_s: float,
    tracks: Tracks,
    leaving: tuple[Clearance, ...],
) -> Choice:
    """The block to go for now."""
    refused: list[tuple[int, str]] = []
    catches: list[Catch] = []
    line = downstream_first(tracks, settings)
    ahead = settings.order.ahead if settings.order.rule == "planned" else 1
    for track in line:
        found = plan_catch(robot, world, settings, start, now_s, tracks, track, leaving)
        if isinstance(found, Catch):
            catches.append(found)
        else:
            refused.append((track.number, found))
        if len(catches) == ahead:
            break
    if len(catches) > 1:
        catches.sort(key=lambda each: _worth(each, line, settings), reverse=True)
    return Choice(catch=catches[0] if catches else None, refused=tuple(refused))


def _worth(catch: Catch, line: list[Track], settings: Sort) -> tuple[int, float]:
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


def _pan_rad(track: Track, time_s: float) -> float:
    x, y = track.at(time_s)
    return float(np.arctan2(y, x))


def _bin_rad(track: Track, settings: Sort) -> float:
    name = settings.rules.bin_for(track.colour)
    assert name is not None
    return float(np.arctan2(OUTPUTS[name], DROP_M))


def _flight_s(turn_rad: float) -> float:
    """About how long a hop takes by which the arm turns so far, at default limits."""
    return 0.45 + 0.3 * abs(turn_rad)


def downstream_first(tracks: Tracks, settings: Sort) -> list[Track]:
    """Blocks that go into a bin, the one that leaves first at the head."""
    wanted = [each for each in tracks.alive if settings.rules.bin_for(each.colour) is not None and not each.missing]
    return sorted(wanted, key=lambda each: each.y_m * np.sign(tracks.speed_m_s or 1.0))


def plan_catch(
    robot: Robot,
    world: CollisionWorld,
    settings: Sort,
    start: Command,
    now_s: float,
    tracks: Tracks,
    track: Track,
    leaving: tuple[Clearance, ...],
) -> Catch | str:
    """The hop that catches a block first, or why there is none."""
    window = _window(track, now_s)
    if window is None:
        return "late"
    if window[0] - now_s > _SOON_S:
        return "not_yet"
    best: Catch | None = None
    reason = "crowded"
    for grasp in grasps_of(robot, track, tracks.alive, now_s, settings.grip):
        found = _hop_to(robot, settings, start, now_s, track, grasp, window, leaving)
        if isinstance(found, Refusal):
            reason = "late" if found.check == "leaves_first" else "unreachable"
        elif best is None or found.ends_s < best.hop.ends_s:
            best = Catch(track=track, grasp=grasp, hop=found)
    if best is None:
        return reason
    return best if is_free(robot, world, best.hop.positions) else "blocked"


def _window(track: Track, now_s: float) -> tuple[float, float] | None:
    """From when until when a block can be met; None if it is past."""
    speed, (_, y) = -track.velocity_m_s[1], track.at(now_s)
    if speed > 1e-3:
        begins, ends = now_s + (y - UPSTREAM_M) / speed, now_s + (y - DOWNSTREAM_M) / speed - _TAKING_S
    elif speed < -1e-3:
        begins, ends = now_s + (y - DOWNSTREAM_M) / speed, now_s + (y - UPSTREAM_M) / speed - _TAKING_S
    else:
        begins, ends = (now_s, np.inf) if DOWNSTREAM_M <= y <= UPSTREAM_M else (np.inf, np.inf)
    return (max(begins, now_s), ends) if ends > now_s else None


def ride_of(track: Track, grasp: Grasp) -> Ride:
    """Where the tool has to be to take a block."""
    return Ride(
        point_m=np.array([track.x_m, track.y_m, grasp.tool_m]),
        velocity_m_s=np.array([*track.velocity_m_s, 0.0]),
        time_s=track.time_s,
    )


def _hop_to(
    robot: Robot,
    settings: Sort,
    start: Command,
    now_s: float,
    track: Track,
    grasp: Grasp,
    window: tuple[float, float],
    leaving: tuple[Clearance, ...],
) -> Hop | Refusal:
    height = max(settings.motion.hop_m, grasp.hop_m)
    return plan_hop(
        robot,
        HAND,
        HopQuery(
            start=start,
            now_s=now_s,
            target=ride_of(track, grasp),
            rotation=grasp.rotation,
            rise_m=0.0 if is_high(robot, start) else height,
            sink_m=height,
            leaving=leaving,
            landing=grasp.landing(settings.grip, track.sigma_at(now_s)),
            not_before_s=window[0],
            until_s=window[1],
            scaling=settings.motion.scaling,
        ),
    )


def plan_home(
    robot: Robot, settings: Sort, start: Command, now_s: float, leaving: tuple[Clearance, ...]
) -> Hop | Refusal:
    """The way home, at rest there."""
    point, rotation = HAND.forward(robot.home[robot.arm])
    return plan_hop(
        robot,
        HAND,
        HopQuery(
            start=start,
            now_s=now_s,
            target=Ride(point_m=point, velocity_m_s=np.zeros(3), time_s=now_s),
            rotation=rotation,
            rise_m=0.0 if is_high(robot, start) else settings.motion.hop_m,
            sink_m=0.0,
            leaving=leaving,
            scaling=settings.motion.scaling,
        ),
    )


def plan_carry(
    robot: Robot,
    world: CollisionWorld,
    settings: Sort,
    start: Command,
    now_s: float,
    grasp: Grasp,
    bin_name: str,
) -> Hop | Refusal:
    """From where a block was gripped to over its bin."""
    grip = settings.grip
    point = np.array([DROP_M, OUTPUTS[bin_name], tool_height_m(robot, grasp.width_m, grip.tip_m + grip.release_m)])
    found = plan_hop(
        robot,
        HAND,
        HopQuery(
            start=start,
            now_s=now_s,
            target=Ride(point_m=point, velocity_m_s=np.zeros(3), time_s=now_s),
            rotation=straight_down(_drop_yaw(start.position[robot.arm], point, grasp))[0],
            rise_m=max(settings.motion.hop_m, grasp.hop_m),
            sink_m=max(settings.motion.hop_m, grasp.hop_m),
            leaving=grasp.leaving(),
            landing=(Clearance(height_m=0.01, along_m=0.02, across_m=0.02),),
            scaling=settings.motion.scaling,
        ),
    )
    if isinstance(found, Hop) and not is_free(robot, world, found.positions):
        return Refusal(check="collision")
    return found


def _drop_yaw(joints: Array, point_m: Array, grasp: Grasp) -> float:
    """How the hand is turned over a bin: as far as may be like the arm turns anyway, so that wrist 3 need not."""
    here, _ = HAND.forward(joints)
    turn = float(np.arctan2(point_m[1], point_m[0]) - np.arctan2(here[1], here[0]))
    return float(np.clip(grasp.yaw_rad + turn, HOME_YAW_RAD - _DROP_TURN_RAD, HOME_YAW_RAD + _DROP_TURN_RAD))


def leaving_bin(grasp: Grasp) -> tuple[Clearance, ...]:
    """How the open hand gets off a block that it has let go."""
    return (Clearance(height_m=grasp.over_m, along_m=0.008, across_m=0.1),)


def is_high(robot: Robot, start: Command) -> bool:
    return bool(HAND.forward(start.position[robot.arm])[0][2] > _HIGH_M)


def is_free(robot: Robot, world: CollisionWorld, positions: Array) -> bool:
    """Whether the arm touches no furniture on its way."""
    rows = np.column_stack([positions, np.full(len(positions), robot.home[robot.jaw])])
    world.place(())
    return world.first_collision(world.samples(rows)) is None
