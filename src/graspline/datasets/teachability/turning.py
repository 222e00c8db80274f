"""How far each joint turns until the first grasp, beside the least it could have turned."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.datasets.teachability.demonstrations import Demonstrations, Grasps
from graspline.datasets.teachability.hand import is_upright, roll_for_turn

Array = NDArray[np.float64]

# Rounding of the columns, and the margin that servos leave at a stop.
_STOP_DEG = 1.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Turns:
    """Of n grasps: the way of every joint and the least way, (n, nu), and the grasp that takes the least roll."""

    path: Array
    least: Array
    # How far the hand would be turned about the vertical for it, rad, and the roll joint then, (n,).
    turn_rad: Array
    roll_deg: Array


def turns_until(demonstrations: Demonstrations, grasps: Grasps) -> Turns:
    """From where the joints stood at the start to the grasp.

    The least way of a joint is from its start straight to where it was at the grasp; that of the roll joint is to the
    nearest of the grasps that are as good by the symmetry of the object, within the joint's range. Whether the arm
    could have taken that one without touching anything is not asked: it is a lower bound.
    """
    first = demonstrations.first[grasps.episodes]
    start, end = demonstrations.measured[first], demonstrations.actions[grasps.frames]
    steps = np.abs(np.diff(demonstrations.actions, axis=0))
    travelled = np.concatenate([np.zeros((1, steps.shape[1])), np.cumsum(steps, axis=0)])
    path = travelled[grasps.frames] - travelled[first] + np.abs(demonstrations.actions[first] - start)
    roll = grasps.hand.roll
    turn_rad, roll_deg = _least_roll(grasps, start[:, roll], end[:, roll])
    least = np.abs(end - start)
    least[:, roll] = np.abs(roll_deg - start[:, roll])
    return Turns(path=path, least=least, turn_rad=turn_rad, roll_deg=roll_deg)


def _least_roll(grasps: Grasps, start: Array, end: Array) -> tuple[Array, Array]:
    """The turn of the hand, rad, and the roll, deg, of the equally good grasp that is nearest to the start, (n,)."""
    quarters = np.arange(4) * np.pi / 2
    turns = np.broadcast_to(quarters, (len(grasps), 4))
    rolls = np.degrees(roll_for_turn(grasps.axes[:, None], grasps.closings[:, None], turns))
    apart = np.maximum(np.round(grasps.grips_rad / (np.pi / 2)), 1)[:, None]
    good = (np.arange(4) % apart == 0) & (is_upright(grasps.axes)[:, None] | (np.arange(4) % 2 == 0))
    # A roll once round is another position of the joint.
    rounds = np.array([-360.0, 0.0, 360.0])
    candidates = end[:, None, None] + rolls[..., None] + rounds
    inside = (candidates >= grasps.hand.lower_deg - _STOP_DEG) & (candidates <= grasps.hand.upper_deg + _STOP_DEG)
    inside[:, 0, 1] = True
    ways = np.where(inside & good[..., None], np.abs(candidates - start[:, None, None]), np.inf)
    best = ways.reshape(len(grasps), 12).argmin(axis=1)
    found = np.take_along_axis(candidates.reshape(len(grasps), 12), best[:, None], axis=1)[:, 0]
    # A thing that looks the same at any angle can be taken with the roll that the hand has.
    any_angle = grasps.grips_rad == 0
    return np.where(any_angle, 0.0, quarters[best // 3]), np.where(any_angle, start, found)
