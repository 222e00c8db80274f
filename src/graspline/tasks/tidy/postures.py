"""Where the robot stands and how it holds itself: to look at table and boards, and to carry a thing or hold it out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from graspline.perception.core.held import HeldObject
from graspline.robots.robot import Robot
from graspline.scenes.fittings import Fitting, Level
from graspline.spatial.rotations import rotation_z
from graspline.tasks.tidy.robot import BODY

Array = NDArray[np.float64]
# x, y and heading of the base.
Base = tuple[float, float, float]

# From up there less is hidden behind things; the arm, which goes up as well, is turned aside.
_LOOKING_LIFT_M, _ARM_ASIDE_RAD = 0.55, 0.9
# Where the base stands to look at table and shelf, from their front edges. A board that is seen too flat from there is
# looked at from nearer.
TABLE_AWAY_M, SHELF_AWAY_M, _SHELF_NEARER_M = 0.75, 0.80, 0.65
# The line of sight to a board's middle comes down onto it at least as steeply as this: flatter, its plane is not found.
_STEEP_RAD = 0.157
# Where the hand is while something is carried, from the base: ahead, to the left, and above the floor; in this order.
_CARRIED_M = [(*at, up) for at in ((0.45, 0.08), (0.40, 0.20), (0.50, 0.0)) for up in (0.55, 0.62, 0.70, 0.80)]
# The same with the head up high.
_HIGH_M = [(ahead, left, up) for ahead in (0.52, 0.57) for left in (0.08, 0.16, 0.0) for up in (0.78, 0.84, 0.90, 0.97)]


def before(fitting: Fitting, distance_m: float, across_m: float = 0.0) -> Base:
    """Where the base is when it faces a piece of furniture at this distance from its front."""
    front = min(level.position_m[0] - level.half_extents_m[0] for level in fitting.levels)
    x, y, _ = fitting.in_world((front - distance_m, across_m, 0.0)).tolist()
    return x, y, fitting.yaw_rad


def middle_of(fitting: Fitting) -> Array:
    """(3,): the middle of its first level."""
    return fitting.in_world((0.0, 0.0, fitting.levels[0].position_m[2]))


def looking(robot: Robot, fitting: Fitting, away_m: float, height_m: float) -> Array:
    """(nu,): before a piece of furniture, the arm out of the way, the head looking at a surface of this height."""
    return _looking(robot, before(fitting, away_m), fitting.in_world((0.0, 0.0, height_m)))


def looking_from(robot: Robot, table: Fitting, base_m: Array) -> Array:
    """(nu,): beside a table on the side of a place of the base, (2,), the arm out of the way, looking at its middle."""
    (x, y), (half_x, half_y) = table.in_own_frame(base_m), table.levels[0].half_extents_m
    # The side that it is the farthest beyond.
    if abs(x) - half_x > abs(y) - half_y:
        side = float(np.sign(x))
        at, inwards = table.in_world((side * (half_x + TABLE_AWAY_M), 0.0, 0.0)), (0.0 if x < 0 else np.pi)
    else:
        side = float(np.sign(y))
        at, inwards = table.in_world((0.0, side * (half_y + TABLE_AWAY_M), 0.0)), -side * np.pi / 2
    return _looking(robot, (at[0], at[1], table.yaw_rad + inwards), middle_of(table))


def _looking(robot: Robot, base: Base, point_m: Array) -> Array:
    joints = robot.home.copy()
    (x, y, turn), joints[BODY.LIFT] = base, _LOOKING_LIFT_M
    joints[:3] = x, y, turn + _ARM_ASIDE_RAD
    return BODY.gazing(joints, point_m)


def carrying(held: HeldObject, start: Array, base: Base, gaze_m: Array) -> Array:
    """(K, nu): postures at a base pose that carry a thing upright, close to the robot and low; nearest first."""
    found = postures(held, start, base, _CARRIED_M, each=4)
    return np.array([BODY.gazing(row, gaze_m) for row in found]).reshape(-1, len(start))


def postures(
    held: HeldObject, start: Array, base: Base, points: Sequence[tuple[float, float, float]], *, each: int
) -> Array:
    """(K, nu): postures at a base pose with a thing upright and the tool at points: ahead, left, above the floor.

    The hand points ahead, too, unless it holds the thing from the top. A number of rows for each point.
    """
    x, y, turn = base
    heading = np.arctan2(held.R_OH[1, 0], held.R_OH[0, 0]) if not held.top else turn
    rotation = rotation_z(turn - heading) @ held.R_OH
    found = list[Array]()
    for point in points:
        tool = np.array([x, y, 0.0]) + rotation_z(turn) @ np.array(point)
        (near,) = BODY.postures(tool[None], rotation, start, margin=0.02, facing_rad=turn)
        for posture in near[:each]:
            row = start.copy()
            row[: len(posture)] = posture
            found.append(row)
    return np.array(found).reshape(-1, len(start))


def shifted(joints: Array, base: Base) -> Array:
    """The same posture elsewhere, the base turned the short way."""
    row, (x, y, turn) = joints.copy(), base
    row[:3] = x, y, short_way(joints[2], turn)
    return row


def short_way(start_rad: float, headings_rad: Array | float) -> Array | float:
    """Headings, each as the one of its whole turns that is nearest to where the base starts."""
    return start_rad + (headings_rad - start_rad + np.pi) % (2 * np.pi) - np.pi


def steepness_rad(joints: Array, point_m: Array) -> float:
    """How steeply the head's camera looks down at a point, with these joints."""
    camera, _ = BODY.head_camera(joints)
    return float(np.arctan2(camera[2] - point_m[2], np.hypot(*(camera - point_m)[:2])))


def views_with(held: HeldObject, start: Array, shelf: Fitting, board: Level) -> Array:
    """(K, nu): postures before the shelf that carry a thing upright and see a board, none if there is none.

    As it is carried anyway, if the board is seen then; else nearer, with lift and head as high as that needs.
    """
    middle = shelf.in_world(board.position_m)
    base = before(shelf, SHELF_AWAY_M)
    low = np.concatenate([BODY.gazing(shifted(start, base), middle)[None], carrying(held, start, base, middle)])
    seeing = low[[steepness_rad(row, middle) >= _STEEP_RAD for row in low]]
    if len(seeing):
        return seeing
    rows = postures(held, start, before(shelf, _SHELF_NEARER_M), _HIGH_M, each=24)
    high = np.array([BODY.gazing(row, middle) for row in rows]).reshape(-1, len(start))
    return high[[steepness_rad(row, middle) >= _STEEP_RAD for row in high]]


def view_without(robot: Robot, jaw_rad: float, shelf: Fitting, board: Level) -> Array:
    """(nu,): before the shelf, the hand empty, looking at a board."""
    middle, joints = shelf.in_world(board.position_m), robot.home.copy()
    joints[:3], joints[robot.jaw] = before(shelf, SHELF_AWAY_M), jaw_rad
    if steepness_rad(joints, middle) < _STEEP_RAD:
        joints[:3] = before(shelf, _SHELF_NEARER_M)
        joints = BODY.looking_over(joints)
    return BODY.gazing(joints, middle)
