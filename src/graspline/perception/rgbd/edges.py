"""Where a cluster ends in the picture, to a fraction of a pixel: by colour where there is contrast, else by depth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from graspline.perception.core.outlines import Array
from graspline.perception.rgbd.above_surface import Ground
from graspline.perception.rgbd.clouds import DepthView, Flags, Image
from graspline.perception.rgbd.clusters import Cluster

# Holes and ragged edges of a mask are closed over this many pixels.
_CLOSE_PX = 5
# Neighbours this far along a contour give its direction; one point in three is kept.
_TANGENT_STEPS, _EVERY = 4, 3
# Where colours across an edge are sampled, in pixels outward; the ends say what is inside and outside.
_ACROSS_PX = np.arange(-3.0, 3.25, 0.5)
_INNER, _OUTER = slice(0, 3), slice(-3, None)
# Less contrast than this, of 255, and the edge is where depth has it, about half a pixel outside the last pixel.
_LEAST_CONTRAST, _BLUNT_PX = 12.0, 0.5
# One standard deviation of an edge's place.
_SHARP_SIGMA_PX, _BLUNT_SIGMA_PX = 0.4, 1.2
# What is seen beside an edge and within it is looked up so far from it.
_BESIDE_PX, _WITHIN_PX = (2.0, 3.0, 4.0), (-1.0, -2.0, -3.0)
# With fewer depths than this there, it is looked up farther away.
_LEAST_BESIDE, _FARTHER_PX = 2, (6.0, 9.0, 12.0)
# It hides the thing if it is nearer by this many sigmas and this, per metre.
_NEARER_SIGMAS, _NEARER = 3.0, 0.004
# It is something else if it is farther by this, per metre, or if its colour without light differs by this.
_FAR_BEHIND, _OTHER_COLOUR = 0.12, 0.045
# A backdrop looks the same, to so much of 255, this far away from an edge.
_AWAY_PX, _SAME = (12.0, 14.0, 16.0), 8.0
_BORDER_PX = 4
# Lower than this a thing cannot be distinguished from what it stands on.
_FOOT_M = 0.014


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ObjectEdges:
    """Points on a contour (M, 2), one standard deviation of each, and whether the thing ends there or may go on."""

    points_px: Array
    sigma_px: Array
    own: Flags


def find_object_edges(ground: Ground, cluster: Cluster) -> ObjectEdges:
    """Edges of a cluster above its foot."""
    points, normals = _contours(cluster, ground.heights_m.shape)
    points, normals = _above_foot(ground.heights_m, points, normals)
    own = _is_own(ground.view, points, normals)
    shift, sharp = _shifts_px(ground.view.rgb, points, normals)
    return ObjectEdges(
        points_px=points + shift[:, None] * normals,
        sigma_px=np.where(sharp, _SHARP_SIGMA_PX, _BLUNT_SIGMA_PX),
        own=own,
    )


def _contours(cluster: Cluster, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Points (M, 2) along the outside of a cluster and the normals out of it, without those at the picture's border."""
    margin = _CLOSE_PX + _TANGENT_STEPS
    top, left = int(cluster.rows.min()) - margin, int(cluster.columns.min()) - margin
    size = int(np.ptp(cluster.rows)) + 2 * margin + 1, int(np.ptp(cluster.columns)) + 2 * margin + 1
    mask = np.zeros(size, np.uint8)
    mask[cluster.rows - top, cluster.columns - left] = 1
    mask = cv2.morphologyEx(mask, cv2.MORPH_CLOSE, np.ones((_CLOSE_PX, _CLOSE_PX), np.uint8))
    contours, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    longest = max(contours, key=len)
    loop = np.asarray(longest, float).reshape(-1, 2) + np.array([left, top])
    along = np.roll(loop, -_TANGENT_STEPS, axis=0) - np.roll(loop, _TANGENT_STEPS, axis=0)
    normals = np.stack([-along[:, 1], along[:, 0]], axis=1)
    normals = normals / np.maximum(np.hypot(*normals.T), 1e-9)[:, None]
    height, width = shape
    x, y = loop.T
    whole = (np.minimum(x, y) >= _BORDER_PX) & (x < width - _BORDER_PX) & (y < height - _BORDER_PX)
    chosen = np.flatnonzero(whole)[::_EVERY]
    return loop[chosen], normals[chosen]


def _above_foot(heights_m: Image, points: Array, normals: Array) -> tuple[Array, Array]:
    inside = _looked_up(heights_m, points, normals, _WITHIN_PX)
    lowest = np.where(inside > 0, inside, np.inf).min(axis=1, initial=np.inf)
    high = (lowest > _FOOT_M) & (lowest < np.inf)
    return points[high], normals[high]


