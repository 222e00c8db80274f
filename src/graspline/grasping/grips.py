"""Between which sides of an object a hand that points straight down may close."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Measurement, at_least, at_most
from graspline.grasping.sides import Sides, sides_of
from graspline.perception.core.beliefs import Belief
from graspline.robots.hand import Hand
from graspline.spatial.rotations import matrix_from_quaternion

Array = NDArray[np.float64]

# How far an object may lean and still be taken from above.
MAX_LEAN_RAD = 0.2
# Sides that are turned by less than this from the best ones are no others.
_CROSSWISE_RAD = np.radians(45.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Grip:
    """Two opposite sides of an object, as it is believed to stand."""

    # Along which the jaws close; the other way round is as good.
    heading_rad: float
    # (3,): half way between the sides, at the height of the hand's tool point.
    centre_m: Array
    half_width_m: float
    # The middle of the object's height, and half of that.
    middle_m: float
    half_height_m: float
    # From where to where pads touch both sides, and up to where it is as wide; None where that is all of its height.
    sides_m: tuple[float, float] | None = None
    shoulder_m: float | None = None


def grips_of(
    estimate: Belief, hand: Hand, ground_m: float, height_m: float = 0.0, *, crosswise: bool = False
) -> tuple[Grip, ...] | Measurement:
    """Every pair of sides worth a plan, the best first; or what of the object's shape offers none.

    Fingertips stay `ground_m` above the table; with `height_m` the tool point goes there. The best pair is the nearest,
    or `crosswise` the one across.
    """
    if estimate.solid is not None:
        return _mesh_grips(estimate, hand, ground_m, height_m, crosswise=crosswise)
    axes = _axes(estimate)
    if isinstance(axes, Measurement):
        return axes
    grip, up = axes[1 if crosswise else 0], axes[2]
    axis, height = estimate.rotation[:, grip], height_m or float(estimate.position_m[2])
    return (
        Grip(
            heading_rad=float(np.arctan2(axis[1], axis[0])),
            centre_m=np.array([estimate.position_m[0], estimate.position_m[1], height]),
            half_width_m=float(estimate.half_extents_m[grip]),
            middle_m=float(estimate.position_m[2]),
            half_height_m=float(estimate.half_extents_m[up]),
        ),
    )


def _axes(estimate: Belief) -> tuple[int, int, int] | Measurement:
    """Indices of the short, the long and the upright axis; or how far none of them is upright."""
    if estimate.shape == "ball":
        return 0, 1, 2
    rotation = estimate.rotation
    up = int(np.argmax(np.abs(rotation[2])))
    lean = float(np.arccos(np.clip(abs(rotation[2, up]), -1, 1)))
    if lean > MAX_LEAN_RAD:
        return at_most("object_lean", lean, MAX_LEAN_RAD, "rad")
    if estimate.shape == "cylinder" and up != 2:
        return at_most("object_lean", np.pi / 2, MAX_LEAN_RAD, "rad")
    short, long = sorted(
        (axis for axis in range(3) if axis != up), key=lambda axis: float(estimate.half_extents_m[axis])
    )
    return short, long, up


def _mesh_grips(
    estimate: Belief, hand: Hand, ground_m: float, height_m: float, *, crosswise: bool
) -> tuple[Grip, ...] | Measurement:
    solid, rest = estimate.solid, estimate.rest
    assert solid is not None
    assert rest is not None
    lean = float(np.arccos(np.clip(estimate.uprightness, -1, 1)))
    if lean > MAX_LEAN_RAD:
        return at_most("object_lean", lean, MAX_LEAN_RAD, "rad")
    foot_m = float(estimate.position_m[2]) - rest.height_m
    sides = sides_of(solid, rest, hand, ground_m, max(height_m - foot_m, 0.0) if height_m else 0.0)
    if not sides:
        return at_least("opposite_upright_sides", 0, 1)
    if crosswise:
        across = [each for each in sides if _between(each, sides[0]) >= _CROSSWISE_RAD]
        sides = (*across, *(each for each in sides if each not in across))
    # About the vertical, from how the solid rests to how it is turned.
    turned = estimate.rotation @ matrix_from_quaternion(rest.quaternion).T
    turn = float(np.arctan2(turned[1, 0] - turned[0, 1], turned[0, 0] + turned[1, 1]))
    cosine, sine = np.cos(turn), np.sin(turn)
    x, y, _ = estimate.position_m
    return tuple(
        Grip(
            heading_rad=each.heading_rad + turn,
            centre_m=np.array(
                [
                    x + cosine * each.middle_m[0] - sine * each.middle_m[1],
                    y + sine * each.middle_m[0] + cosine * each.middle_m[1],
                    foot_m + each.middle_m[2],
                ]
            ),
            half_width_m=each.half_width_m,
            middle_m=foot_m + (rest.height_m + rest.rise_m) / 2,
            half_height_m=(rest.height_m + rest.rise_m) / 2,
            sides_m=(foot_m + each.low_m, foot_m + each.high_m),
            shoulder_m=foot_m + each.shoulder_m,
        )
        for each in sides
    )


def _between(one: Sides, other: Sides) -> float:
    """The angle between two headings, of which both ways count."""
    apart = abs(one.heading_rad - other.heading_rad) % np.pi
    return min(apart, np.pi - apart)
