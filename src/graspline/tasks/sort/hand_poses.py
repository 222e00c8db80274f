"""How the hand takes a block off a belt: which way round, how wide, how low, and what room its fingers need."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from graspline.grasping.candidates import Grasp
from graspline.motion.belt_transfers import Clearance
from graspline.perception.belt.tracks import BlockTrack
from graspline.robots.robot import Robot
from graspline.spatial.rectangles import separation_m
from graspline.tasks.sort.parameters import SIZES, GripParameters
from graspline.tasks.sort.sight import DIRECTION

Array = NDArray[np.float64]

# Blocks are met between these, along the belt.
UPSTREAM_M, DOWNSTREAM_M = 0.42, -0.42
# At home the hand opens along the belt. It stays within a quarter turn of that, or the wrist would wind up.
HOME_YAW_RAD = float(np.arctan2(DIRECTION[1], DIRECTION[0]))
# What stands behind a pad's face, and half of how wide fingers are.
_FINGER_THICK_M = 0.018
_FINGER_HALF_M = 0.014
# Room that fingers keep from blocks beside the one they take, besides what is uncertain.
_ROOM_M = 0.002
# Tips count as above a block from here on.
_ABOVE_M = 0.004
# What is to pass over a block is so much higher.
_PAST_M = 0.006
# Blocks may lie this near to the fingers without having been seen, and be as high as blocks are made.
_UNSEEN_M = 0.03
_TALLEST_M = max(size[2] for size in SIZES)
# How high a hop that takes a block off is at least.
HOP_M = _TALLEST_M + _PAST_M + 0.008
# Farther than this nothing is beside anything.
_BESIDE_M = 0.15


def grasps_of(
    robot: Robot, track: BlockTrack, others: Iterable[BlockTrack], time_s: float, grip: GripParameters
) -> list[tuple[Grasp, float]]:
    """Ways to take a block, each with the room from its fingers to blocks beside it; none where there is no room.

    Across its narrow side if that can be: a wide hand is more likely to meet a block that was not seen.
    """
    found: list[tuple[Grasp, float]] = []
    beside = [other for other in others if other.number != track.number]
    for axis, label in enumerate(("along", "across")):
        width = track.size_m[axis]
        gap = width + 2 * grip.slack_m
        if gap > robot.jaw_law.gaps_m[-1]:
            continue
        yaw = _near_home(track.yaw_rad + axis * np.pi / 2)
        room = _room(track, beside, time_s, yaw, gap)
        if room > 0.0:
            over, hand = track.size_m[2] - grip.tip_m, robot.hand
            grasp = Grasp(
                label=label,
                yaw_rad=yaw,
                tool_m=(hand.tip_m - over + track.size_m[2] / 2, 0.0, hand.across_m(grip.slack_m, width / 2)),
                width_m=width,
                open_rad=float(robot.jaw_law.angle_rad(gap)),
                standoff_m=over + _ABOVE_M,
                seat_m=0.0,
                touch_rad=float(robot.jaw_law.angle_rad(width)),
            )
            found.append((grasp, room))
    narrowest = min((grasp.width_m for grasp, _ in found), default=0.0)
    return [each for each in found if each[0].width_m == narrowest]


def tool_point_m(robot: Robot, grasp: Grasp) -> Array:
    """(3,): the tool point, beside it as far as the block's middle is."""
    return np.array([robot.hand.tool_m[0], 0.0, grasp.tool_m[2]])


def tool_height_m(robot: Robot, grasp: Grasp, tip_m: float) -> float:
    """How high the tool is when pads that touch the block have their tips at this height, the hand pointing down."""
    hand, middle = robot.hand, robot.jaw_law.middle_m(grasp.touch_rad)
    return tip_m + (hand.tip_m - hand.grip_from_m) / 2 + float(middle[0])


def landing(grasp: Grasp, room_m: float, grip: GripParameters, sigma_m: float) -> tuple[Clearance, ...]:
    """How far beside its block the hand may be on its way down."""
    slack = max(grip.slack_m - 0.002 - 2 * sigma_m, 0.002)
    return Clearance(height_m=grasp.standoff_m, along_m=slack, across_m=0.1), _past_others(grip.tip_m, room_m)


def leaving(room_m: float) -> tuple[Clearance, ...]:
    """How far beside where its block lay the hand may be with it on its way up."""
    return Clearance(height_m=0.004, along_m=0.004, across_m=0.004), _past_others(0.0, room_m)


def _past_others(from_m: float, room_m: float) -> Clearance:
    """What reaches down to `from_m` above the belt is beside other blocks until it is above them."""
    room = max(room_m, 0.002)
    return Clearance(height_m=_TALLEST_M - from_m + _PAST_M, along_m=room, across_m=room)


def _near_home(yaw_rad: float) -> float:
    """The same axis, within a quarter turn of home's."""
    return float(HOME_YAW_RAD + (yaw_rad - HOME_YAW_RAD + np.pi / 2) % np.pi - np.pi / 2)


def _room(track: BlockTrack, others: list[BlockTrack], time_s: float, yaw_rad: float, gap_m: float) -> float:
    """How far from the open hand, around its block, the nearest other block is; there may be one that was not seen."""
    middle = np.array(track.at(time_s))
    half = (gap_m / 2 + _FINGER_THICK_M, _FINGER_HALF_M)
    room = _UNSEEN_M
    for other in others:
        apart = np.array(other.at(time_s)) - middle
        if np.hypot(*apart) > _BESIDE_M:
            continue
        sigma = float(np.hypot(other.sigma_at(time_s), track.sigma_at(time_s)))
        other_half = (other.size_m[0] / 2, other.size_m[1] / 2)
        distance = separation_m(half, yaw_rad, other_half, other.yaw_rad, apart)
        room = min(room, distance - 2 * sigma - _ROOM_M)
    return room
