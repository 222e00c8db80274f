"""Blocks on a belt, seen in one picture: which colour and size, where, which way round, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import cv2
import numpy as np

from graspline.perception.belt.blobs import Blob, find_blobs
from graspline.perception.belt.box_fits import BAD_MISFIT_PX, POINTS, BoxFit, Outlines, Size, fit_boxes
from graspline.perception.belt.merged_blobs import fit_clump
from graspline.perception.belt.overlaps import overlaps_m
from graspline.perception.core.outlines import Array, Lens
from graspline.perception.core.palette import Paint, name_of
from graspline.perception.core.silhouettes import beyond_px, silhouette_px
from graspline.rendering.picture import Picture
from graspline.spatial.rotations import rotation_z

# The cosine of how far from straight down a camera may look.
_LEAST_DOWN = 0.3
# A blob is less than a block if it has less than this share of the smallest block's area, and none of a block if it is
# thinner than this share of the smallest block: a marking on the belt.
_LEAST_AREA, _LEAST_WIDTH = 0.15, 0.4
# A blob that is cut off may hold a whole block if it fills less than this share of its hull or has more than this many
# times the area of the smallest block. That block must be this far within the picture, and as sure as that.
_ONE_SHARE, _ONE_AREA, _INSIDE_PX, _SURE_SIGMA_M = 0.95, 2.6, 2.0, 0.002
# Blocks that seem to stand in each other by more than this are as much less sure: the size of one, of which a corner
# is hidden, was mistaken.
_OVERLAP_M = 0.0008
# A block of which only a part is in the picture is this far from the middle of that part, at most.
_ROUGH_SIGMA_M, _ROUGH_YAW_RAD = 0.02, 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """What may lie on the belt: accepted colours and the sizes, full extents, of all blocks."""

    paints: tuple[Paint, ...]
    sizes_m: tuple[Size, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BeltSurface:
    """The rectangle of the world on which blocks are looked for."""

    height_m: float
    low_m: tuple[float, float]
    high_m: tuple[float, float]

    def holds(self, x_m: float, y_m: float) -> bool:
        """Whether a point lies on the belt."""
        return self.low_m[0] <= x_m <= self.high_m[0] and self.low_m[1] <= y_m <= self.high_m[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockSeen:
    """A block as seen. What is not `whole` goes on beyond the picture or behind something: its place is rough."""

    colour: str
    # Full extents; of blocks that are not whole, the smallest in the catalogue.
    size_m: Size
    # The middle of the block, in W.
    x_m: float
    y_m: float
    # Of its first extent, in (-pi/2, pi/2]; of a square block in (-pi/4, pi/4].
    yaw_rad: float
    # One standard deviation of each coordinate and of the heading.
    sigma_m: float
    yaw_sigma_rad: float
    whole: bool
    # How far off the outline is, root mean square.
    misfit_px: float


def see_blocks(
    picture: Picture, catalogue: Catalogue, surface: BeltSurface, hidden: tuple[Array, ...] = ()
) -> tuple[BlockSeen, ...]:
    """Everything coloured on the belt, by row and column; nothing in the hidden parts of the picture, polygons (K, 2).

    Blocks of a colour that is not in the catalogue are `UNKNOWN`. A camera that does not look down sees none.
    """
    lens = Lens.of(picture)
    above, down = float(lens.position_m[2]) - surface.height_m, float(lens.rotation[2, 2])
    if down < _LEAST_DOWN or above <= 0:
        return ()
    least = min(min(size[:2]) for size in catalogue.sizes_m)
    # Where the camera looks, how many pixels a metre of the belt is.
    scale = lens.focal_px * down / above
    blobs = [
        blob
        for blob in find_blobs(picture.rgb, hidden, _LEAST_AREA * (scale * least) ** 2)
        if surface.holds(*_at(lens, blob.contour_px.mean(axis=0), surface.height_m + least / 2))
        and not _is_thin(blob, _LEAST_WIDTH * scale * least)
    ]
    whole = [blob for blob in blobs if blob.whole and len(blob.own)]
    seen: list[BlockSeen] = []
    for blob, fits in zip(whole, _fits_of(lens, whole, catalogue.sizes_m, surface.height_m), strict=True):
        colour = name_of(blob.rgb, catalogue.paints)
        seen += [_as_seen(fit, colour) for fit in fits if surface.holds(fit.x_m, fit.y_m)]
    for blob in blobs:
        if not (blob.whole and len(blob.own)):
            seen += _cut_off(lens, blob, catalogue, surface, (scale * least) ** 2)
    return _less_sure_where_overlapping(seen)


def in_view_of(
    picture: Picture, surface: BeltSurface, hidden: tuple[Array, ...] = (), margin_m: float = 0.045
) -> Callable[[float, float], bool]:
    """Whether a block whose middle is at a point of the belt would be seen as a whole."""
    lens = Lens.of(picture)
    rim = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (0, 1)], float) * margin_m
    polygons = [np.asarray(polygon, np.float32) for polygon in hidden]

    def in_view(x_m: float, y_m: float) -> bool:
        corners = np.array([x_m, y_m, surface.height_m]) + rim
        if ((corners - lens.position_m) @ lens.rotation[:, 2] >= 0).any():
            return False
        at = lens.pixels(corners)
        inside = (at >= 0).all() and (at[:, 0] < lens.width).all() and (at[:, 1] < lens.height).all()
        points = [(float(u), float(v)) for u, v in at]
        return bool(inside) and all(
            cv2.pointPolygonTest(polygon, point, False) < 0 for polygon in polygons for point in points
        )

    return in_view


def _less_sure_where_overlapping(seen: list[BlockSeen]) -> tuple[BlockSeen, ...]:
    whole = [each for each in seen if each.whole]
    sure = {
        id(each): replace(each, sigma_m=float(np.hypot(each.sigma_m, depth)))
        for each, depth in zip(whole, overlaps_m(whole), strict=True)
        if depth > _OVERLAP_M
    }
    return tuple(sure.get(id(each), each) for each in seen)


def _at(lens: Lens, point_px: Array, height_m: float) -> tuple[float, float]:
    """Where a point of the picture is at this height; nowhere, if above the horizon."""
    ray = lens.rays(point_px)
    if ray[2] >= 0:
        return float("nan"), float("nan")
    x, y, _ = lens.on_level(ray, height_m)
    return float(x), float(y)


def _is_thin(blob: Blob, least_px: float) -> bool:
    _, sides, _ = cv2.minAreaRect(blob.contour_px.astype(np.float32))
    return blob.whole and min(sides) < least_px


def _fits_of(lens: Lens, blobs: list[Blob], sizes_m: tuple[Size, ...], level_m: float) -> list[tuple[BoxFit, ...]]:
    """For each blob one box, or as many as explain it if one does not."""
    if not blobs:
        return []
    spread = [np.linspace(0, len(blob.own) - 1, POINTS).astype(np.intp) for blob in blobs]
    outlines = Outlines(
        lens=lens,
        points_px=np.stack([blob.points_px[at] for blob, at in zip(blobs, spread, strict=True)]),
        own=np.stack([blob.own[at] for blob, at in zip(blobs, spread, strict=True)]),
        level_m=level_m,
    )
    ones = fit_boxes(outlines, sizes_m)
    return [
        (one,) if one.misfit_px <= BAD_MISFIT_PX else fit_clump(lens, blob, sizes_m, level_m) or (one,)
        for one, blob in zip(ones, blobs, strict=True)
    ]


def _cut_off(lens: Lens, blob: Blob, catalogue: Catalogue, surface: BeltSurface, least_px: float) -> list[BlockSeen]:
    """What is known of a blob that goes on beyond the picture or behind something: at least that it is there.

    Blocks that it is made of may be within the picture by themselves.
    """
    colour = name_of(blob.rgb, catalogue.paints)
    seen: list[BlockSeen] = []
    left = np.ones(len(blob.contour_px), bool)
    if _may_be_several(blob, least_px):
        for fit in fit_clump(lens, blob, catalogue.sizes_m, surface.height_m):
            ring = _ring_px(lens, fit, surface.height_m)
            inside = (ring >= _INSIDE_PX).all() and (ring < np.array([lens.width, lens.height]) - _INSIDE_PX).all()
            if inside and fit.sigma_m <= _SURE_SIGMA_M and surface.holds(fit.x_m, fit.y_m):
                seen.append(_as_seen(fit, colour))
                left &= beyond_px(ring, blob.contour_px) < -_INSIDE_PX
    if left.any():
        size = min(catalogue.sizes_m)
        x, y = _at(lens, blob.contour_px[left].mean(axis=0), surface.height_m + size[2] / 2)
        seen.append(_roughly(colour, size, x, y))
    return seen


def _may_be_several(blob: Blob, least_px: float) -> bool:
    hull = cv2.contourArea(cv2.convexHull(blob.contour_px.astype(np.float32)))
    return blob.area_px > least_px and (blob.area_px < _ONE_SHARE * hull or blob.area_px > _ONE_AREA * least_px)


def _ring_px(lens: Lens, fit: BoxFit, level_m: float) -> Array:
    half = np.array(fit.size_m) / 2
    centre = np.array([fit.x_m, fit.y_m, level_m + half[2]])
    return silhouette_px(lens, "box", half, centre, rotation_z(fit.yaw_rad))


def _roughly(colour: str, size_m: Size, x_m: float, y_m: float) -> BlockSeen:
    return BlockSeen(
        colour=colour,
        size_m=size_m,
        x_m=x_m,
        y_m=y_m,
        yaw_rad=0.0,
        sigma_m=_ROUGH_SIGMA_M,
        yaw_sigma_rad=_ROUGH_YAW_RAD,
        whole=False,
        misfit_px=float("inf"),
    )


def _as_seen(fit: BoxFit, colour: str) -> BlockSeen:
    period = np.pi / 2 if fit.size_m[0] == fit.size_m[1] else np.pi
    return BlockSeen(
        colour=colour,
        size_m=fit.size_m,
        x_m=fit.x_m,
        y_m=fit.y_m,
        # Half a period belongs to the range, less half a period does not.
        yaw_rad=float(period / 2 - (period / 2 - fit.yaw_rad) % period),
        sigma_m=fit.sigma_m,
        yaw_sigma_rad=fit.yaw_sigma_rad,
        whole=True,
        misfit_px=fit.misfit_px,
    )
