"""Where a solid offers two sides to the fingers: opposite, nearly upright patches that flat pads touch together."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.robots.hand import Hand
from graspline.scenes.meshes.resting import Rest
from graspline.scenes.meshes.solid import Solid
from graspline.spatial.rotations import matrix_from_quaternion

Array = NDArray[np.float64]

# The sides are seen on a grid of this step, from directions so far apart.
_CELL_M = 0.0025
_TURN_RAD = np.radians(15.0)
# Faces this large, of all that are nearly upright, are looked at straight.
_LARGE = 0.05
# A finger is at least this wide each way, and what is nearer than this passes it.
_PAD_M, _BESIDE_M = 0.005, 0.009
# A pad touches what is this near to the farthest point, if it is not turned away by more than this.
_TOUCH_M, _SQUARE = 0.0006, np.cos(np.radians(10.0))
# What stands back from the sides by more than this is above their shoulder.
_SHOULDER_M = 0.003
# Of the height of a pad, both patches share at least this, and their middles are this near across it.
_SHARED_M, _ACROSS_M = 0.005, 0.003
# What a grip costs: its distance from the centre of mass across and in height, and its width; metres each.
_OFF_COST, _HEIGHT_COST, _WIDTH_COST = 2.0, 0.5, 0.3
_MOST_LEVELS, _MOST_EACH = 7, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """Two sides between which a hand that points straight down may close, in the frame of a solid that rests.

    That frame stands on the table below the solid's origin; about the vertical it is not turned from how `Rest` has it.
    """

    heading_rad: float
    # Half way between the sides: x, y, and the height of the hand's tool point.
    middle_m: tuple[float, float, float]
    half_width_m: float
    # From where to where pads touch both.
    low_m: float
    high_m: float
    # Up to where it is about as wide as between the sides.
    shoulder_m: float
    cost: float


@functools.lru_cache(maxsize=256)
def sides_of(solid: Solid, rest: Rest, hand: Hand, ground_m: float, height_m: float = 0.0) -> tuple[Sides, ...]:
    """Every pair of sides that is worth a plan, the best first, fingertips `ground_m` above the table at least; at
    this height of the tool point, or at any (0)."""
    found: list[Sides] = []
    top_m = rest.height_m + rest.rise_m
    lowest_m = ground_m + hand.lowest_m
    levels = [height_m] if height_m else _levels(lowest_m, top_m, rest.height_m)
    for outline in _outlines(solid, rest):
        here = [each for level in levels for each in outline.sides_at(level, hand)]
        found += sorted(here, key=lambda each: each.cost)[:_MOST_EACH]
    return tuple(sorted(found, key=lambda each: each.cost))


def _levels(lowest_m: float, top_m: float, usual_m: float) -> list[float]:
    """Heights of the tool point: as other things are taken, and from the lowest one up to nearly the top."""
    highest_m = max(lowest_m, top_m - _SHARED_M)
    levels = np.linspace(lowest_m, highest_m, _MOST_LEVELS).tolist() if highest_m > lowest_m else [lowest_m]
    return sorted({*levels, max(usual_m, lowest_m)})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Outline:
    """A solid seen along one heading: on a grid across and up, where it begins and ends, and how square it is there."""

    heading_rad: float
    # Cells across (n,) and up (m,).
    across_m: Array
    up_m: Array
    # (n, m): NaN where it is not.
    back_m: Array
    front_m: Array
    back_square: NDArray[np.bool_]
    front_square: NDArray[np.bool_]
    # The centre of mass: along the heading, across and up.
    centre_m: tuple[float, float, float]

    def sides_at(self, level_m: float, hand: Hand) -> list[Sides]:
        """The sides at one height of the tool point, for each place across."""
        tip_m, above_m = hand.tip_m - hand.tool_m[0], hand.tool_m[0] - hand.grip_from_m
        column = self.up_m >= level_m - hand.lowest_m
        band = (self.up_m >= level_m - tip_m) & (self.up_m <= level_m + above_m)
        if not band.any():
            return []
        found = [self._sides(float(at), level_m, column, band) for at in self.across_m]
        return [each for each in found if each is not None]

    def _sides(self, at_m: float, level_m: float, column: NDArray[np.bool_], band: NDArray[np.bool_]) -> Sides | None:
        away = np.abs(self.across_m - at_m)
        beside, pad = away <= _BESIDE_M, away <= _PAD_M
        back, front = self.back_m[np.ix_(beside, column)], self.front_m[np.ix_(beside, column)]
        if np.isnan(front).all():
            return None
        first, last = float(np.nanmin(back)), float(np.nanmax(front))
        window = np.ix_(pad, band)
        on_back = (self.back_m[window] <= first + _TOUCH_M) & self.back_square[window]
        on_front = (self.front_m[window] >= last - _TOUCH_M) & self.front_square[window]
        rows = on_back.any(axis=0) & on_front.any(axis=0)
        if np.count_nonzero(rows) * _CELL_M < _SHARED_M:
            return None
        across = self.across_m[pad]
        middles = [float((each.sum(axis=1) * across).sum() / each.sum()) for each in (on_back, on_front)]
        if abs(middles[0] - middles[1]) > _ACROSS_M:
            return None
        heights = self.up_m[band][rows]
        with np.errstate(invalid="ignore"):
            wide = (back <= first + _SHOULDER_M).any(axis=0) | (front >= last - _SHOULDER_M).any(axis=0)
        along, _, up = self.centre_m
        off_m = float(np.hypot(sum(middles) / 2 - self.centre_m[1], 0.2 * ((first + last) / 2 - along)))
        cost = _OFF_COST * off_m + _HEIGHT_COST * abs(float(heights.mean()) - up) + _WIDTH_COST * (last - first)
        cosine, sine, middle = np.cos(self.heading_rad), np.sin(self.heading_rad), (first + last) / 2
        return Sides(
            heading_rad=self.heading_rad,
            middle_m=(float(cosine * middle - sine * at_m), float(sine * middle + cosine * at_m), level_m),
            half_width_m=(last - first) / 2,
            low_m=float(heights.min()) - _CELL_M / 2,
            high_m=float(heights.max()) + _CELL_M / 2,
            shoulder_m=float(self.up_m[column][wide].max()) + _CELL_M / 2,
            cost=round(cost, 6),
        )


@functools.lru_cache(maxsize=64)
def _outlines(solid: Solid, rest: Rest) -> tuple[_Outline, ...]:
    """A solid that rests like this, seen along every heading that is worth it."""
    rotation = matrix_from_quaternion(rest.quaternion)
    lift = np.array([0.0, 0.0, rest.height_m])
    triangles = np.concatenate([each.triangles for each in solid.parts]) @ rotation.T + lift
    centre = rotation @ solid.centre_m + lift
    a, b, c = triangles.transpose(1, 0, 2)
    normals = np.cross(b - a, c - a) / 2
    return tuple(_outline(triangles, normals, centre, heading) for heading in _headings(normals))


def _headings(normals: Array) -> list[float]:
    """Half a turn in even steps, and square to every large face that is nearly upright."""
    areas = np.linalg.norm(normals, axis=1)
    upright = np.abs(normals[:, 2]) <= np.sqrt(1 - _SQUARE**2) * areas
    angles = np.arctan2(normals[upright, 1], normals[upright, 0]) % np.pi
    wanted = np.round(np.degrees(angles)).astype(int) % 180
    share = np.bincount(wanted, weights=areas[upright], minlength=180) / areas.sum()
    square = [float(np.median(angles[wanted == degree])) for degree in np.flatnonzero(share >= _LARGE)]
    even = np.arange(0.0, np.pi - 1e-9, _TURN_RAD).tolist()
    return square + [each for each in even if all(abs(np.sin(each - other)) > np.sin(0.05) for other in square)]


def _outline(triangles: Array, normals: Array, centre: Array, heading: float) -> _Outline:
    cosine, sine = np.cos(heading), np.sin(heading)
    turned = np.array([[cosine, sine, 0.0], [-sine, cosine, 0.0], [0.0, 0.0, 1.0]])
    corners, along = triangles @ turned.T, (normals @ turned.T)[:, 0]
    square = np.abs(along) >= _SQUARE * np.linalg.norm(normals, axis=1)
    low, high = corners.reshape(-1, 3).min(axis=0), corners.reshape(-1, 3).max(axis=0)
    across, up = (np.arange(low[axis] + _CELL_M / 2, high[axis], _CELL_M) for axis in (1, 2))
    shape = len(across), len(up)
    back, front = np.full(shape, np.inf), np.full(shape, -np.inf)
    back_square, front_square = np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
    for index in np.flatnonzero(np.abs(along) > 1e-12):
        # Only the cells that the triangle may cover.
        least, most = corners[index, :, 1:].min(axis=0), corners[index, :, 1:].max(axis=0)
        rows = slice(*np.searchsorted(across, (least[0] - 1e-9, most[0] + 1e-9)))
        columns = slice(*np.searchsorted(up, (least[1] - 1e-9, most[1] + 1e-9)))
        depth = _depth(corners[index], across[rows], up[columns])
        if not depth.size:
            continue
        if along[index] < 0:
            nearer = depth < back[rows, columns]
            back[rows, columns][nearer] = depth[nearer]
            back_square[rows, columns][nearer] = square[index]
        else:
            nearer = np.where(np.isnan(depth), -np.inf, depth) > front[rows, columns]
            front[rows, columns][nearer] = depth[nearer]
            front_square[rows, columns][nearer] = square[index]
    there = np.isfinite(back) & np.isfinite(front)
    x, y, z = (turned @ centre).tolist()
    return _Outline(
        heading_rad=heading,
        across_m=across,
        up_m=up,
        back_m=np.where(there, back, np.nan),
        front_m=np.where(there, front, np.nan),
        back_square=back_square,
        front_square=front_square,
        centre_m=(x, y, z),
    )


def _depth(corner: Array, across: Array, up: Array) -> Array:
    """(n, m): how far along the view a triangle is at each cell, NaN beside it."""
    (d0, s0, z0), (d1, s1, z1), (d2, s2, z2) = corner
    area = (s1 - s0) * (z2 - z0) - (s2 - s0) * (z1 - z0)
    s, z = across[:, None] - s0, up[None] - z0
    first = (s * (z2 - z0) - z * (s2 - s0)) / area
    second = (z * (s1 - s0) - s * (z1 - z0)) / area
    inside = (first >= -1e-6) & (second >= -1e-6) & (first + second <= 1 + 1e-6)
    return np.where(inside, d0 + first * (d1 - d0) + second * (d2 - d0), np.nan)
