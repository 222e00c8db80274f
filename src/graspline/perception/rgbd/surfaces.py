"""Table tops and boards: a level plane with the rectangle it fills, as far as that is seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from graspline.perception.core.beliefs import UNKNOWN, Belief
from graspline.perception.core.outlines import Lens
from graspline.perception.core.silhouettes import beyond_px
from graspline.perception.rgbd.clouds import DepthView, Flags
from graspline.perception.rgbd.planes import Plane, SearchBox, expected_inverse
from graspline.rendering.picture import Array
from graspline.spatial.rotations import quaternion_from_matrix, rotation_z

# How the surface ends at a side: it drops, a wall rises, or that is not seen.
Side = Literal["drop", "rise", "unseen"]
# Pixels are on the plane within this many sigmas.
ON_SIGMAS = 3.5
# Parts of one surface may be this far apart in the picture, with something before them.
_BRIDGE_PX = 15
# What is beyond an edge is looked up this far from its last pixel; that pixel lies inside the edge by so much, as some
# at edges are lost.
_BEYOND_PX, _LOST_PX = (2, 3, 4, 5), 0.75
_BORDER_PX = 3
# Edges lie this near to the outline of all that is seen of a surface, and this near to its sides.
_NEAR_HULL_M, _NEAR_SIDE_M = 0.035, 0.015
# Between these percentiles most of them lie; something else may be seen as high, and stick out by this much.
_MOST, _STICKING_OUT_M = (2.5, 97.5), 0.045
# A side is seen if edges are on so much of it, or on this share.
_LEAST_SIDE_M, _LEAST_SIDE_SHARE = 0.10, 0.3
# What rises along this share of a side is a wall, counted in pieces of this length, and so is what is as high as this:
# things are not. Where that is not in sight, lower parts of a wall say where it is.
_WALL_SHARE, _COVER_M, _TALL_M, _LOW_M = 0.6, 0.02, (0.25, 0.60), (0.03, 0.25)
# Of a wall every other pixel is looked at; this many are one, and it is this far beyond what is seen at most.
_WALL_STRIDE_PX, _LEAST_OF_WALL, _BEYOND_M = 2, 60, 0.15
_TURNS = np.radians(np.arange(-45.0, 45.0, 1.5))
_SMALL_TURNS = np.radians(np.arange(-1.5, 1.51, 0.1))
# How well a rectangle is known that is seen well.
_SIGMA_M, _YAW_SIGMA_RAD = 0.005, 0.005


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Surface:
    """A level rectangle; its own x points away from the camera that saw it and y to the left. In O."""

    plane: Plane
    # (3,), the middle of what is seen of the rectangle, on the plane.
    middle_m: Array
    yaw_rad: float
    # Half its depth and half its width.
    half_m: tuple[float, float]
    # The sides towards and away from the camera, to its right and to its left.
    near: Side
    far: Side
    right: Side
    left: Side

    @property
    def rotation(self) -> Array:
        """R_OS."""
        return rotation_z(self.yaw_rad)

    def in_own_frame(self, points_m: Array) -> Array:
        """(..., 2): where points (..., 3) are, from the middle of the rectangle along its sides."""
        return np.einsum("...i,ij->...j", points_m - self.middle_m, self.rotation)[..., :2]

    def as_solid(self, thickness_m: float, name: str = UNKNOWN) -> Belief:
        """A slab of which this is the top."""
        return Belief(
            name=name,
            shape="box",
            position_m=self.middle_m - np.array([0.0, 0.0, thickness_m / 2]),
            quaternion=quaternion_from_matrix(self.rotation),
            half_extents_m=np.array([*self.half_m, thickness_m / 2]),
            position_sigma_m=_SIGMA_M,
            yaw_sigma_rad=_YAW_SIGMA_RAD,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SurfaceEdges:
    """Last pixels of a surface, (N, 2) in O above the plane, and (N,) whether something rises beyond them."""

    places_m: Array
    rises: Flags


def surface_of(view: DepthView, plane: Plane, within: SearchBox) -> Surface:
    """As much of a plane as hangs together within these bounds."""
    off = (view.inverse - expected_inverse(view, plane)) / np.float32(view.sigma)
    mask = _one_piece((np.abs(off) < ON_SIGMAS) & view.measured & within.holds(view.points_m))
    edges, hull = _edges(view, plane, mask, view.measured & (off > ON_SIGMAS))
    return _rectangle(view, plane, edges, hull)


def _one_piece(on: Flags) -> Flags:
    """The largest part of a surface without the specks that happen to be level with it."""
    ones = np.ones((3, 3), np.uint8)
    solid = cv2.morphologyEx(cv2.morphologyEx(on.astype(np.uint8), cv2.MORPH_CLOSE, ones), cv2.MORPH_OPEN, ones)
    bridged = cv2.morphologyEx(solid, cv2.MORPH_CLOSE, np.ones((_BRIDGE_PX, _BRIDGE_PX), np.uint8))
    count, labels, stats, _ = cv2.connectedComponentsWithStats(bridged)
    if count < 2:
        return on
    largest = 1 + int(np.argmax(stats[1:, cv2.CC_STAT_AREA]))
    return (labels == largest) & (solid > 0)


def _edges(view: DepthView, plane: Plane, mask: Flags, nearer: Flags) -> tuple[SurfaceEdges, Array]:
    """The last pixels of a mask up, down, left and right; and (V, 2) its outline, the picture's border included."""
    pixels, rises, whole = [], [], []
    for turns in range(4):
        piece, near = np.rot90(mask, turns), np.rot90(nearer, turns)
        columns = np.flatnonzero(piece.any(axis=0))
        first = np.argmax(piece[:, columns], axis=0)
        beyond = np.maximum(first[:, None] - np.array(_BEYOND_PX), 0)
        rises.append(near[beyond, columns[:, None]].mean(axis=1) > 0.5)
        pixels.append(_turned_back(first - _LOST_PX, columns, turns, mask.shape))
        whole.append(first >= _BORDER_PX)
    points = _on_plane(view.lens, plane, np.concatenate(pixels))
    hull = np.asarray(cv2.convexHull(points.astype(np.float32)), float).reshape(-1, 2)
    # Feet of things that stand there are edges as well, but not of the surface.
    outer = np.concatenate(whole) & (beyond_px(hull, points) < _NEAR_HULL_M)
    return SurfaceEdges(places_m=points[outer], rises=np.concatenate(rises)[outer]), hull


