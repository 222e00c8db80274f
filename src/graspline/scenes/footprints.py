"""Where things touch the ground, seen from above: how far apart two are, and whether one fits on a surface."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.scenes.household import Item

Array = NDArray[np.float64]

_CORNERS = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConvexOutline:
    """A convex outline with round corners: points (n, 2), and a radius around all of what lies between them."""

    points_m: Array
    radius_m: float = 0.0


def outlines_of(item: Item, x_m: float, y_m: float, yaw_rad: float) -> tuple[ConvexOutline, ...]:
    """Of all its parts that can be touched; the item's middle is there and its heading is this."""
    cosine, sine = np.cos(yaw_rad), np.sin(yaw_rad)
    turn, middle = np.array([[cosine, -sine], [sine, cosine]]), np.array([x_m, y_m])
    outlines = []
    for part in item.parts:
        if not part.solid:
            continue
        half = np.array(part.half_extents_m[:2])
        round_m = 0.0 if part.shape == "box" else float(half[0])
        corners = np.array(part.position_m[:2]) + (_CORNERS * half if part.shape == "box" else np.zeros((1, 2)))
        outlines.append(ConvexOutline(points_m=middle + np.einsum("ij,nj->ni", turn, corners), radius_m=round_m))
    return tuple(outlines)


def reach_m(outlines: Sequence[ConvexOutline]) -> float:
    """How far outlines reach around the origin."""
    return max(float(np.hypot(*each.points_m.T).max()) + each.radius_m for each in outlines)


def half_box_m(outlines: Sequence[ConvexOutline]) -> Array:
    """(2,): half sides of the box around the origin, along the axes, that they are in."""
    return np.max([np.abs(each.points_m).max(axis=0) + each.radius_m for each in outlines], axis=0)


def gap_m(these: Sequence[ConvexOutline], those: Sequence[ConvexOutline]) -> float:
    """Between the nearest two; what overlaps has a gap of less than 0."""
    return min(_between_m(one, other) for one in these for other in those)


def _between_m(one: ConvexOutline, other: ConvexOutline) -> float:
    """The widest gap in any direction; that direction is square to an edge or points from corner to corner."""
    a, b = one.points_m, other.points_m
    edges = np.concatenate([np.roll(a, -1, axis=0) - a, np.roll(b, -1, axis=0) - b])
    ways = np.concatenate([(b[None] - a[:, None]).reshape(-1, 2), edges[:, ::-1] * (1, -1), edges[:, ::-1] * (-1, 1)])
    lengths = np.hypot(ways[:, 0], ways[:, 1])
    ways = ways[lengths > 0] / lengths[lengths > 0, None]
    if not len(ways):
        return -one.radius_m - other.radius_m
    gaps = np.einsum("nj,kj->kn", b, ways).min(axis=1) - np.einsum("nj,kj->kn", a, ways).max(axis=1)
    return float(gaps.max()) - one.radius_m - other.radius_m


def room_m(outlines: Sequence[ConvexOutline], half_extents_m: tuple[float, float]) -> float:
    """From the outlines to the nearest edge of a rectangle around the origin; less than 0 outside."""
    half = np.array(half_extents_m)
    return min(float((half - np.abs(each.points_m)).min()) - each.radius_m for each in outlines)
