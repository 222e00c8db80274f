"""A picture with depth as seen from a believed camera pose: inverse depths without stray pixels, and points in O.

Everything is done on 1 / depth. Over a plane it is linear in the picture, and a camera's noise, which grows with the
square of depth, is the same everywhere in it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from graspline.errors import WiringError
from graspline.perception.core.outlines import Lens
from graspline.rendering.picture import Array, Picture, Pixels

Image = NDArray[np.float32]
Flags = NDArray[np.bool_]
Indices = NDArray[np.intp]

# The noise of 1 / depth is measured; it is between these, per metre, or something else is.
_SIGMAS_PER_M = (0.0005, 0.02)
# Of a second difference of white noise the median size is this many standard deviations.
_MEDIAN_BEND = 0.6745 * 6**0.5
# A pixel belongs to a surface if this many of its eight neighbours differ by no more than this many sigmas.
_LEAST_FRIENDS, _FRIEND_SIGMAS = 2, 6.0
_NEIGHBOURS = ((0, 1), (1, 0), (1, 1), (1, -1))
# Holes at least so wide are no holes: what is there is too far away.
_VOID_PX = 11


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DepthView:
    """What an RGB-D camera sees from where it is believed to be, in O."""

    lens: Lens
    # (H, W, 3).
    rgb: Pixels
    # (H, W), 1 / depth along the viewing direction; 0 where none was measured or it is a stray.
    inverse: Image
    # One standard deviation of it.
    sigma: float
    # (3, H, W): x, y and z of the point seen in each pixel, any where there is none.
    points_m: Image
    # (H, W): where nothing at all is near enough to be measured.
    void: Flags

    @property
    def measured(self) -> Flags:
        """Which pixels have a depth."""
        return self.inverse > 0

    def turned(self, rotation: Array) -> DepthView:
        """The same picture as seen from the same place by a camera turned by a rotation (3, 3) of O."""
        lens = replace(self.lens, rotation=rotation @ self.lens.rotation)
        depth = np.divide(np.float32(1), self.inverse, out=np.zeros_like(self.inverse), where=self.measured)
        return replace(self, lens=lens, points_m=_points(lens, depth))


def view_of(picture: Picture, position_m: Array, rotation: Array) -> DepthView:
    """A picture as seen from a camera pose (p_OC, R_OC), MuJoCo's camera frame; the picture's own pose is not used."""
    if picture.depth_m is None:
        raise WiringError(f"a picture of camera {picture.camera!r} has no depth; ask for it: Look(…, depth=True)")
    lens = Lens(
        position_m=np.asarray(position_m, float),
        rotation=np.asarray(rotation, float),
        focal_px=float(picture.height / (2 * np.tan(picture.fovy_rad / 2))),
        width=picture.width,
        height=picture.height,
    )
    measured = np.isfinite(picture.depth_m)
    raw = np.divide(np.float32(1), picture.depth_m, out=np.zeros_like(picture.depth_m), where=measured)
    sigma = _noise(raw)
    inverse = np.where(_friends(raw, _FRIEND_SIGMAS * sigma) >= _LEAST_FRIENDS, raw, np.float32(0))
    window = np.ones((_VOID_PX, _VOID_PX), np.uint8)
    return DepthView(
        lens=lens,
        rgb=picture.rgb,
        inverse=inverse,
        sigma=sigma,
        points_m=_points(lens, np.where(measured, picture.depth_m, np.float32(0))),
        void=cv2.morphologyEx((~measured).astype(np.uint8), cv2.MORPH_OPEN, window) > 0,
    )


def _noise(inverse: Image) -> float:
    """One standard deviation of 1 / depth, from how it bends from pixel to pixel along rows."""
    rows = inverse[::3]
    left, middle, right = rows[:, :-2], rows[:, 1:-1], rows[:, 2:]
    whole = (left > 0) & (middle > 0) & (right > 0)
    if not whole.any():
        return _SIGMAS_PER_M[0]
    bends = np.abs(left - 2 * middle + right)[whole]
    return float(np.clip(np.median(bends) / _MEDIAN_BEND, *_SIGMAS_PER_M))


def _friends(inverse: Image, far: float) -> NDArray[np.uint8]:
    """(H, W): how many of a pixel's neighbours are about as far away."""
    count = np.zeros(inverse.shape, np.uint8)
    height, width = inverse.shape
    # Any two holes are alike; what they count for is not used.
    for down, across in _NEIGHBOURS:
        here = slice(height - down), slice(max(-across, 0), width - max(across, 0))
        there = slice(down, None), slice(max(across, 0), width + min(across, 0))
        alike = (np.abs(inverse[here] - inverse[there]) < far).astype(np.uint8)
        count[here] += alike
        count[there] += alike
    return count


def ray_parts(lens: Lens, direction: Array) -> tuple[Array, Array]:
    """(H, 1) and (1, W): the sum of both is how far each pixel's ray of unit depth goes along a direction."""
    across, up, back = direction @ lens.rotation
    columns = (np.arange(lens.width) - (lens.width - 1) / 2) / lens.focal_px
    rows = ((lens.height - 1) / 2 - np.arange(lens.height)) / lens.focal_px
    return (up * rows - back)[:, None], (across * columns)[None]


def rays_of(lens: Lens, rows: Indices, columns: Indices) -> Array:
    """(N, 3): rays through pixels, scaled to unit depth."""
    x = (columns - (lens.width - 1) / 2) / lens.focal_px
    y = ((lens.height - 1) / 2 - rows) / lens.focal_px
    return np.stack([x, y, np.full_like(x, -1.0)], axis=1) @ lens.rotation.T


def _points(lens: Lens, depth: Image) -> Image:
    points = np.empty((3, *depth.shape), np.float32)
    for axis, direction in enumerate(np.eye(3)):
        down, across = ray_parts(lens, direction)
        np.add(down.astype(np.float32), across.astype(np.float32), out=points[axis])
        points[axis] *= depth
        points[axis] += np.float32(lens.position_m[axis])
    return points
