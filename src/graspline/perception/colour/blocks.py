"""Boxes on the table, found by the convex outline of their colour."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from graspline.perception.core.colours import shows_scenery
from graspline.perception.core.gauss_newton import Settled, Settling, settle
from graspline.perception.core.outlines import Array, Lens, on_table
from graspline.rendering.picture import Pixels

# Half extents before looking, and how far from them a block may be.
_HALF_M, _HALF_SIGMA_M = 0.0175, 0.004
# Fewer pixels than this are a speck.
_LEAST_PX = 60
# A notch in an outline that is deeper than this is no fault of its pixels.
_NOTCH_PX = 2.5
# Directions in the picture in which outline and box are compared.
_DIRECTIONS = 36
# Seen in fewer of them, a block could be anywhere.
_LEAST_DIRECTIONS = 3
# A mask ends in the middle of its last pixel.
_TO_EDGE_PX = 0.45
# Measured on 200 pictures with 333 blocks found: off by 1.1 mm (1σ), by up to 12 mm where mostly hidden; errors are
# 0.44 times the stated sigma.
_EDGE_SIGMA_PX = 1.0
_SIGMA_FLOOR_M = 0.0005
# Every edge counts in each round.
_ROUNDS_PX = (np.inf,) * 6
_SIGNS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (0, 2)], float)
# One step of each parameter (x, y, heading, half extents) by which slopes are taken.
_STEPS = np.array([1e-4, 1e-4, 5e-3, 1e-4, 1e-4, 1e-4])
# Around a tip of the outline this far away it is looked whether something stands before it: that many of 16 places.
_BESIDE_PX, _BESIDE_LEAST = 4.0, 4
_RING = np.stack([np.cos(np.arange(16) * (np.pi / 8)), np.sin(np.arange(16) * (np.pi / 8))], axis=1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlockFit:
    """A block fitted to an image: its pose and size, and the error of the position (1σ)."""

    centre_m: Array
    half_extents_m: Array
    yaw_rad: float
    sigma_m: float


def find_blocks(lens: Lens, hues: Pixels, mask: Pixels) -> list[BlockFit]:
    """A box for every blob of the mask, from the left of the picture to the right."""
    contours, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    blobs = [np.asarray(each, np.int32).reshape(-1, 2) for each in contours if cv2.contourArea(each) >= _LEAST_PX]
    parts = [part for blob in blobs for part in _divide(hues, mask, blob)]
    parts.sort(key=lambda each: (each[:, 0].min(), each[:, 1].min()))
    fits = [_fit_box(lens, hues, _filled(mask, part), part) for part in parts]
    return [fit for fit in fits if fit is not None and on_table(fit.centre_m)]


def _divide(hues: Pixels, mask: Pixels, blob: NDArray[np.int32]) -> list[NDArray[np.int32]]:
    """A blob cut in two where two blocks of one colour meet in the picture: between notches on either side of it."""
    defects = cv2.convexityDefects(blob, cv2.convexHull(blob, returnPoints=False))
    if defects is None:
        return [blob]
    # Each has its start, end and deepest point on the contour, and its depth in 256ths of a pixel.
    notches = np.asarray(defects, np.intp).reshape(-1, 4)
    notches = notches[notches[:, 3] > 256 * _NOTCH_PX]
    notches = notches[np.argsort(-notches[:, 3], kind="stable"), 2][:2]
    if len(notches) < 2 or _beside_others(hues, mask, blob[notches].astype(float)).any():
        return [blob]
    first, second = sorted(int(notch) for notch in notches)
    parts = [blob[first : second + 1], np.concatenate([blob[second:], blob[: first + 1]])]
    return parts if min(cv2.contourArea(part) for part in parts) >= _LEAST_PX else [blob]


def _filled(mask: Pixels, blob: NDArray[np.int32]) -> Pixels:
    """The mask of this blob alone."""
    alone = np.zeros_like(mask)
    cv2.fillPoly(alone, [blob], 255)
    return alone


def _fit_box(lens: Lens, hues: Pixels, mask: Pixels, blob: NDArray[np.int32]) -> BlockFit | None:
    """Gauss and Newton on how far the blob and the box reach in each direction of the picture."""
    turn = np.arange(_DIRECTIONS) * (2 * np.pi / _DIRECTIONS)
    directions = np.stack([np.cos(turn), np.sin(turn)])
    hull = np.asarray(cv2.convexHull(blob), float).reshape(-1, 2)
    reach = hull @ directions
    tips = hull[reach.argmax(axis=0)]
    seen = ~_beside_others(hues, mask, tips)
    if seen.sum() < _LEAST_DIRECTIONS:
        return None
    middle = lens.on_level(lens.rays(tips.mean(axis=0)), _HALF_M)
    settling = Settling(
        believed=np.array([middle[0], middle[1], 0.0, _HALF_M, _HALF_M, _HALF_M]),
        doubt=np.array([1.0, 1.0, 10.0, _HALF_SIGMA_M, _HALF_SIGMA_M, _HALF_SIGMA_M]),
        steps=_STEPS,
        low=np.array([-np.inf, -np.inf, -np.inf, 0.005, 0.005, 0.005]),
        high=np.array([np.inf, np.inf, np.inf, 0.08, 0.08, 0.08]),
        edge_sigma_px=_EDGE_SIGMA_PX,
    )
    observed = reach.max(axis=0) + _TO_EDGE_PX
    headings = settling.believed + np.outer(np.arange(9) * (np.pi / 18), np.eye(6)[2])
    misfits = np.abs(_reaches(lens, headings, directions) - observed)[:, seen].sum(axis=1)
    start = headings[int(np.argmin(misfits))]
    return _as_fit(settle(lambda boxes: _reaches(lens, boxes, directions), observed, seen, settling, start, _ROUNDS_PX))


def _beside_others(hues: Pixels, mask: Pixels, tips: Array) -> NDArray[np.bool_]:
    """(D,): whether at these points of its outline a blob may be cut off by something before it."""
    around = (tips[:, None] + _BESIDE_PX * _RING).reshape(-1, 2)
    height, width = mask.shape
    column, row = np.rint(around).astype(int).T
    own = mask[np.clip(row, 0, height - 1), np.clip(column, 0, width - 1)] > 0
    other = ~own & ~shows_scenery(hues, around, plate_counts=True)
    return other.reshape(len(tips), -1).sum(axis=1) >= _BESIDE_LEAST


def _as_fit(fit: Settled) -> BlockFit:
    box = fit.parameters
    # A box that does not fit, such as two blocks in one blob, is as much less certain.
    scale = max(1.0, fit.misfit_px / _EDGE_SIGMA_PX)
    variance = np.diag(np.linalg.inv(fit.normal))[:2].mean() * (_EDGE_SIGMA_PX * scale) ** 2
    # A quarter turn changes nothing but which side is which.
    quarter = round(box[2] / (np.pi / 2))
    half = box[[4, 3, 5]] if quarter % 2 else box[3:]
    return BlockFit(
        centre_m=np.array([box[0], box[1], box[5]]),
        half_extents_m=half.copy(),
        yaw_rad=float(box[2] - quarter * (np.pi / 2)),
        sigma_m=float(np.sqrt(variance + _SIGMA_FLOOR_M**2)),
    )


def _reaches(lens: Lens, boxes: Array, directions: Array) -> Array:
    """(B, D): how far boxes (B, 6) reach in each direction (2, D) of the picture."""
    offsets = _SIGNS * boxes[:, None, 3:]
    cosine, sine = np.cos(boxes[:, 2])[:, None], np.sin(boxes[:, 2])[:, None]
    corners = np.stack(
        [
            boxes[:, :1] + cosine * offsets[..., 0] - sine * offsets[..., 1],
            boxes[:, 1:2] + sine * offsets[..., 0] + cosine * offsets[..., 1],
            offsets[..., 2],
        ],
        axis=-1,
    )
    return (lens.pixels(corners) @ directions).max(axis=1)
