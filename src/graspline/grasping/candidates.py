"""Ways to take a box from above with a two-finger hand: which faces, how deep, how wide the jaws open."""

from __future__ import annotations

import bisect
import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from graspline.evidence import at_most
from graspline.kinematics.arms import arm_of
from graspline.parameters import Parameters
from graspline.perception.core.beliefs import Belief
from graspline.refusal import Refusal
from graspline.robots.hand import Hand
from graspline.robots.robot import Robot

Array = NDArray[np.float64]

_MAX_OBJECT_TILT_RAD = 0.2
# Turns of the hand from where it is, all around, the least first; a turn to the left before one to the right.
_TURNS_RAD = np.radians(22.5 * np.array([0, 1, -1, 2, -2, 3, -3, 4, -4, 5, -5, 6, -6, 7, -7, 8])).tolist()
_ROOM_STEP_M = 0.0005
_NAMES = ("along", "across", "along_turned", "across_turned")
DEEPER = "_deeper"
# A grasp is planned with the fixed jaw this near to a box, where the hand will be when it closes. It comes down farther
# away if more room is wanted: leaning jaws would touch elsewhere if the whole way there were left to seating.
_NEAR_M = 0.002


class BallJaw(Parameters):
    """Where the jaws meet an object and how much room they leave it before closing."""

    tip_below_centre_m: float = Field(
        default=0.0063, ge=0, le=0.02, description="how far the fingertips reach below the object's centre"
    )
    ground_clearance_m: float = Field(
        default=0.003,
        ge=0.003,
        le=0.02,
        description="how far the fixed fingertip stays above the table; the moving one swings up to 2 mm lower",
    )
    fixed_clearance_m: float = Field(
        default=0.002, ge=0, le=0.01, description="gap between fixed jaw and object, in addition to the pose error"
    )
    moving_clearance_m: float = Field(
        default=0.010, ge=0.002, le=0.03, description="gap between moving jaw and object, in addition to the pose error"
    )
    error_sigmas: float = Field(
        default=2.0, ge=0, le=4, description="pose error that the open jaws leave room for, in standard deviations"
    )
    standoff_m: float = Field(
        default=0.03, ge=0.01, le=0.1, description="height of the fingertips above the object before the descent"
    )

    def whole(self) -> JawParameters:
        """The same for planners; what a task does not offer is at its default."""
        return JawParameters.model_construct(**dict(self))


