"""What a real RGB-D camera makes of depth: noise that grows with the square of it, holes and ragged edges."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from graspline.rendering.picture import Depths, pixel_rays

# Structured light and stereo measure 1 / depth, so noise grows with the square of depth: 1.5 mm at 1 m, 1σ.
SIGMA_PER_M = 0.0015
# Nothing nearer or farther is measured.
NEAREST_M, FARTHEST_M = 0.20, 6.0
# A sound camera loses this share of pixels for no reason that can be seen, half of them in patches of this size.
LOST_SHARE = 0.03
_PATCH_PX = 6
# Of surfaces seen flatter than the first angle pixels are lost, of those flatter than the second all.
_GRAZING_COSINES = np.cos(np.radians([80.0, 87.0]))
# Where 1 / depth bends by this much from one pixel to the next, one surface ends and another begins; of the pixels
# there one in two is lost, and one in eight is somewhere between both.
_JUMP_PER_M = 0.02
_LOST_AT_EDGES, _FLYING_AT_EDGES = 0.5, 0.125
_BEND = np.array([1.0, -2.0, 1.0], np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class DepthErrors:
    """How bad a camera is: its noise as a multiple of the usual, and the share of pixels lost at random."""

    sigma_factor: float = 1.0
    lost_share: float = LOST_SHARE


def measured_depth(exact_m: Depths, fovy_rad: float, errors: DepthErrors, random: np.random.Generator) -> Depths:
    """(H, W): depths as a camera with these errors has them, nan where it has none."""
    height, width = exact_m.shape
    noise = random.standard_normal(exact_m.shape, np.float32)
    fate, fate_at_edge, mixture = random.random((3, height, width), np.float32)
    patches = random.random((-(-height // _PATCH_PX), -(-width // _PATCH_PX)), np.float32)
    # Far away stands for nothing at all.
    inverse = np.divide(1, np.minimum(exact_m, 2 * FARTHEST_M), dtype=np.float32)
    edge = _at_edges(inverse)
    flying = edge & (fate_at_edge > 1 - _FLYING_AT_EDGES)
    found = np.divide(1, np.where(flying, _between_neighbours(inverse, mixture), inverse), dtype=np.float32)
    found += np.float32(errors.sigma_factor * SIGMA_PER_M) * noise * found * found
    each = errors.lost_share / 2
    lost = fate < np.where(edge, each, np.maximum(_lost_to_grazing(inverse, fovy_rad), each))
    lost |= edge & (fate_at_edge < _LOST_AT_EDGES)
    lost |= np.repeat(np.repeat(patches < each, _PATCH_PX, axis=0), _PATCH_PX, axis=1)[:height, :width]
    found[lost | (exact_m < NEAREST_M) | (exact_m > FARTHEST_M)] = np.nan
    return found


def _at_edges(inverse: Depths) -> NDArray[np.bool_]:
    """(H, W): whether a pixel's neighbours are not on one surface with it; over a plane 1 / depth does not bend."""
    across = np.abs(cv2.filter2D(inverse, -1, _BEND[None], borderType=cv2.BORDER_REPLICATE))
    down = np.abs(cv2.filter2D(inverse, -1, _BEND[:, None], borderType=cv2.BORDER_REPLICATE))
    return np.asarray(np.maximum(across, down) > _JUMP_PER_M)


def _between_neighbours(inverse: Depths, mixture: Depths) -> Depths:
    """(H, W): 1 / depth somewhere between the least and the greatest around each pixel."""
    cross = cv2.getStructuringElement(cv2.MORPH_CROSS, (3, 3))
    low, high = cv2.erode(inverse, cross), cv2.dilate(inverse, cross)
    return np.asarray(low + mixture * (high - low), np.float32)


def _lost_to_grazing(inverse: Depths, fovy_rad: float) -> Depths:
    """(H, W): how likely a pixel is lost because its surface is seen from too flat an angle."""
    height, width = inverse.shape
    x, y, _ = np.moveaxis(pixel_rays(width, height, fovy_rad).astype(np.float32), -1, 0)
    down, across = np.gradient(inverse)
    # Per unit of a ray's x and y; the plane through a pixel has the normal (slope_x, slope_y, rest), any length.
    slope_x, slope_y = across / (x[0, 1] - x[0, 0]), down / (y[1, 0] - y[0, 0])
    rest = inverse - x * slope_x - y * slope_y
    lengths = np.sqrt((slope_x**2 + slope_y**2 + rest**2) * (1 + x**2 + y**2))
    first, last = _GRAZING_COSINES.astype(np.float32)
    return np.clip((first - inverse / lengths) / (first - last), 0, 1)
