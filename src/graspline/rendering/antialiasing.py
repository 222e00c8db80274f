"""Smooth edges for a finished picture, after FXAA 3.11 by Timothy Lottes.

OpenGL's own antialiasing renders every sample of a pixel, which takes a processor twice as long as all else, and where
a shadow map is used it leaves dark dots along edges.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from graspline.rendering.picture import Pixels

Floats = NDArray[np.floating]
Indices = NDArray[np.intp]

# An edge has at least this contrast in brightness, of 255 and of the brighter side.
_LEAST_CONTRAST, _LEAST_SHARE = 14, 7
# How far a straight stretch of an edge is followed either way, in pixels.
_REACH_PX = 8
_BEYOND_PX = _REACH_PX + 1
# A stretch ends where brightness across the edge differs by this share of the edge's contrast.
_END_SHARE = 0.25
# How much of a single pixel that stands out is blended away.
_SPECK_SHARE = 0.75
_AROUND = np.ones((3, 3), np.uint8)


def antialiased(rgb: Pixels) -> Pixels:
    """A copy of a picture, (H, W, 3), whose edges are blended with what is beside them."""
    grey = np.asarray(cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY), np.uint8)
    brightest, darkest = cv2.dilate(grey, _AROUND), cv2.erode(grey, _AROUND)
    contrast = np.asarray(cv2.subtract(brightest, darkest), np.uint8)
    found = contrast > np.maximum(brightest // _LEAST_SHARE, _LEAST_CONTRAST)
    found[[0, -1]] = False
    found[:, [0, -1]] = False
    rows, columns = np.nonzero(found)
    if not len(rows):
        return rgb.copy()
    down, right, share = _blending(grey, rows, columns, contrast[rows, columns])
    own, other = rgb[rows, columns].astype(np.float32), rgb[rows + down, columns + right]
    smooth = rgb.copy()
    smooth[rows, columns] = np.rint(own + share[:, None] * (other - own)).astype(np.uint8)
    return smooth


def _blending(grey: Pixels, rows: Indices, columns: Indices, contrast: Pixels) -> tuple[Indices, Indices, Floats]:
    """For pixels of edges the step to the neighbour on the edge's other side, down and right, and the share to take."""
    # Beyond its rim a picture goes on as it is there, as far as an edge is followed.
    beyond = cv2.copyMakeBorder(grey, _BEYOND_PX, _BEYOND_PX, _BEYOND_PX, _BEYOND_PX, cv2.BORDER_REPLICATE)
    width, values = beyond.shape[1], beyond.ravel().astype(np.float32)
    at = (rows + _BEYOND_PX) * width + columns + _BEYOND_PX
    here = values[at]
    north, south, west, east = (values[at + step] for step in (-width, width, -1, 1))
    nw, ne, sw, se = (values[at + step] for step in (-width - 1, -width + 1, width - 1, width + 1))
    level = _bend(nw, sw, west) + 2 * _bend(north, south, here) + _bend(ne, se, east)
    upright = _bend(nw, ne, north) + 2 * _bend(west, east, here) + _bend(sw, se, south)
    lies = level >= upright
    first, second = np.where(lies, north, west), np.where(lies, south, east)
    to_first = np.abs(first - here) >= np.abs(second - here)
    other = np.where(to_first, first, second)
    sign = np.where(to_first, -1, 1)
    across = np.where(lies, width, 1) * sign
    share = _stretch_share(values, at, across, np.where(lies, 1, width), (here + other) / 2, np.abs(other - here))
    mean = (2 * (north + south + west + east) + nw + ne + sw + se) / 12
    speck = np.clip(np.abs(mean - here) / np.maximum(contrast, 1), 0, 1)
    speck = (3 - 2 * speck) * speck * speck
    return np.where(lies, sign, 0), np.where(lies, 0, sign), np.maximum(share, _SPECK_SHARE * speck * speck)


def _bend(one: Floats, other: Floats, middle: Floats) -> Floats:
    return np.abs(one + other - 2 * middle)


def _stretch_share(
    values: Floats, at: Indices, across: Indices, along: Indices, middle: Floats, step: Floats
) -> Floats:
    """How much of each pixel lies beyond the edge, by where in the straight stretch of it the pixel is."""
    ends = [_end_of_stretch(values, at, across, sign * along, middle, _END_SHARE * step) for sign in (1, -1)]
    (one, one_off), (two, two_off) = ends
    nearer = one < two
    off = np.where(nearer, one_off, two_off)
    # Past its nearer end the edge is on the other side of the pixel's middle, or the pixel is beyond it already.
    beyond = (values[at] < middle) != (off < 0)
    return np.where(beyond, 0.5 - np.minimum(one, two) / (one + two), 0.0)


def _end_of_stretch(
    values: Floats, at: Indices, across: Indices, along: Indices, middle: Floats, limit: Floats
) -> tuple[Floats, Floats]:
    """How many pixels away a stretch ends in one direction, and how much brighter it is there."""
    far, off = np.full(len(at), float(_REACH_PX), np.float32), np.zeros(len(at), np.float32)
    going = np.arange(len(at))
    for pixels in range(1, _REACH_PX + 1):
        place = at[going] + pixels * along[going]
        beside = place + across[going]
        off[going] = brighter = (values[place] + values[beside]) / 2 - middle[going]
        ended = np.abs(brighter) >= limit[going]
        far[going[ended]] = pixels
        going = going[~ended]
    return far, off