class JawParameters(BallJaw):
    """How a box is grasped: as any object, with a deeper second attempt."""

    # The tip step of a finger is 9.4 mm long: so its middle holds about the middle of the box.
    tip_below_centre_m: float = Field(
        default=0.0043, ge=0, le=0.02, description="how far the fingertips reach below the object's centre"
    )
    deeper_m: float = Field(
        default=0.003, ge=0, le=0.02, description="how much deeper the second attempt at a grasp reaches"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Grasp:
    """How the jaws take an object: which faces, the heading of the opening direction, and where it sits in the hand."""

    label: str
    yaw_rad: float
    # The object's centre in the gripper frame while the open jaws straddle it.
    tool_m: tuple[float, float, float]
    width_m: float
    open_rad: float
    # How far back along the approach axis the fingertips clear the object's top.
    standoff_m: float
    # How far sideways the fixed jaw may have to go to touch the object.
    seat_m: float
    # The jaw angle at which both pads touch it.
    touch_rad: float
    # A ball can be taken with leaning jaws; the faces of a box cannot.
    round: bool = False
    # How far beside the pose above the hand comes down, so that the fixed jaw passes the object farther away.
    aside_m: float = 0.0

    @property
    def sideways(self) -> Array:
        """The way from the fixed jaw to the moving one, level."""
        return np.array([np.cos(self.yaw_rad), np.sin(self.yaw_rad), 0.0])


def box_grasps(
    hand: Hand, estimate: Belief, parameters: JawParameters, *, deeper: bool = False, lean_rad: float = 0.0
) -> list[Grasp] | Refusal:
    """Four headings, one per side face, then the same four `deeper`; or why the box offers none.

    Fingers that lean by `lean_rad` against the faces come nearer to them at the top, and are given that much more room.
    """
    rotation = estimate.rotation
    up = int(np.argmax(np.abs(rotation[2])))
    # Rounding can push the cosine a hair over 1, where arccos is nan.
    tilt = float(np.arccos(min(float(abs(rotation[2, up])), 1.0)))
    if tilt > _MAX_OBJECT_TILT_RAD:
        evidence = (at_most("object_tilt", tilt, _MAX_OBJECT_TILT_RAD, "rad"),)
        return Refusal(label="any", stage="grasp", check="shape", evidence=evidence)
    height = float(estimate.half_extents_m[up])
    sides = [axis for axis in range(3) if axis != up]
    lowest = height - parameters.ground_clearance_m
    depths = [min(parameters.tip_below_centre_m, lowest)]
    if deeper and lowest > depths[0]:
        depths.append(min(depths[0] + parameters.deeper_m, lowest))
    halves, leaning = estimate.half_extents_m.tolist(), height * float(np.tan(lean_rad))
    turning = float(np.sin(parameters.error_sigmas * estimate.yaw_sigma_rad))
    found: list[Grasp] = []
    refused: list[Refusal] = []
    for deep, below in enumerate(depths):
        room = _room(hand, math.floor((hand.tip_m - below - height) / _ROOM_STEP_M))
        for quarter in range(4):
            axis, other = sides[quarter % 2], sides[1 - quarter % 2]
            sign = 1 if quarter < 2 else -1
            yaw = float(np.arctan2(rotation[1, axis] * sign, rotation[0, axis] * sign))
            label = _NAMES[quarter] + (DEEPER if deep else "")
            face = _Face(label=label, yaw_rad=yaw, half_m=halves[axis], turned_m=halves[other] * turning)
            grasp = _grasp(hand, face, height, below, room, leaning, estimate, parameters)
            if isinstance(grasp, Grasp):
                found.append(grasp)
            else:
                refused.append(grasp)
    return found or refused[0]


class _Room:
    """Room between the fingers at each position of the jaw."""

    def __init__(self, positions: Array, gap_m: Array) -> None:
        self._positions = positions
        # The most up to each angle grows with it, so the first that is enough can be searched for.
        self._most_m = np.maximum.accumulate(gap_m).tolist()
        self.most_m: float = self._most_m[-1]

    def least_rad(self, gap_m: float) -> float:
        """The least position at which there is this much room; the first of all where there never is."""
        index = bisect.bisect_left(self._most_m, gap_m)
        return float(self._positions[index if index < len(self._most_m) else 0])


@functools.lru_cache(maxsize=256)
def _room(hand: Hand, top: int) -> _Room:
    """The room for something that reaches up to this many steps."""
    return _Room(hand.positions, hand.clear_gap_m(hand.positions, top * _ROOM_STEP_M))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Face:
    label: str
    yaw_rad: float
    # Half the width between the jaws, and how much more turns into their way if the heading is wrong.
    half_m: float
    turned_m: float


def _grasp(
    hand: Hand,
    face: _Face,
    height_m: float,
    below_m: float,
    room: _Room,
    leaning_m: float,
    estimate: Belief,
    parameters: JawParameters,
) -> Grasp | Refusal:
    error_m = parameters.error_sigmas * estimate.position_sigma_m
    half = face.half_m + face.turned_m
    near_m = min(parameters.fixed_clearance_m, _NEAR_M)
    fixed = near_m + error_m + leaning_m
    gap = 2 * half + fixed + parameters.moving_clearance_m + error_m + leaning_m
    # A wide object gets less room beside the fixed jaw than wanted before it is refused.
    farther_m = max(0.0, min(parameters.fixed_clearance_m - near_m, room.most_m - gap))
    gap += farther_m
    if room.most_m < gap:
        evidence = (at_most("jaw_gap", gap, room.most_m, "m"),)
        return Refusal(label=face.label, stage="open", check="jaw_width", evidence=evidence)
    return Grasp(
        label=face.label,
        yaw_rad=face.yaw_rad,
        tool_m=(hand.tip_m - below_m, 0.0, hand.across_m(fixed, half)),
        width_m=2 * face.half_m,
        open_rad=room.least_rad(gap),
        standoff_m=height_m + below_m + parameters.standoff_m,
        seat_m=0.0 if hand.centred else fixed + error_m + face.turned_m + 0.001,
        touch_rad=room.least_rad(2 * face.half_m),
        aside_m=0.0 if hand.centred else farther_m,
    )


def ball_grasps(robot: Robot, estimate: Belief, parameters: JawParameters, joints_rad: Array) -> list[Grasp] | Refusal:
    """Headings all around, the jaws closing on a ball's equator or a little below; or why it offers none.

    A ball looks the same from everywhere, so the first heading leaves the wrist as it is in `joints_rad`.
    """
    hand = robot.hand
    radius = float(estimate.half_extents_m.max())
    below = min(parameters.tip_below_centre_m, radius - parameters.ground_clearance_m)
    along = hand.tip_m - below
    error = parameters.error_sigmas * estimate.position_sigma_m
    fixed = parameters.fixed_clearance_m + error
    # Around the middle of a centred hand both fingers leave half of the room, as they do beside a box.
    moving = (
        (fixed + parameters.moving_clearance_m + error) / 2 if hand.centred else parameters.moving_clearance_m + error
    )
    across = hand.across_m(fixed, radius)
    touch = ball_touch_rad(hand, radius, along)
    open_rad = ball_open_rad(hand, radius, along, across, moving)
    if open_rad is None:
        room = float(hand.ball_room_m(hand.positions, along, across).max())
        evidence = (at_most("ball_radius", radius + moving, room, "m"),)
        return Refusal(label="any", stage="open", check="jaw_width", evidence=evidence)
    ahead = arm_of(robot).jaw_heading(estimate.position_m, across, joints_rad)
    return [
        Grasp(
            label=f"turned_{round(math.degrees(turn)):d}",
            yaw_rad=math.remainder(ahead + turn, 2 * math.pi),
            tool_m=(along, 0.0, across),
            width_m=2 * radius,
            open_rad=open_rad,
            standoff_m=radius + below + parameters.standoff_m,
            seat_m=0.0 if hand.centred else fixed + error + 0.001,
            touch_rad=touch,
            round=True,
        )
        for turn in _TURNS_RAD
    ]


@functools.lru_cache(maxsize=1024)
def ball_touch_rad(hand: Hand, radius_m: float, along_m: float) -> float:
    """The position of the jaw at which both fingers touch a ball."""
    room = hand.ball_room_m(hand.positions, along_m, hand.across_m(0.0, radius_m))
    return float(hand.positions[int(np.argmax(room >= radius_m))])


@functools.lru_cache(maxsize=1024)
def ball_open_rad(hand: Hand, radius_m: float, along_m: float, across_m: float, clearance_m: float) -> float | None:
    """The least position of the jaw at which the moving finger keeps this far from a ball; None if there is none."""
    wide = hand.ball_room_m(hand.positions, along_m, across_m) >= radius_m + clearance_m
    return float(hand.positions[int(np.argmax(wide))]) if wide.any() else None