def _turned_back(row: Array, column: NDArray[np.intp], turns: int, shape: tuple[int, ...]) -> Array:
    """(N, 2): x and y in a picture of this shape of places in it after this many quarter turns."""
    height, width = shape
    x, y = (
        (column, row),
        (width - 1 - row, column),
        (width - 1 - column, height - 1 - row),
        (row, height - 1 - column),
    )[turns]
    return np.stack([x, y], axis=1).astype(float)


def _on_plane(lens: Lens, plane: Plane, pixels: Array) -> Array:
    """(N, 2): where rays through pixels (N, 2) meet the plane."""
    rays = lens.rays(pixels)
    reach = (plane.offset_m - plane.normal @ lens.position_m) / (rays @ plane.normal)
    return (lens.position_m + rays * reach[:, None])[:, :2]


def _rectangle(view: DepthView, plane: Plane, edges: SurfaceEdges, hull: Array) -> Surface:
    """The rectangle with as many edges as possible on its sides; a side without is as far away as anything was seen."""
    ahead = -view.lens.rotation[:2, 2]
    yaw = float(np.arctan2(ahead[1], ahead[0]))
    for turns in (_TURNS, _SMALL_TURNS):
        yaw += float(turns[np.argmin(_off_sides_m(edges.places_m, yaw + turns))])
    places, corners = _turned(edges.places_m, yaw), _turned(hull, yaw)
    tall, low = (_turned(_between(view, plane, heights), yaw) for heights in (_TALL_M, _LOW_M))
    ends, kinds = list[float](), list[Side]()
    for axis in (0, 1):
        for sign in (-1, 1):
            end, kind = _side(places, corners, axis, sign, edges.rises)
            # Through a wall towards the camera nothing would be seen; what is tall there is the edge of another board.
            wall = None if (axis, sign) == (0, -1) else _wall(tall, corners, axis, sign)
            if wall is None and kind == "rise":
                wall = _wall(low, corners, axis, sign)
            kinds.append(kind if wall is None else "rise")
            ends.append(end if wall is None else wall)
    first, last = np.array(ends[::2]), np.array(ends[1::2])
    x, y = _turned((first + last)[None] / 2, -yaw)[0].tolist()
    near, far, right, left = kinds
    return Surface(
        plane=plane,
        middle_m=np.array([x, y, plane.height_m(x, y)]),
        yaw_rad=yaw,
        half_m=(float(last[0] - first[0]) / 2, float(last[1] - first[1]) / 2),
        near=near,
        far=far,
        right=right,
        left=left,
    )