def _looked_up(image: NDArray[Any], points: Array, normals: Array, at_px: tuple[float, ...]) -> NDArray[Any]:
    """(M, K) or (M, K, 3): an image so far outward from each point, at the nearest pixel."""
    there = np.rint(points[:, None] + np.array(at_px)[:, None] * normals[:, None]).astype(int)
    height, width = image.shape[:2]
    return image[np.clip(there[..., 1], 0, height - 1), np.clip(there[..., 0], 0, width - 1)]


def _is_own(view: DepthView, points: Array, normals: Array) -> Flags:
    """(M,): whether the thing ends at each point: what is seen beside it is not nearer, and is something else.

    Of a face that is seen from too flat an angle depth is lost; what has the same colour and is not far behind may be
    such a face.
    """
    within = _looked_up(view.inverse, points, normals, _WITHIN_PX)
    here = within.sum(axis=1) / np.maximum((within > 0).sum(axis=1), 1)
    beside = _looked_up(view.inverse, points, normals, _BESIDE_PX)
    # Faces of other things lose their depths as well: then what is next to these tells.
    lost = (beside > 0).sum(axis=1) < _LEAST_BESIDE
    beside = np.where(lost[:, None], _looked_up(view.inverse, points, normals, _FARTHER_PX), beside)
    apart = np.where(beside > 0, beside - here[:, None], np.nan)
    limit = _NEARER_SIGMAS * view.sigma + _NEARER
    measured = np.maximum((beside > 0).sum(axis=1), 1)
    nearer = 2 * (apart > limit).sum(axis=1) >= measured
    far_behind = (2 * (apart < -_FAR_BEHIND).sum(axis=1) > measured) & ~lost
    empty = 2 * _looked_up(view.void, points, normals, _BESIDE_PX).sum(axis=1) > len(_BESIDE_PX)
    around = (_BESIDE_PX, _WITHIN_PX, _AWAY_PX)
    colours = [np.median(_looked_up(view.rgb, points, normals, at), axis=1) for at in around]
    # A face may lose all its depths as well, but it is narrow then, and beyond it there is something else.
    far_behind |= empty & (np.abs(colours[0] - colours[2]).max(axis=-1) < _SAME)
    return ~nearer & (far_behind | _differ(colours[0], colours[1]))


def _differ(one: Array, other: Array) -> Flags:
    """(M,): whether colours (M, 3), 0 to 255, differ by more than brightness."""
    sums = one.sum(axis=-1) + 1, other.sum(axis=-1) + 1
    shares = [each / total[:, None] for each, total in zip((one, other), sums, strict=True)]
    # Shares of dark colours are coarse.
    return np.abs(shares[0] - shares[1]).max(axis=-1) > _OTHER_COLOUR + 2 / np.minimum(*sums)


def _shifts_px(rgb: NDArray[np.uint8], points: Array, normals: Array) -> tuple[Array, Flags]:
    """(M,): how far outward each edge is from its point, and whether that was found by colour."""
    blunt = np.full(len(points), _BLUNT_PX)
    if not len(points):
        return blunt, np.zeros(0, bool)
    at = points[:, None] + _ACROSS_PX[:, None] * normals[:, None]
    low = np.maximum(np.floor(at.min(axis=(0, 1))).astype(int) - 1, 0)
    high = np.ceil(at.max(axis=(0, 1))).astype(int) + 2
    piece = rgb[low[1] : high[1], low[0] : high[0]].astype(np.float32)
    x, y = np.moveaxis((at - low).astype(np.float32), -1, 0)
    colours = cv2.remap(piece, x.copy(), y.copy(), cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    inner, outer = colours[:, _INNER].mean(axis=1), colours[:, _OUTER].mean(axis=1)
    way = outer - inner
    contrast = np.einsum("mc,mc->m", way, way)
    # 0 inside and 1 outside; a pixel that both share evenly is half way.
    share = np.einsum("mkc,mc->mk", colours - inner[:, None], way) / np.maximum(contrast, 1e-6)[:, None]
    rises = (share[:, :-1] < 0.5) & (share[:, 1:] >= 0.5)
    middles = (_ACROSS_PX[:-1] + _ACROSS_PX[1:]) / 2
    nearest = np.argmin(np.where(rises, np.abs(middles - _BLUNT_PX), np.inf), axis=1)
    rows = np.arange(len(points))
    before, after = share[rows, nearest], share[rows, nearest + 1]
    step = (0.5 - before) / np.where(after > before, after - before, 1.0)
    found = _ACROSS_PX[nearest] + (_ACROSS_PX[1] - _ACROSS_PX[0]) * step
    sharp = rises.any(axis=1) & (contrast > _LEAST_CONTRAST**2)
    return np.where(sharp, found, blunt), sharp
