"""Blocks of one colour that hang together in an image, separated by the corners of their common outline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from graspline.perception.belt.blobs import Blob
from graspline.perception.belt.box_fits import (
    BAD_MISFIT_PX,
    EDGE_SIGMA_PX,
    STEPS,
    BoxFit,
    Outlines,
    Size,
    as_fit,
    beyond_px,
    corners_px,
    find_starts,
    misfits_px,
)
from graspline.perception.core.gauss_newton import Flags, Settled, Settling, settle
from graspline.perception.core.outlines import Array, Lens

# Measured on 450 pictures of five blocks that touch, half of neighbours of one colour: of 1,888 blocks 7 were not seen,
# 5 only roughly, most of them beside the picture's edge, and of 21 the size was mistaken, 19 of these said to be unsure
# by 2 mm or more.
# A straight part of an outline with fewer points than this, or of fewer pixels, gives no direction.
_LEAST_POINTS, _LEAST_PX = 4, 4.0
# Two parts this near to a right angle may be sides of one block.
_RIGHT_ANGLE = float(np.sin(np.radians(15.0)))
# Edges this near to a box are explained by it; edges this far within it contradict it, of which some are allowed.
_EXPLAINED_PX, _WITHIN_PX, _MOST_WITHIN = 2.0, 3.0, 0.05
# A further box must explain this share of the outline; when less than that is left, all is explained.
_LEAST_NEW, _ENOUGH = 0.04, 0.05
_MOST_BOXES = 5
# So often boxes are chosen anew where one does not fit; another one is this near at least.
_TRIES, _ALIKE_M = 3, 0.006
# Blocks do not share their space; what they seem to is an error of a start.
_OVERLAP_M = 0.004
_ROUNDS_PX = (6.0, 4.0, 3.0, 2.0, 2.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Boxes:
    """Boxes that may be there: which of the sizes (C,), poses (C, 3), and how far each reaches beyond points (C, M)."""

    size: NDArray[np.intp]
    poses: Array
    beyond_px: Array


def fit_clump(lens: Lens, blob: Blob, sizes_m: tuple[Size, ...], level_m: float) -> tuple[BoxFit, ...]:
    """Boxes that together have this outline; none if it has no corner that may be a box's."""
    outlines = Outlines(lens=lens, points_px=blob.points_px[None], own=blob.own[None], level_m=level_m)
    poses, size = _corner_poses(lens, blob, sizes_m, level_m)
    extents = np.array(sizes_m)[size]
    corners = corners_px(outlines, extents, poses)
    inside = _inside(corners.mean(axis=1), blob)
    poses, size, extents, corners = poses[inside], size[inside], extents[inside], corners[inside]
    if not len(poses):
        return ()
    boxes = _Boxes(size=size, poses=poses, beyond_px=beyond_px(corners[:, None], outlines.points_px)[:, 0])
    allowed, best, least = np.ones(len(poses), bool), tuple[BoxFit, ...](), np.inf
    for _ in range(_TRIES):
        found = _cover(boxes, extents, outlines.own[0], allowed)
        if not found:
            break
        fits, misfit = _with_the_rest(outlines, sizes_m, [(sizes_m[size[each]], poses[each]) for each in found])
        if misfit < least:
            best, least = fits, misfit
        worst = max(range(len(found)), key=lambda k: fits[k].misfit_px)
        if fits[worst].misfit_px <= BAD_MISFIT_PX:
            break
        # That one explained much, but is not there.
        alike = np.hypot(*(poses[:, :2] - poses[found[worst], :2]).T) < _ALIKE_M
        allowed &= ~(alike & (size == size[found[worst]]))
    return best


def _inside(points_px: Array, blob: Blob) -> Flags:
    contour = blob.contour_px.astype(np.float32)
    return np.array([cv2.pointPolygonTest(contour, (float(x), float(y)), False) > 0 for x, y in points_px], bool)


