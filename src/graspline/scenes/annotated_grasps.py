"""Ways to take an item that are known beforehand, in the item's own frame: origin in its middle, z up as it stands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from graspline.spatial.rotations import rotate, rotation_z

Array = NDArray[np.float64]
Vector = tuple[float, float, float]
Turn = tuple[float, float]

# Nothing wider is annotated: of the hand's 135 mm, fingers need the rest to come in beside it.
WIDEST_M = 0.10
ANY_TURN: Turn = (-np.pi, np.pi)
# How far down the hand looks as it comes: level, two slants, and from above.
_LEVEL_RAD, *_SLANTS_RAD, _ABOVE_RAD = np.radians([0.0, 30.0, 50.0, 90.0]).tolist()
# A level hand is so thick that its fingertips stay this far above what the item stands on.
_LOWEST_M = 0.045
# From above, fingertips come this far below an item's top; over a face they come from, at most this far: behind that
# the fingers' links would hold what is wide, and pads nothing.
_BELOW_TOP_M = 0.035
_OVER_FACE_M = 0.045


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatedGrasp:
    """One way to take an item.

    The hand comes along `approach` until the middle between its fingertips is at `point_m`, and closes along `opening`
    on something `width_m` wide. Fingers may swap places: the opposite opening is as good. All of it may be turned
    about the item's z by any angle within `turn_rad`.
    """

    kind: Literal["side", "slanted", "top"]
    point_m: Vector
    approach: Vector
    opening: Vector
    width_m: float
    turn_rad: Turn = (0.0, 0.0)

    @property
    def rotation(self) -> Array:
        """(3, 3), R_OG: the tool's axes as columns; x approaches, z opens."""
        x, z = np.array(self.approach), np.array(self.opening)
        return np.stack([x, np.cross(z, x), z], axis=1)

    def turned(self, angle_rad: float) -> AnnotatedGrasp:
        """The grasp at one angle of its range."""
        point, approach, opening = (
            _vector(rotate(rotation_z(angle_rad), np.array(each)))
            for each in (self.point_m, self.approach, self.opening)
        )
        return replace(self, point_m=point, approach=approach, opening=opening, turn_rad=(0.0, 0.0))

    def spread(self, step_rad: float) -> tuple[AnnotatedGrasp, ...]:
        """The grasp at angles all over its range, evenly and at most so far apart; of a full turn no angle twice."""
        low, high = self.turn_rad
        gaps = int(np.ceil((high - low) / step_rad - 1e-9))
        angles = np.linspace(low, high, gaps + 1)
        whole = gaps > 0 and np.isclose(high - low, 2 * np.pi)
        return tuple(self.turned(float(angle)) for angle in (angles[:-1] if whole else angles))


def grasps_of_cylinder(
    radius_m: float, low_m: float, high_m: float, bottom_m: float, turn_rad: Turn = ANY_TURN
) -> tuple[AnnotatedGrasp, ...]:
    """From the side at any angle within `turn_rad` of coming along x, and from above.

    The part that can be held reaches from `low_m` to `high_m`; the item stands on `bottom_m`.
    """
    middle_m = max((low_m + high_m) / 2, bottom_m + _LOWEST_M)
    upper_m = max(middle_m, high_m - _BELOW_TOP_M)
    heights = {_LEVEL_RAD: middle_m, **dict.fromkeys((*_SLANTS_RAD, _ABOVE_RAD), upper_m)}
    # Half a turn brings a hand from above back to where it was.
    half: Turn = (max(turn_rad[0], -np.pi / 2), min(turn_rad[1], np.pi / 2))
    return tuple(
        _coming((1.0, 0.0), down_rad, (0.0, 0.0, z_m), 2 * radius_m, half if down_rad == _ABOVE_RAD else turn_rad)
        for down_rad, z_m in heights.items()
    )


def grasps_of_ball(radius_m: float) -> tuple[AnnotatedGrasp, ...]:
    """Slanted and from above; a level hand would scrape over what the ball lies on."""
    return tuple(
        _coming((1.0, 0.0), down_rad, (0.0, 0.0, 0.0), 2 * radius_m, turn)
        for down_rad, turn in (*((each, ANY_TURN) for each in _SLANTS_RAD), (_ABOVE_RAD, (-np.pi / 2, np.pi / 2)))
    )


def grasps_of_box(half_extents_m: Vector) -> tuple[AnnotatedGrasp, ...]:
    """Across every side that is narrow enough: over either face beside it, level and slanted, and from above."""
    return tuple(
        grasp
        for across in (0, 1)
        if 2 * half_extents_m[across] <= WIDEST_M
        for grasp in _across(half_extents_m, across)
    )


def _across(half_extents_m: Vector, across: int) -> Iterator[AnnotatedGrasp]:
    along = 1 - across
    height_m, width_m = half_extents_m[2], 2 * half_extents_m[across]
    middle_m = max(0.0, _LOWEST_M - height_m)
    upper_m = max(middle_m, height_m - _BELOW_TOP_M)
    for sign in (1.0, -1.0):
        heading = (sign, 0.0) if along == 0 else (0.0, sign)
        back_m = sign * max(half_extents_m[along] - _OVER_FACE_M, 0.0)
        for down_rad, z_m in ((_LEVEL_RAD, middle_m), *((each, upper_m) for each in _SLANTS_RAD)):
            point = (-back_m, 0.0, z_m) if along == 0 else (0.0, -back_m, z_m)
            yield _coming(heading, down_rad, point, width_m)
    yield _coming((1.0, 0.0) if along == 0 else (0.0, 1.0), _ABOVE_RAD, (0.0, 0.0, upper_m), width_m)


def _coming(
    heading: tuple[float, float], down_rad: float, point_m: Vector, width_m: float, turn_rad: Turn = (0.0, 0.0)
) -> AnnotatedGrasp:
    """A hand that comes along a level heading, looking so far down, and opens level."""
    x, y = heading
    above = down_rad == _ABOVE_RAD
    level, drop = (0.0, 1.0) if above else (float(np.cos(down_rad)), float(np.sin(down_rad)))
    return AnnotatedGrasp(
        kind="top" if above else "slanted" if drop else "side",
        point_m=point_m,
        approach=(level * x, level * y, -drop),
        opening=(-y, x, 0.0),
        width_m=width_m,
        turn_rad=turn_rad,
    )


def _vector(array: Array) -> Vector:
    x, y, z = array.tolist()
    return x, y, z
