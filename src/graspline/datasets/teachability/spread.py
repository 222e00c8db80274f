"""How far the joints of similar scenes differ at the first grasp, as they are and without the yaw of the objects."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.datasets.teachability.demonstrations import Demonstrations, Grasps
from graspline.datasets.teachability.hand import heading_of, is_upright, roll_for_turn
from graspline.datasets.teachability.neighbours import Neighbours
from graspline.datasets.teachability.scenes import folded

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

# A neighbour whose posture differs by more than this in a joint that turns has chosen otherwise.
OTHERWISE_DEG = 30.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Postures:
    """The joints of each of n scenes at its grasp and those of its neighbours, (n, neighbours, nu); nan without one."""

    own: Array
    theirs: Array
    # The same with the roll joint as it would be if the neighbour's object lay turned like one's own.
    carried: Array

    def spread(self, count: int, *, carried: bool) -> Array:
        """Most minus least of each joint over a scene and its `count` nearest, (n, nu); nan with fewer of them."""
        theirs = (self.carried if carried else self.theirs)[:, :count]
        return np.ptp(np.concatenate([self.own[:, None], theirs], axis=1), axis=1)

    def otherwise(self, joints: list[int]) -> Flags:
        """Whether each neighbour differs by more than 30 degrees in one of these joints, (n, neighbours)."""
        apart = np.abs(self.carried - self.own[:, None])[..., joints]
        return np.any(np.nan_to_num(apart) > OTHERWISE_DEG, axis=-1)


def postures(demonstrations: Demonstrations, grasps: Grasps, near: Neighbours) -> Postures:
    """As the arms grasped."""
    own = demonstrations.actions[grasps.frames]
    return _postures(grasps, near, own, heading_of(grasps.closings))


def least_turn_postures(
    demonstrations: Demonstrations, grasps: Grasps, near: Neighbours, turns_rad: Array, rolls_deg: Array
) -> Postures:
    """As they would have grasped with the hand turned about the vertical by these turns, (n,), to these rolls.

    With the turns that cost the least roll this is what a plain function of the scene shows among the same scenes.
    """
    own = demonstrations.actions[grasps.frames].copy()
    own[:, grasps.hand.roll] = rolls_deg
    return _postures(grasps, near, own, heading_of(grasps.closings) + turns_rad)


def _postures(grasps: Grasps, near: Neighbours, own: Array, headings: Array) -> Postures:
    missing = near.index < 0
    theirs = own[near.index]
    theirs[missing] = np.nan
    carried = theirs.copy()
    carried[..., grasps.hand.roll] = _carried_roll(grasps, near, own, headings)
    return Postures(own=own, theirs=theirs, carried=carried)


def _carried_roll(grasps: Grasps, near: Neighbours, own: Array, headings: Array) -> Array:
    """Rolls with which this scene's arm would take its object as each neighbour takes its own, (n, neighbours).

    A hand has to follow the yaw of its object, and neighbours differ in yaw by tens of degrees in any dataset of
    thousands: what is left after this is what was chosen. The hand's heading about the object is the neighbour's; the
    axis about which the hand rolls is one's own.
    """
    index, roll = near.index, own[:, grasps.hand.roll]
    period = np.maximum(grasps.looks_rad[:, None], grasps.looks_rad[index])
    yaw = folded(grasps.yaws_rad[index] - grasps.yaws_rad[:, None], period)
    own_heading = heading_of(grasps.closings)
    turn = headings[index] - yaw - headings[:, None]
    base = (headings - own_heading)[:, None]
    axes, closings = grasps.axes[:, None], grasps.closings[:, None]
    # From one's own posture, which may be another than the one in which the arm grasped.
    rolled = np.degrees(roll_for_turn(axes, closings, base + turn) - roll_for_turn(axes, closings, base))
    plain = roll[index] - roll[:, None]
    # Of angles that are the same, the one nearest to the plain difference: a joint is no circle.
    whole = rolled + 360 * np.round((plain - rolled) / 360)
    # A thing that looks the same at any angle gives a hand nothing to follow.
    kept = np.where(is_upright(axes) & (period > 0), whole, plain)
    return np.where(index < 0, np.nan, roll[:, None] + kept)
