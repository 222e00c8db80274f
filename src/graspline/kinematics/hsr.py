"""Closed-form whole-body kinematics of the HSR, vectorised over targets, in the odometry frame.

The axes of arm_roll, wrist_flex and wrist_roll meet in one point, the wrist. Choose where the base faces and how far
the arm leans, and the rest follows: the lift from the wrist's height, the base from where the wrist is seen from above,
and two ways to turn three axes that meet. So every target is solved over a grid of headings and leans, exactly.

The lean is -arm_flex: 0 has the arm straight up, a quarter turn straight ahead. Leans are spread over those for which
the lift keeps to its range, not over all: else wrists that are nearly as high or low as they come would be missed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Evidence, Measurement, at_least, at_most
from graspline.robots.hsr_chain import (
    HEAD_CAMERA_M,
    LOWER,
    ORIGINS_M,
    R_TILT_CAMERA,
    R_WRIST_FORCE,
    R_WRIST_TOOL,
    TOOL_M,
    TORSO,
    TORSO_FOLLOWS,
    UPPER,
    VELOCITY,
    WHOLE_BODY_JOINTS,
    WRIST_FORCE_M,
)
from graspline.spatial.rotations import multiply, rotate, rotation_y, rotation_z, wrap

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

# Headings every 15°, counted from where the hand points; leans as shares of those that the lift leaves.
TURNS_RAD = np.arange(-12.0, 12.0) * (np.pi / 12)
LEANS, _FINE_LEANS = np.arange(12) / 11, np.arange(30) / 29
# What a joint may come out beyond its limit and still be put onto it: rounding.
TOLERANCE = 1e-10

_SIZE = len(WHOLE_BODY_JOINTS)
_LOWER, _UPPER = LOWER[:_SIZE], UPPER[:_SIZE]
_MIDDLE = (_LOWER + _UPPER) / 2
_X, _Y, _TURN, _LIFT, _FLEX, _ROLL, _WRIST_FLEX, _WRIST_ROLL = range(_SIZE)
_PAN, _TILT = _SIZE, _SIZE + 1
# As `WholeBody` has them.
LIFT, ARM, HEAD = _LIFT, [_FLEX, _ROLL, _WRIST_FLEX, _WRIST_ROLL], [_PAN, _TILT]
_UNITS = tuple("rad" if index in (_TURN, *range(_FLEX, _SIZE)) else "m" for index in range(_SIZE))

_LIFT_M = ORIGINS_M["arm_lift"][2]
_SHOULDER_M = ORIGINS_M["arm_flex"]
_ARM_M = ORIGINS_M["arm_roll"]
# From shoulder to wrist, and how far that line leans when the lean is 0.
_REACH_M, _AHEAD_RAD = float(np.hypot(_ARM_M[0], _ARM_M[2])), float(np.arctan2(_ARM_M[0], _ARM_M[2]))
# With the sine of wrist_flex below this, arm_roll and wrist_roll turn about one axis.
_SINGULAR = 1e-10
# A hand steeper than this points nowhere when seen from above.
_STEEP = 0.05
_WHOLE_TURN = 2 * np.pi
# How far the wrist's axes are behind the tool and beside it; of its barrel the radius and half the length.
_WRIST_BEHIND_M, _WRIST_BESIDE_M = float(TOOL_M[2]), float(TOOL_M[0])
_BARREL_RADIUS_M, _BARREL_HALF_M = 0.040, 0.043
# An arm out of the head's sight leans ahead and down; so much is left of the lift.
_LEANING_RAD, _SPARE_M = 2.4, 0.005


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WholeBodySolutions:
    """For each of N targets all K candidates, and which of them keep to every limit.

    Candidates run over both turns of the wrist (wrist_flex negative first), then headings, then leans.
    """

    # (N, K, 8) in m and rad; exact also where a limit is exceeded.
    joints: Array
    within: Flags  # (N, K)
    # (8,): limits with their margin.
    lower: Array
    upper: Array

    @property
    def reached(self) -> Flags:
        """(N,): which targets have a solution."""
        return np.asarray(self.within.any(axis=1))

    def explain(self, index: int) -> Evidence:
        """Which limits the candidate that exceeds them least exceeds, with its values; nothing if one exceeds none."""
        return () if self.within[index].any() else _refusal(self.joints[index], self.lower, self.upper)


def forward(joints: Array) -> tuple[Array, Array]:
    """Position (..., 3) and rotation (..., 3, 3) of the tool, for joints (..., 8 or more) in command order."""
    return _on_wrist(joints, TOOL_M, R_WRIST_TOOL)


def wrist_force_frame(joints: Array) -> tuple[Array, Array]:
    """Position and rotation of the force-torque sensor, whose z points into the wrist."""
    return _on_wrist(joints, WRIST_FORCE_M, R_WRIST_FORCE)


def head_camera(joints: Array) -> tuple[Array, Array]:
    """Position and rotation of the head's camera, for joints (..., 10 or more): x right, y up, looking along -z."""
    q = np.moveaxis(np.asarray(joints, float), -1, 0)
    # Pan turns about the base's own axis.
    R_pan = rotation_z(q[_TURN] + q[_PAN])
    R_tilt = multiply(R_pan, rotation_y(-q[_TILT]))
    torso_m = ORIGINS_M[TORSO][2] + TORSO_FOLLOWS * q[_LIFT]
    neck = np.stack([q[_X], q[_Y], torso_m], axis=-1) + rotate(R_pan, np.array(ORIGINS_M["head_tilt"]))
    return neck + rotate(R_tilt, HEAD_CAMERA_M), multiply(R_tilt, R_TILT_CAMERA)