def _between(view: DepthView, plane: Plane, heights_m: tuple[float, float]) -> Array:
    """(N, 2): places where something is seen between two heights above a plane."""
    every = slice(None, None, _WALL_STRIDE_PX)
    points = view.points_m[:, every, every]
    heights = plane.above_m(points)
    between = view.measured[every, every] & (heights > heights_m[0]) & (heights < heights_m[1])
    return points[:2, between].T.astype(float)


def _wall(places: Array, corners: Array, axis: int, sign: int) -> float | None:
    """Where a wall rises at a side or, hidden by something, not far beyond; None where there is none."""
    out, along = sign * places[:, axis], places[:, 1 - axis]
    last, low, high = float((sign * corners[:, axis]).max()), corners[:, 1 - axis].min(), corners[:, 1 - axis].max()
    near = (out > last - _STICKING_OUT_M) & (out < last + _BEYOND_M) & (along > low) & (along < high)
    if near.sum() < _LEAST_OF_WALL:
        return None
    out, along = out[near], along[near]
    counts, bounds = np.histogram(out, np.arange(last - _STICKING_OUT_M, last + _BEYOND_M + 0.01, 0.01))
    inside = np.abs(out - bounds[int(np.argmax(counts))] - 0.005) < 0.01
    if inside.sum() < _LEAST_OF_WALL or np.ptp(np.percentile(along[inside], (5, 95))) < _LEAST_SIDE_M:
        return None
    return sign * float(np.median(out[inside]))


def _turned(places_m: Array, yaw_rad: float) -> Array:
    """(N, 2): places in a frame with this heading."""
    cosine, sine = np.cos(yaw_rad), np.sin(yaw_rad)
    x, y = places_m[:, 0], places_m[:, 1]
    return np.stack([cosine * x + sine * y, cosine * y - sine * x], axis=1)


def _off_sides_m(places_m: Array, yaws_rad: Array) -> Array:
    """(T,): how far edges are from the nearest side of the rectangle around most of them; far ones count all alike."""
    cosines, sines = np.cos(yaws_rad)[:, None], np.sin(yaws_rad)[:, None]
    nearest = np.full((len(yaws_rad), len(places_m)), _NEAR_SIDE_M)
    for a, b in ((cosines, sines), (-sines, cosines)):
        along = a * places_m[:, 0] + b * places_m[:, 1]
        low, high = np.percentile(along, _MOST, axis=1)[..., None]
        nearest = np.minimum(nearest, np.minimum(np.abs(along - low), np.abs(high - along)))
    return nearest.sum(axis=1)


def _side(places: Array, corners: Array, axis: int, sign: int, rises: Flags) -> tuple[float, Side]:
    """Where a side is along an axis, and how the surface ends there.

    It is the outermost line with enough edges on it. What sticks out farther, a wall's front that happens to be as
    high, is no part of the surface; without such a line the surface ends where it is last seen.
    """
    out, along = sign * places[:, axis], places[:, 1 - axis]
    least = min(_LEAST_SIDE_M, _LEAST_SIDE_SHARE * float(np.ptp(corners[:, 1 - axis])))
    last = float((sign * corners[:, axis]).max())
    for end in last - np.arange(0.0, _STICKING_OUT_M, _NEAR_SIDE_M / 2):
        at_side = np.abs(out - end) < _NEAR_SIDE_M / 2
        # Percentiles: single stray pixels are no side.
        if at_side.any() and np.ptp(np.percentile(along[at_side], (5, 95))) >= least:
            near = np.abs(out - float(np.median(out[at_side]))) < _NEAR_SIDE_M / 2
            end = sign * float(np.median(out[near]))
            if rises[near].mean() <= 0.5:
                return end, "drop"
            if _covered_m(along[near]) >= _WALL_SHARE * float(np.ptp(corners[:, 1 - axis])):
                return end, "rise"
            # Something that is no wall stands at the side, and hides it.
            break
    return sign * last, "unseen"


def _covered_m(along: Array) -> float:
    """How much of a line has places on it."""
    return len(np.unique(np.floor(along / _COVER_M))) * _COVER_M