def _corner_poses(lens: Lens, blob: Blob, sizes_m: tuple[Size, ...], level_m: float) -> tuple[Array, NDArray[np.intp]]:
    """(C, 3) and (C,): boxes with two sides where the outline has two straight parts at a right angle."""
    middles, normals, along, lengths = _parts(blob)
    if len(middles) < 2:
        return np.zeros((0, 3)), np.zeros(0, np.intp)
    floor = lens.on_level(lens.rays(middles), level_m)[:, :2]
    ends = lens.on_level(lens.rays(np.stack([middles - along, middles + along])), level_m)[..., :2]
    heading = ends[1] - ends[0]
    heading /= np.hypot(heading[:, 0], heading[:, 1])[:, None]
    outside = lens.on_level(lens.rays(middles + normals), level_m)[:, :2] - floor
    first, second = np.nonzero(
        (np.abs(heading @ heading.T) < _RIGHT_ANGLE) & (lengths[:, None] >= lengths) & ~np.eye(len(lengths), dtype=bool)
    )
    # The longer one gives the heading.
    u = heading[first]
    v = np.stack([-u[:, 1], u[:, 0]], axis=1)
    v *= np.sign((v * outside[first]).sum(axis=1))[:, None]
    u = u * np.sign((u * outside[second]).sum(axis=1))[:, None]
    nadir = lens.position_m[:2]
    poses, sizes = [], []
    for index, size in enumerate(sizes_m):
        top = lens.on_level(lens.rays(middles), level_m + size[2])[:, :2]
        # Seen from above, a box ends at its top where it faces away from the camera and at its bottom elsewhere.
        a = np.where((((floor[first] - nadir) * v).sum(axis=1) > 0)[:, None], top[first], floor[first])
        b = np.where((((floor[second] - nadir) * u).sum(axis=1) > 0)[:, None], top[second], floor[second])
        for turned in (False, True) if size[0] != size[1] else (False,):
            long, wide = (size[1], size[0]) if turned else (size[0], size[1])
            centre = v * ((a * v).sum(axis=1) - wide / 2)[:, None] + u * ((b * u).sum(axis=1) - long / 2)[:, None]
            yaw = np.arctan2(u[:, 1], u[:, 0]) + (np.pi / 2 if turned else 0.0)
            poses.append(np.column_stack([centre, yaw]))
            sizes.append(np.full(len(centre), index))
    return np.concatenate(poses), np.concatenate(sizes)


def _parts(blob: Blob) -> tuple[Array, Array, Array, Array]:
    """Middles, normals, directions (P, 2) and lengths (P,) of the straight parts of an outline, all in pixels."""
    rows: list[Array] = []
    for number in np.unique(blob.part):
        mine = blob.part == number
        points = blob.points_px[mine]
        if len(points) < _LEAST_POINTS:
            continue
        middle = points.mean(axis=0)
        centred = points - middle
        along = np.linalg.eigh(centred.T @ centred)[1][:, 1]
        length = float(np.ptp(centred @ along))
        normal = blob.normals_px[mine].mean(axis=0)
        normal = normal - along * (normal @ along)
        if length >= _LEAST_PX:
            rows.append(np.concatenate([middle, normal / np.linalg.norm(normal), along, [length]]))
    table = np.array(rows).reshape(-1, 7)
    return table[:, :2], table[:, 2:4], table[:, 4:6], table[:, 6]


def _cover(boxes: _Boxes, extents_m: Array, own: Flags, allowed: Flags) -> list[int]:
    """Boxes that explain the most of the outline, then the most of what is left, until nothing is."""
    explains = own & (np.abs(boxes.beyond_px) <= _EXPLAINED_PX)
    within = (own & (boxes.beyond_px > _WITHIN_PX)).mean(axis=1)
    allowed = allowed & (within <= _MOST_WITHIN)
    narrow = extents_m[:, :2].min(axis=1)
    left, found = own.copy(), list[int]()
    while len(found) < _MOST_BOXES and left.mean() > _ENOUGH:
        gains = np.where(allowed, (explains & left).mean(axis=1), 0.0)
        best = int(np.argmax(gains))
        if gains[best] < _LEAST_NEW:
            break
        found.append(best)
        left &= ~explains[best]
        apart = np.hypot(*(boxes.poses[:, :2] - boxes.poses[best, :2]).T)
        allowed &= apart >= (narrow + narrow[best]) / 2 - _OVERLAP_M
    return found