def gazing(joints: Array, point_m: Array) -> Array:
    """The same joints, (10 or more,), with the head looking at a point in O, as far as it can turn."""
    turned = joints.copy()
    camera, _ = head_camera(joints)
    apart = point_m - camera
    pan = wrap(np.arctan2(apart[1], apart[0]) - joints[_TURN])
    turned[_PAN] = pan - _WHOLE_TURN if pan > UPPER[_PAN] and pan - _WHOLE_TURN >= LOWER[_PAN] else pan
    turned[_TILT] = np.arctan2(apart[2], np.hypot(apart[0], apart[1]))
    turned[HEAD] = np.clip(turned[HEAD], LOWER[HEAD], UPPER[HEAD])
    return turned


def _on_wrist(joints: Array, offset_m: Array, R_wrist_frame: Array) -> tuple[Array, Array]:
    """Pose of what is mounted behind the last wrist joint."""
    q = np.moveaxis(np.asarray(joints, float), -1, 0)
    R_base = rotation_z(q[_TURN])
    R_arm = multiply(R_base, rotation_y(-q[_FLEX]))
    R_roll = multiply(R_arm, rotation_z(q[_ROLL]))
    R_wrist = multiply(multiply(R_roll, rotation_y(-q[_WRIST_FLEX])), rotation_z(q[_WRIST_ROLL]))
    base = np.stack([q[_X], q[_Y], _LIFT_M + q[_LIFT]], axis=-1)
    wrist = base + rotate(R_base, np.array(_SHOULDER_M)) + rotate(R_arm, np.array(_ARM_M))
    return wrist + rotate(R_wrist, offset_m), multiply(R_wrist, R_wrist_frame)


def solve(
    position_m: Array,
    rotation: Array,
    *,
    turns_rad: Array = TURNS_RAD,
    leans: Array = LEANS,
    facing_rad: Array | float | None = None,
    margin: Array | float = 0.0,
) -> WholeBodySolutions:
    """Joints that bring the tool to each pose, over a grid of headings (M,) and leans (F,): K = 2 M F.

    `position_m` is (N, 3), `rotation` (N, 3, 3) or one (3, 3) for all. Headings count from `facing_rad`, one or (N,),
    else from where the hand points seen from above, or from 0 where it points up or down. Leans are shares, 0 to 1,
    of those for which the lift keeps to its limits. `margin` is kept from all limits, in m and rad, one or (8,).
    """
    position = np.atleast_2d(np.asarray(position_m, float))
    axes = np.broadcast_to(np.asarray(rotation, float), (len(position), 3, 3))[:, :, [1, 2, 0]]
    lower, upper = _LOWER + margin, _UPPER - margin
    wrist = position - TOOL_M[0] * axes[:, :, 0] - TOOL_M[1] * axes[:, :, 1] - TOOL_M[2] * axes[:, :, 2]
    facing = _facing(axes[:, :, 2]) if facing_rad is None else np.broadcast_to(facing_rad, len(position))
    turn = wrap(facing[:, None] + np.asarray(turns_rad, float))[:, :, None]
    lean = _leans(wrist[:, 2], np.asarray(leans, float), lower, upper)[:, None, :]
    joints = np.empty((_SIZE, len(position), 2, turn.shape[1], lean.shape[2]))
    heading, tilted = _Angle(np.cos(turn), np.sin(turn)), _Angle(np.cos(lean), np.sin(lean))
    joints[_TURN], joints[_FLEX] = turn[:, None], -lean[:, None]
    _carry(joints, wrist, heading, tilted)
    _turn_wrist(joints, axes, heading, tilted)
    joints = joints.reshape(_SIZE, len(position), -1)
    within = _within(joints, lower[:, None, None], upper[:, None, None])
    return WholeBodySolutions(joints=np.moveaxis(joints, 0, -1), within=within, lower=lower, upper=upper)


