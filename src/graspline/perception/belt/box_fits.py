"""Boxes of known sizes lying flat, each fitted to the outline of a blob: all blobs of a picture at once, for speed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from graspline.perception.core.gauss_newton import Flags
from graspline.perception.core.outlines import Array, Lens

Size = tuple[float, float, float]

# Points of an outline that are compared, headings tried before settling, over half a turn, and directions of the
# picture in which reaches are compared then.
POINTS = 64
_HEADINGS, _DIRECTIONS = 18, 16
_TURN = np.arange(_DIRECTIONS) * (2 * np.pi / _DIRECTIONS)
_TOWARDS = np.stack([np.cos(_TURN), np.sin(_TURN)])
_CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (0, 1)], float)
# No silhouette of a box has more sides. Shorter ones do not count.
_SIDES, _SHORT_PX = 6, 1.5
# One step of x, y and heading by which slopes are taken, and no step at all.
STEPS = np.array([1e-4, 1e-4, 5e-3])
_PROBES = np.concatenate([np.zeros((1, 3)), np.diag(STEPS)])
# Edges farther off, round by round, do not count.
_FARTHEST_PX = (np.inf, 4.0, 2.0)
# The doubt about a start, which keeps a heading that nothing tells from running away.
_DOUBT = np.array([0.05, 0.05, 0.5])
# What an edge that does not count says of the misfit.
_MOST_OFF_PX = 4.0
# A size whose reaches fit this much worse than the best one's is not the one.
_SIZE_WORSE, _SIZE_SLACK_PX = 1.5, 0.25
# Another size that settles nearly as well, where corners are hidden, may be the one.
_RIVAL_WORSE, _RIVAL_SLACK_PX = 1.25, 0.03
# Measured on 600 pictures from 0.25 to 0.7 m, half in any light, of 1,971 blocks: off by 0.03 mm (median), 0.17 (95 %)
# and 0.44 mm at most, and by 0.05° and 0.24°; stated are 0.12 mm and 0.28°, and 99 % are within twice that. From 1.1 m
# off by 0.12 and 0.55 mm, stated 0.27; touching each other 0.05 and 0.37 mm, stated 0.13, 98 % within twice that. Where
# edges are rendered jagged, errors are half as large again. Sizes were mistaken only of blocks partly hidden by others.
EDGE_SIGMA_PX = 0.4
_USUAL_MISFIT_PX = 0.15
# Errors that all points of an edge share, in pixels.
_SHARED_PX, _YAW_FLOOR_RAD = 0.11, 0.002
# Worse than this, a fit says little: the block may be anywhere in its blob.
BAD_MISFIT_PX = 0.9
_BAD_SIGMA_M, _BAD_YAW_RAD = 0.01, 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxFit:
    """A box and how well it explains the outline; heading of its first extent, not yet brought into any range."""

    size_m: Size
    x_m: float
    y_m: float
    yaw_rad: float
    sigma_m: float
    yaw_sigma_rad: float
    misfit_px: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outlines:
    """Edge points (B, M, 2) of blobs, where they are surely the blob's own (B, M), and the plane boxes lie on."""

    lens: Lens
    points_px: Array
    own: Flags
    level_m: float

    def only(self, chosen: NDArray[np.intp]) -> Outlines:
        """The chosen outlines."""
        return Outlines(lens=self.lens, points_px=self.points_px[chosen], own=self.own[chosen], level_m=self.level_m)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Starts:
    """(B, S): x, y and heading of the likeliest box of each size, and how badly it reaches as far as the blob."""

    poses: Array
    misfits_px: Array


