"""Edges of things of a known colour, in any light, to a fraction of a pixel."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from graspline.perception.core.colours import hue_picture, shows_scenery
from graspline.perception.core.outlines import Array, Lens, find_outline
from graspline.rendering.picture import Pixels

Flags = NDArray[np.bool_]
Rgb = tuple[float, float, float]

# A hue may be this far off, in steps of 2°, and a saturation this share of what it should be. An edge pixel that shares
# a thing evenly with the table has less.
_HUE_OFF, _LEAST_SATURATION = 5, 0.62
# What has no hue must have less saturation than the robot, whose parts have 12 of 255, and more light than its servos.
# Brighter than this the picture may be overexposed, and anything white.
_GREY, _GREY_SATURATION, _GREY_VALUES = 30, 7, (60, 253)
_DARKEST = 25
# Fewer pixels than this are a speck.
_LEAST_PX = 25
# What an edge is seen before lies this far outside it.
_OUTSIDE_PX = 3.0
# Pixels around a blob that are needed to find its edges.
_MARGIN_PX = 8
# The colour of the table, and how far from a thing's own colour that of the table is to appear.
_TABLE_RGB, _CONTRAST = np.array([198.0, 177.0, 151.0]), 100.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ColourEdges:
    """The outline of one colour in a picture."""

    lens: Lens
    # (M, 2), and (M,) whether table or backdrop is seen beside them: elsewhere something else may hide the thing.
    points_px: Array
    own: Flags


def find_blobs(hues: Pixels, rgb: Rgb) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
    """(H, W): 1, 2, … in blobs of this colour's hue and saturation, specks left out, else 0; and (B,) their pixels."""
    swatch = np.rint(255 * np.array(rgb)).astype(np.uint8).reshape(1, 1, 3)
    hue, saturation, _ = (int(each) for each in hue_picture(swatch)[0, 0])
    if saturation < _GREY:
        found = cv2.inRange(hues, np.array((0, 0, _GREY_VALUES[0])), np.array((180, _GREY_SATURATION, _GREY_VALUES[1])))
        # Between the robot's light and dark parts there are lines as grey as this.
        found = cv2.morphologyEx(found, cv2.MORPH_OPEN, np.ones((3, 3), np.uint8))
    else:
        low, high = hue - _HUE_OFF, hue + _HUE_OFF
        least = round(_LEAST_SATURATION * saturation)
        found = np.zeros(hues.shape[:2], np.uint8)
        # Red is at both ends of the circle.
        for turn in (-180, 0, 180):
            bounds = np.array((max(low + turn, 0), least, _DARKEST)), np.array((min(high + turn, 180), 255, 255))
            if bounds[0][0] <= bounds[1][0]:
                found |= np.asarray(cv2.inRange(hues, *bounds), np.uint8)
    _, labels, stats, _ = cv2.connectedComponentsWithStats(np.asarray(found, np.uint8))
    areas = np.asarray(stats[:, cv2.CC_STAT_AREA], np.intp)
    kept = areas >= _LEAST_PX
    kept[0] = False
    numbers = np.where(kept, np.cumsum(kept), 0).astype(np.int32)
    return numbers[np.asarray(labels, np.intp)], areas[kept]


def find_edges(lens: Lens, rgb: Pixels, hues: Pixels, mask: Flags) -> ColourEdges:
    """Where a thing of these pixels, of which there must be some, ends."""
    top, left, piece = _piece(mask)
    pixels = np.where(mask[piece], 255, 0).astype(np.uint8)
    outline = find_outline(pixels, _likeness(rgb[piece], pixels), darkens=False)
    corner = np.array([left, top], float)
    own = shows_scenery(hues, outline.points_px + corner + _OUTSIDE_PX * outline.normals_px, plate_counts=False)
    return ColourEdges(lens=lens, points_px=outline.points_px + corner, own=own)


def _piece(mask: Flags) -> tuple[int, int, tuple[slice, slice]]:
    """The top, the left and the piece of a picture that holds these pixels and what is around them."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    top, left = max(int(rows[0]) - _MARGIN_PX, 0), max(int(columns[0]) - _MARGIN_PX, 0)
    return top, left, (slice(top, int(rows[-1]) + 1 + _MARGIN_PX), slice(left, int(columns[-1]) + 1 + _MARGIN_PX))


def _likeness(rgb: Pixels, mask: Pixels) -> NDArray[np.float32]:
    """(H, W): 0 where a pixel has the colour of the masked ones in any light, less the less of it there is in a pixel.

    What is left of a pixel's colour across the thing's own is none of it, so in a pixel that two things share it is
    in proportion to how much is the other's; bright and dark faces are alike.
    """
    pixels = rgb[mask > 0].astype(float)
    own = np.median(pixels / np.linalg.norm(pixels, axis=1)[:, None], axis=0)
    own = own / np.linalg.norm(own)
    across = np.eye(3) - np.outer(own, own)
    scale = _CONTRAST / np.linalg.norm(across @ _TABLE_RGB)
    left = cv2.transform(rgb.astype(np.float32), (scale * across).astype(np.float32))
    return -np.sqrt(np.einsum("hwc,hwc->hw", left, left), dtype=np.float32)
