"""Where the robot stands, and how high it raises its head, to see a board of the shelf."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graspline.perception.held import HeldObject
from graspline.robots.robot import Robot
from graspline.scenes.fittings import Fitting, Level
from graspline.tasks.tidy.house import before
from graspline.tasks.tidy.moving import SHELF_AWAY_M, carrying, postures, shifted
from graspline.tasks.tidy.robot import BODY

Array = NDArray[np.float64]

# A board that is seen too flat from where the base usually stands is looked at from here, from the shelf's front edge.
_NEARER_M = 0.65
# The line of sight to a board's middle comes down onto it at least as steeply as this: flatter, its plane is not found.
_STEEP_RAD = 0.157
# Where the hand is while a thing is carried with the head up high: ahead of the base, to its left, above the floor.
_AHEAD_M, _LEFT_M, _UP_M = (0.52, 0.57), (0.08, 0.16, 0.0), (0.78, 0.84, 0.90, 0.97)


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
    points = [(ahead, left, up) for ahead in _AHEAD_M for left in _LEFT_M for up in _UP_M]
    rows = postures(held, start, before(shelf, _NEARER_M), points, each=24)
    high = np.array([BODY.gazing(row, middle) for row in rows]).reshape(-1, len(start))
    return high[[steepness_rad(row, middle) >= _STEEP_RAD for row in high]]


def view_without(robot: Robot, jaw_rad: float, shelf: Fitting, board: Level) -> Array:
    """(nu,): before the shelf, the hand empty, looking at a board."""
    middle, joints = shelf.in_world(board.position_m), robot.home.copy()
    joints[:3], joints[robot.jaw] = before(shelf, SHELF_AWAY_M), jaw_rad
    if steepness_rad(joints, middle) < _STEEP_RAD:
        joints[:3] = before(shelf, _NEARER_M)
        joints = BODY.looking_over(joints)
    return BODY.gazing(joints, middle)