def _with_the_rest(
    outlines: Outlines, sizes_m: tuple[Size, ...], found: list[tuple[Size, Array]]
) -> tuple[tuple[BoxFit, ...], float]:
    """The boxes settled together; where part of the outline is of none of them, with one more that has no corner."""
    best = _settle_together(outlines, found)
    misses = _union(outlines, [size for size, _ in found])(best.parameters[None])[0]
    left = outlines.own[0] & (np.abs(misses) > _WITHIN_PX)
    chosen = found
    if left.mean() > _ENOUGH and left.sum() >= _LEAST_POINTS:
        rest = Outlines(
            lens=outlines.lens,
            points_px=outlines.points_px[:, left],
            own=outlines.own[:, left],
            level_m=outlines.level_m,
        )
        starts = find_starts(rest, sizes_m)
        for index in np.argsort(starts.misfits_px[0], kind="stable")[:2]:
            more = [*found, (sizes_m[index], starts.poses[0, index])]
            fit = _settle_together(outlines, more)
            if _misfit(outlines, fit) < _misfit(outlines, best):
                best, chosen = fit, more
    return _as_fits(outlines, [size for size, _ in chosen], best), _misfit(outlines, best)


def _as_fits(outlines: Outlines, sizes_m: list[Size], fit: Settled) -> tuple[BoxFit, ...]:
    """Each box with the misfit of those edges that are its own rather than another's."""
    variances = np.diag(np.asarray(np.linalg.inv(fit.normal), float))
    nearest = _each_beyond(outlines, sizes_m, fit.parameters[None])[:, 0].argmax(axis=0)
    fits: list[BoxFit] = []
    for k, size in enumerate(sizes_m):
        mine, its = nearest == k, slice(3 * k, 3 * k + 3)
        misfit = float(misfits_px(fit.misses_px[mine], outlines.own[0][mine])) if mine.any() else float("inf")
        fits.append(as_fit(outlines, size, fit.parameters[its], variances[its], misfit))
    return tuple(fits)


def _misfit(outlines: Outlines, fit: Settled) -> float:
    return float(misfits_px(fit.misses_px, outlines.own[0]))


def _each_beyond(outlines: Outlines, sizes_m: list[Size], parameters: Array) -> Array:
    """(n, B, M): how far each of n boxes reaches beyond the points, for parameters (B, 3 n)."""
    poses = parameters.reshape(len(parameters), len(sizes_m), 3).swapaxes(0, 1)
    return beyond_px(corners_px(outlines, np.array(sizes_m)[:, None], poses), outlines.points_px)


def _union(outlines: Outlines, sizes_m: list[Size]) -> Callable[[Array], Array]:
    """How far boxes together reach beyond the points, for parameters (B, 3 n)."""
    return lambda parameters: _each_beyond(outlines, sizes_m, parameters).max(axis=0)


def _settle_together(outlines: Outlines, boxes: list[tuple[Size, Array]]) -> Settled:
    start = np.concatenate([pose for _, pose in boxes])
    settling = Settling(
        believed=start,
        doubt=np.tile([0.02, 0.02, 0.2], len(boxes)),
        steps=np.tile(STEPS, len(boxes)),
        low=np.full(len(start), -np.inf),
        high=np.full(len(start), np.inf),
        edge_sigma_px=EDGE_SIGMA_PX,
    )
    reaches = _union(outlines, [size for size, _ in boxes])
    own = outlines.own[0]
    return settle(reaches, np.zeros(len(own)), own, settling, start, _ROUNDS_PX)