def fit_boxes(outlines: Outlines, sizes_m: tuple[Size, ...]) -> list[BoxFit]:
    """The best box of these sizes for each blob."""
    starts = find_starts(outlines, sizes_m)
    least = starts.misfits_px.min(axis=1, keepdims=True)
    blob, size = np.nonzero(starts.misfits_px <= _SIZE_WORSE * least + _SIZE_SLACK_PX)
    extents = np.array(sizes_m)[size]
    chosen = outlines.only(blob)
    poses, normals, misses = _settle(chosen, extents, starts.poses[blob, size])
    misfits = misfits_px(misses, chosen.own)
    variances = np.asarray(np.linalg.inv(normals), float).diagonal(axis1=1, axis2=2)
    fits: list[BoxFit] = []
    for index in range(len(outlines.own)):
        mine = np.flatnonzero(blob == index)
        best = mine[np.argmin(misfits[mine])]
        rivals = mine[misfits[mine] <= _RIVAL_WORSE * misfits[best] + _RIVAL_SLACK_PX]
        astray = float(np.hypot(*(poses[rivals, :2] - poses[best, :2]).T).max())
        fit = as_fit(outlines, sizes_m[size[best]], poses[best], variances[best], float(misfits[best]))
        fits.append(replace(fit, sigma_m=float(np.hypot(fit.sigma_m, astray))))
    return fits


def as_fit(outlines: Outlines, size_m: Size, pose: Array, variance: Array, misfit_px: float) -> BoxFit:
    """Variances (3,) are those for an edge error of one pixel."""
    x, y, yaw = (float(each) for each in pose)
    # What fits badly is as much less certain.
    worse = max(1.0, misfit_px / _USUAL_MISFIT_PX)
    sigma_px = EDGE_SIGMA_PX * worse
    away = float((outlines.lens.position_m - (x, y, outlines.level_m)) @ outlines.lens.rotation[:, 2])
    sigma = float(np.hypot(sigma_px * np.sqrt(variance[:2].max()), _SHARED_PX * away / outlines.lens.focal_px))
    yaw_sigma = float(np.hypot(sigma_px * np.sqrt(variance[2]), _YAW_FLOOR_RAD))
    if misfit_px > BAD_MISFIT_PX:
        sigma, yaw_sigma = max(sigma, _BAD_SIGMA_M), max(yaw_sigma, _BAD_YAW_RAD)
    return BoxFit(size_m=size_m, x_m=x, y_m=y, yaw_rad=yaw, sigma_m=sigma, yaw_sigma_rad=yaw_sigma, misfit_px=misfit_px)


def misfits_px(misses_px: Array, own: Flags) -> Array:
    """(...,): root mean square of how far off edges (..., M) are; beyond what may hide a box it may reach farther."""
    off = np.where(own, np.abs(misses_px), np.maximum(-misses_px, 0.0))
    return np.sqrt(np.mean(np.minimum(off, _MOST_OFF_PX) ** 2, axis=-1))