class _Angle(NamedTuple):
    cosine: Array
    sine: Array


def _facing(approach: Array) -> Array:
    """(N,): where the hand points seen from above, 0 where that is nowhere."""
    x, y = approach[:, 0], approach[:, 1]
    return np.where(x * x + y * y > _STEEP * _STEEP, np.arctan2(y, x), 0.0)


def _leans(height_m: Array, shares: Array, lower: Array, upper: Array) -> Array:
    """(N, F): leans that bring the wrist to this height with the lift in its range, else the one that comes nearest."""
    above = height_m - _LIFT_M
    # The arm carries the wrist reach × cos(lean + ahead) above the shoulder, the less the more it leans.
    least, most = (
        np.arccos(np.minimum(np.maximum((above - lift) / _REACH_M, -1.0), 1.0)) - _AHEAD_RAD
        for lift in (lower[_LIFT], upper[_LIFT])
    )
    least, most = (np.minimum(np.maximum(each, -upper[_FLEX]), -lower[_FLEX])[:, None] for each in (least, most))
    return least + shares * (most - least)


def _carry(joints: Array, wrist: Array, heading: _Angle, lean: _Angle) -> None:
    """Put base and lift into `joints`, (8, N, 2, M, F), such that the arm ends at the wrist."""
    out = _SHOULDER_M[0] + (_ARM_M[0] * lean.cosine + _ARM_M[2] * lean.sine)
    up = _LIFT_M + (_ARM_M[2] * lean.cosine - _ARM_M[0] * lean.sine)
    x, y, z = (wrist[:, axis, None, None] for axis in range(3))
    joints[_X] = (x - (out * heading.cosine - _SHOULDER_M[1] * heading.sine))[:, None]
    joints[_Y] = (y - (out * heading.sine + _SHOULDER_M[1] * heading.cosine))[:, None]
    joints[_LIFT] = (z - up)[:, None]


def _turn_wrist(joints: Array, axes: Array, heading: _Angle, lean: _Angle) -> None:
    """Put both ways to turn the three wrist axes into `joints`; `axes` (N, 3, 3) has the hand's in its columns."""
    x, y, z = (axes[:, axis, None, None] for axis in range(3))
    # Each axis of the hand as the arm sees it: to its left, and forward, square to the arm.
    out = [x[..., column] * heading.cosine + y[..., column] * heading.sine for column in range(3)]
    left = [y[..., column] * heading.cosine - x[..., column] * heading.sine for column in range(3)]
    front = [out[column] * lean.cosine - z[..., column] * lean.sine for column in range(3)]
    along = out[2] * lean.sine + z[..., 2] * lean.cosine
    size = np.sqrt(front[2] * front[2] + left[2] * left[2])
    singular = size < _SINGULAR
    scale = 1.0 / np.where(singular, 1.0, size)
    cosine = np.where(singular, 1.0, front[2] * scale)
    sine = np.where(singular, 0.0, left[2] * scale)
    bend = np.arctan2(size, along)
    roll = np.arctan2(sine, cosine)
    # From the roll that was chosen, rounded as it may be, so that all axes fit even next to the singularity.
    twist = np.arctan2(cosine * left[0] - sine * front[0], cosine * left[1] - sine * front[1])
    for way, half in enumerate((0.0, np.pi)):
        joints[_WRIST_FLEX, :, way] = bend if way else -bend
        joints[_ROLL, :, way] = _nearest_turn(roll + half, _MIDDLE[_ROLL])
        joints[_WRIST_ROLL, :, way] = _nearest_turn(twist + half, _MIDDLE[_WRIST_ROLL])


def _nearest_turn(angle: Array, to: Array | float) -> Array:
    """The angle plus the whole turns that bring it nearest."""
    return angle - _WHOLE_TURN * np.rint((angle - to) * (1 / _WHOLE_TURN))


