"""Which block is next, and how the hand gets to it, to a bin, or home: whole plans, checked before anything moves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.kinematics.following import Ur5eHand
from graspline.kinematics.ur5e import straight_down
from graspline.motion.hops import Clearance, Hop, HopQuery, NoHop, Ride, plan_hop
from graspline.motion.path import Command
from graspline.perception.tracks import Track, Tracks
from graspline.planning.collision import CollisionWorld
from graspline.robots.robot import Robot
from graspline.scenes.belt_line import OUTPUTS
from graspline.tasks.sort.hand import HOME_YAW_RAD, Grasp, grasps_of, tool_height_m
from graspline.tasks.sort.line import Catch
from graspline.tasks.sort.parameters import Sort

Array = NDArray[np.float64]

HAND = Ur5eHand()
# Blocks are met between these, along the belt.
UPSTREAM_M, DOWNSTREAM_M = 0.42, -0.42
# After a meeting it takes so long until the block is off the belt.
_TAKING_S = 0.5
# A block that comes into reach later than this is not waited for: there is time to look around.
_SOON_S = 0.9
# Where blocks are let go, along x, on every output belt.
DROP_M = 0.26
# How far over a bin the hand may be turned from home's heading, in which it leaves a block along its fingers.
_DROP_TURN_RAD = 0.6
# Above this height nothing on the belts is in the way of the hand.
_HIGH_M = 0.2
# How the hand gets away from where nobody knows what is between its fingers.
LEAVING_ANYTHING = (Clearance(height_m=0.05, along_m=0.006, across_m=0.03),)


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
    for track in downstream_first(tracks, settings):
        found = plan_catch(robot, world, settings, start, now_s, tracks, track, leaving)
        if isinstance(found, Catch):
            return Choice(catch=found, refused=tuple(refused))
        refused.append((track.number, found))
    return Choice(catch=None, refused=tuple(refused))


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
        if isinstance(found, NoHop):
            reason = "late" if "leaves" in found.reason else "unreachable"
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
) -> Hop | NoHop:
    height = max(settings.motion.hop_m, grasp.over_m + 0.012)
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
) -> Hop | NoHop:
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
    robot: Robot, settings: Sort, start: Command, now_s: float, grasp: Grasp, bin_name: str
) -> Hop | NoHop:
    """From where a block was gripped to over its bin."""
    grip = settings.grip
    point = np.array([DROP_M, OUTPUTS[bin_name], tool_height_m(robot, grasp.width_m, grip.tip_m + grip.release_m)])
    return plan_hop(
        robot,
        HAND,
        HopQuery(
            start=start,
            now_s=now_s,
            target=Ride(point_m=point, velocity_m_s=np.zeros(3), time_s=now_s),
            rotation=straight_down(_drop_yaw(start.position[robot.arm], point, grasp))[0],
            rise_m=max(settings.motion.hop_m, grasp.over_m + 0.012),
            sink_m=settings.motion.hop_m,
            leaving=grasp.leaving(),
            landing=(Clearance(height_m=0.01, along_m=0.02, across_m=0.02),),
            scaling=settings.motion.scaling,
        ),
    )


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