def find_starts(outlines: Outlines, sizes_m: tuple[Size, ...]) -> Starts:
    """In each direction of the picture a blob and a box reach so far; what no shift explains of the difference tells
    headings and sizes apart."""
    lens, points = outlines.lens, outlines.points_px
    along = points @ _TOWARDS
    reach = along.max(axis=1)
    seen = np.take_along_axis(outlines.own, along.argmax(axis=1), axis=1)
    seen[seen.sum(axis=1) < _DIRECTIONS // 4] = True
    middles = (points.min(axis=1) + points.max(axis=1)) / 2
    rays = lens.rays(middles)
    towards = _TOWARDS.T * seen[..., None]
    # (B, D, D): takes out of a difference what a shift of the blob explains, in directions that are seen.
    unshift = np.linalg.pinv(towards)
    turns = np.arange(_HEADINGS) * (np.pi / _HEADINGS)
    poses, misfits = [], []
    for size in sizes_m:
        # A quarter turn of a square changes nothing.
        count = _HEADINGS // 2 if size[0] == size[1] else _HEADINGS
        tried = np.empty((len(points), count, 3))
        tried[..., :2] = lens.on_level(rays, outlines.level_m + size[2] / 2)[:, None, :2]
        tried[..., 2] = turns[:count]
        reaches = (corners_px(outlines, np.array(size), tried) @ _TOWARDS).max(axis=2)
        off = (reach[:, None] - reaches) * seen[:, None]
        shifts = off @ unshift.swapaxes(1, 2)
        left = off - shifts @ towards.swapaxes(1, 2)
        squares = (left * left).sum(axis=2) / seen.sum(axis=1)[:, None]
        best = squares.argmin(axis=1)
        each = np.arange(len(points))
        moved = lens.on_level(lens.rays(middles + shifts[each, best]), outlines.level_m + size[2] / 2)
        poses.append(np.column_stack([moved[:, :2], turns[best]]))
        misfits.append(np.sqrt(squares[each, best]))
    return Starts(poses=np.stack(poses, axis=1), misfits_px=np.stack(misfits, axis=1))


def corners_px(outlines: Outlines, extents_m: Array, poses: Array) -> Array:
    """(..., 8, 2): corners in the picture of boxes of extents (3,) or (..., 3) at poses (..., 3): x, y and heading."""
    offsets = _CORNERS * extents_m[..., None, :]
    cosine, sine = np.cos(poses[..., 2:]), np.sin(poses[..., 2:])
    corners = np.empty((*poses.shape[:-1], 8, 3))
    corners[..., 0] = poses[..., :1] + cosine * offsets[..., 0] - sine * offsets[..., 1]
    corners[..., 1] = poses[..., 1:2] + sine * offsets[..., 0] + cosine * offsets[..., 1]
    corners[..., 2] = outlines.level_m + offsets[..., 2]
    return outlines.lens.pixels(corners)


def beyond_px(corners: Array, points_px: Array) -> Array:
    """(B, P, M): how far boxes with these corners (B, P, 8, 2), alike for all P, reach beyond points (B, M, 2)."""
    sides = np.stack([_sides(each) for each in corners[:, 0].astype(np.float32)])
    each = np.arange(len(corners))[:, None]
    start, end = corners[each, :, sides[:, 0]], corners[each, :, sides[:, 1]]
    along = end - start
    along /= np.hypot(along[..., 0], along[..., 1])[..., None]
    # OpenCV walks a hull with the inside to the same hand always, so that these, (B, E, P, 2), point outward.
    normals = np.stack([along[..., 1], -along[..., 0]], axis=-1)
    offsets = (normals * start).sum(axis=-1)
    return (offsets[..., None] - normals @ points_px[:, None].swapaxes(2, 3)).min(axis=1)


def _sides(corners: NDArray[np.float32]) -> NDArray[np.intp]:
    """(2, E): first and last corner of each side of the hull; where there are fewer, the last one again.

    A side of less than a pixel, as a box has that is looked at from right above, turns by any angle as the box turns by
    a little, and is left out.
    """
    ring = np.asarray(cv2.convexHull(corners, returnPoints=False), np.intp).ravel()
    ends = np.concatenate([ring[1:], ring[:1]])
    along = corners[ends] - corners[ring]
    long = np.flatnonzero(np.abs(along).sum(axis=1) >= _SHORT_PX)
    at = long[np.minimum(np.arange(_SIDES), len(long) - 1)]
    return np.stack([ring[at], ends[at]])


def _settle(outlines: Outlines, extents_m: Array, poses: Array) -> tuple[Array, Array, Array]:
    """Gauss and Newton, as `settling.settle` does it for one shape: poses, normal matrices and misses."""
    prior = np.diag((EDGE_SIGMA_PX / _DOUBT) ** 2)
    believed = poses
    normals, misses = np.zeros((len(poses), 3, 3)), np.zeros(outlines.own.shape)
    for far_px in _FARTHEST_PX:
        corners = corners_px(outlines, extents_m[:, None], poses[:, None] + _PROBES)
        found = beyond_px(corners, outlines.points_px)
        misses = found[:, 0]
        counted = np.where(outlines.own, np.abs(misses) <= far_px, misses < 0)
        slopes = (found[:, 1:] - found[:, :1]) / STEPS[:, None] * counted[:, None]
        normals = slopes @ slopes.swapaxes(1, 2) + prior
        pull = (slopes @ misses[..., None])[..., 0] + (poses - believed) @ prior
        change = np.linalg.solve(normals, pull[..., None])[..., 0]
        poses = poses - np.clip(change, -_DOUBT / 2, _DOUBT / 2)
    return poses, normals, misses
