"""How the hand takes a block off a belt: which way round, how wide, how low, and what room its fingers need."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.kinematics.ur5e import straight_down
from graspline.motion.hops import Clearance
from graspline.perception.tracks import Track
from graspline.robots.gripper_2f85 import PAD_SIZE_M
from graspline.robots.robot import Robot
from graspline.scenes.belt_line import Size
from graspline.tasks.sort.parameters import SIZES, GripParameters

Array = NDArray[np.float64]

# Blocks are met between these, along the belt.
UPSTREAM_M, DOWNSTREAM_M = 0.42, -0.42
# At home the hand closes along -y. It stays within a quarter turn of that, or wrist 3 would wind up.
HOME_YAW_RAD = -np.pi / 2
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
# Farther than this nothing is beside anything.
_BESIDE_M = 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class Grasp:
    """One way to take a block: the heading of the closing axis, the width between the pads, and the hand for it."""

    yaw_rad: float
    width_m: float
    open_rad: float
    # How far the tool is above the belt.
    tool_m: float
    # From the tips to just above the block's top.
    over_m: float
    # How far tips are above the belt.
    tip_m: float
    # How far blocks beside it are from the fingers, seen or not.
    room_m: float

    @property
    def rotation(self) -> Array:
        return straight_down(self.yaw_rad)[0]

    def landing(self, grip: GripParameters, sigma_m: float) -> tuple[Clearance, ...]:
        """How far beside the block the hand may be on its way down."""
        slack = max(grip.slack_m - 0.002 - 2 * sigma_m, 0.002)
        own = Clearance(height_m=self.over_m, along_m=slack, across_m=0.1)
        return (own, *self._past_others(self.tip_m))

    def leaving(self) -> tuple[Clearance, ...]:
        """How far beside where it lay the hand may be with the block on its way up."""
        return (Clearance(height_m=0.004, along_m=0.004, across_m=0.004), *self._past_others(0.0))

    def _past_others(self, from_m: float) -> tuple[Clearance, ...]:
        """What reaches down to `from_m` above the belt is beside other blocks until it is above them."""
        room = max(self.room_m, 0.002)
        return (Clearance(height_m=_TALLEST_M - from_m + _PAST_M, along_m=room, across_m=room),)

    @property
    def hop_m(self) -> float:
        """How high a hop that takes the block off must be."""
        return _TALLEST_M + _PAST_M + 0.008


def grasps_of(
    robot: Robot, track: Track, others: Iterable[Track], time_s: float, grip: GripParameters
) -> tuple[Grasp, ...]:
    """Ways to take a block; none where blocks beside it leave no room.

    Across its narrow side if that can be: a wide hand is more likely to meet a block that was not seen.
    """
    found = []
    beside = [other for other in others if other.number != track.number]
    for axis in (0, 1):
        width = track.size_m[axis]
        gap = width + 2 * grip.slack_m
        if gap > robot.jaw_law.gaps_m[-1]:
            continue
        yaw = _near_home(track.yaw_rad + axis * np.pi / 2)
        room = _room(track, beside, time_s, yaw, gap)
        if room > 0.0:
            tool = tool_height_m(robot, width, grip.tip_m)
            over = track.size_m[2] - grip.tip_m + _ABOVE_M
            angle = float(robot.jaw_law.angle_rad(gap))
            found.append(
                Grasp(
                    yaw_rad=yaw,
                    width_m=width,
                    open_rad=angle,
                    tool_m=tool,
                    over_m=over,
                    tip_m=grip.tip_m,
                    room_m=room,
                )
            )
    narrowest = min((each.width_m for each in found), default=0.0)
    return tuple(each for each in found if each.width_m == narrowest)


def tool_height_m(robot: Robot, width_m: float, tip_m: float) -> float:
    """How high the tool is when pads that far apart have their tips at this height, the hand pointing down."""
    middle = robot.jaw_law.middle_m(float(robot.jaw_law.angle_rad(width_m)))
    return tip_m + PAD_SIZE_M[0] / 2 + float(middle[0])


def _near_home(yaw_rad: float) -> float:
    """The same axis, within a quarter turn of home's."""
    return float(HOME_YAW_RAD + (yaw_rad - HOME_YAW_RAD + np.pi / 2) % np.pi - np.pi / 2)


def _room(track: Track, others: list[Track], time_s: float, yaw_rad: float, gap_m: float) -> float:
    """How far from the open hand, around its block, the nearest other block is; there may be one that was not seen."""
    middle = np.array(track.at(time_s))
    half = (gap_m / 2 + _FINGER_THICK_M, _FINGER_HALF_M)
    room = _UNSEEN_M
    for other in others:
        apart = np.array(other.at(time_s)) - middle
        if np.hypot(*apart) > _BESIDE_M:
            continue
        sigma = float(np.hypot(other.sigma_at(time_s), track.sigma_at(time_s)))
        distance = separation_m(half, yaw_rad, _half(other.size_m), other.yaw_rad, apart)
        room = min(room, distance - 2 * sigma - _ROOM_M)
    return room


def _half(size_m: Size) -> tuple[float, float]:
    return size_m[0] / 2, size_m[1] / 2


def separation_m(
    first: tuple[float, float], first_rad: float, second: tuple[float, float], second_rad: float, apart_m: Array
) -> float:
    """How far two rectangles of these half sides and headings are apart at least; less than 0 if they meet."""
    best = -np.inf
    for heading in (first_rad, first_rad + np.pi / 2, second_rad, second_rad + np.pi / 2):
        axis = np.array([np.cos(heading), np.sin(heading)])
        reach = sum(
            half[0] * abs(np.cos(heading - turn)) + half[1] * abs(np.sin(heading - turn))
            for half, turn in ((first, first_rad), (second, second_rad))
        )
        best = max(best, abs(float(apart_m @ axis)) - reach)
    return float(best)