def _within(joints: Array, lower: Array, upper: Array) -> Flags:
    """Which candidates (8, ...) keep to all limits; of those, joints a rounding beyond one are put onto it."""
    within = np.asarray(((joints >= lower - TOLERANCE) & (joints <= upper + TOLERANCE)).all(axis=0))
    np.copyto(joints, np.minimum(np.maximum(joints, lower), upper), where=within)
    return within


def _refusal(candidates: Array, lower: Array, upper: Array) -> Evidence:
    below, above = lower - candidates, candidates - upper
    least = int(np.argmin(np.maximum(np.maximum(below, above), 0.0).sum(axis=1)))
    return tuple(
        _beyond(WHOLE_BODY_JOINTS[joint], float(candidates[least, joint]), float(low), float(high), _UNITS[joint])
        for joint, (low, high) in enumerate(zip(lower, upper, strict=True))
        if max(below[least, joint], above[least, joint]) > TOLERANCE
    )


def _beyond(name: str, value: float, lower: float, upper: float, unit: str) -> Measurement:
    return at_least(name, value, lower, unit) if value < lower else at_most(name, value, upper, unit)


def ranked(solutions: WholeBodySolutions, index: int, start: Array) -> Array:
    """(n, 8): all solutions of target `index`, nearest to the start first.

    The base takes the whole turns that bring it nearest to the start, (8 or more,). Far is the root of the summed
    squares of what each joint takes at its top speed.
    """
    start = np.asarray(start, float)[:_SIZE]
    joints = solutions.joints[index][solutions.within[index]]
    turn = _nearest_turn(joints[..., _TURN], start[_TURN])
    # At the end of the base's range it has to turn the other way round.
    turn = np.where(turn > _UPPER[_TURN], turn - _WHOLE_TURN, np.where(turn < _LOWER[_TURN], turn + _WHOLE_TURN, turn))
    joints[..., _TURN] = turn
    moved = (joints - start) * (1 / VELOCITY[:_SIZE])
    return joints[np.argsort(np.sqrt(np.einsum("...j,...j->...", moved, moved)), kind="stable")]


def postures(
    position_m: Array,
    rotation: Array,
    start: Array,
    *,
    margin: float,
    facing_rad: float | None = None,
    finely: bool = False,
) -> list[Array]:
    """As `WholeBody` has it; a hand that points straight down leaves the arm little choice but a fine one."""
    turns = TURNS_RAD if facing_rad is None else np.zeros(1)
    leans = _FINE_LEANS if finely else LEANS
    found = solve(position_m, rotation, turns_rad=turns, leans=leans, facing_rad=facing_rad, margin=margin)
    return [ranked(found, index, start) for index in range(len(found.joints))]


def unreached(position_m: Array, rotation: Array, margin: float) -> Evidence:
    """Why a pose is out of reach: each measurement with its limit."""
    return solve(position_m[None], rotation, margin=margin).explain(0)


def straight(joints: Array, way_m: Array, rows: int = 2, margin_m: float = 0.0) -> tuple[Array, Flags]:
    """Rows (T, J) from these joints (J,) along a straight way (3,), the hand's rotation kept, and which are possible.

    Only base_x, base_y and arm_lift move. A row is possible if the lift keeps the margin to its limits.
    """
    moved = np.repeat(np.asarray(joints, float)[None], rows, axis=0)
    moved[:, [_X, _Y, _LIFT]] += np.linspace(0.0, 1.0, rows)[:, None] * np.asarray(way_m, float)
    lift = moved[:, _LIFT]
    return moved, (lift >= _LOWER[_LIFT] + margin_m) & (lift <= _UPPER[_LIFT] - margin_m)


def hand_above_m(rotation: Array) -> float:
    """However the wrist's barrel is turned."""
    down = max(float(-rotation[2, 0]), 0.0)
    level = float(np.sqrt(max(1 - down * down, 0.0)))
    # The barrel's axis is at right angles to the hand; it stands up the most where its corners are straight above.
    leaning = min(level, _BARREL_HALF_M / float(np.hypot(_BARREL_RADIUS_M, _BARREL_HALF_M)))
    barrel = _BARREL_RADIUS_M * float(np.sqrt(1 - leaning * leaning)) + _BARREL_HALF_M * leaning
    return _WRIST_BEHIND_M * down + _WRIST_BESIDE_M * level + barrel


def looking_over(joints: Array) -> Array:
    """The posture with the lift up and the arm leaning forward, so that the head sees over it."""
    row = joints.copy()
    row[_LIFT], row[_FLEX], row[_WRIST_FLEX] = UPPER[_LIFT] - _SPARE_M, -_LEANING_RAD, 0.0
    return row
