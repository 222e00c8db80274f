"""Outlines of coloured things in a picture, to a fraction of a pixel, and the rays in W that they were seen along."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from graspline.rendering.picture import Array, Picture, Pixels

# An outline shorter than this, in pixels, is a speck.
_SPECK_PX = 14
# Neighbours this far along a contour give its direction.
_TANGENT_STEPS = 4
# Where the brightness across an edge is sampled, in pixels outward; the ends say what is inside and outside.
_ACROSS_PX = np.arange(-3, 3.25, 0.5)
_END_SAMPLES = 3
# Less contrast than this across an edge and its place is noise.
_LEAST_CONTRAST = 20.0
# The table of scenes/furniture.py.
_TABLE_MIDDLE_M, _TABLE_HALF_M = (0.30, 0.0), 0.75
# Edges this near the border of the picture may be the picture's, not the thing's.
_BORDER_PX = 3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lens:
    """A pinhole: pixels to rays in W and back. Pixel (0, 0) is the middle of the first pixel at the top left."""

    position_m: Array
    rotation: Array
    focal_px: float
    width: int
    height: int

    @classmethod
    def of(cls, picture: Picture) -> Lens:
        """The lens that took an image."""
        focal = picture.height / (2 * np.tan(picture.fovy_rad / 2))
        return cls(
            position_m=np.asarray(picture.position_m, float),
            rotation=np.asarray(picture.rotation, float),
            focal_px=float(focal),
            width=picture.width,
            height=picture.height,
        )

    @property
    def _middle(self) -> tuple[float, float]:
        return (self.width - 1) / 2, (self.height - 1) / 2

    def rays(self, points_px: Array) -> Array:
        """(..., 3): unit vectors in W through points (..., 2)."""
        u, v = self._middle
        x, y = (points_px[..., 0] - u) / self.focal_px, (v - points_px[..., 1]) / self.focal_px
        rays = np.stack([x, y, np.full_like(x, -1.0)], axis=-1)
        rays /= np.sqrt(1 + x * x + y * y)[..., None]
        return rays @ self.rotation.T

    def pixels(self, points_m: Array) -> Array:
        """(..., 2): where points (..., 3) in W are seen."""
        seen = (points_m - self.position_m) @ self.rotation
        scale = self.focal_px / seen[..., 2:]
        return np.array(self._middle) + seen[..., :2] * scale * np.array([-1.0, 1.0])

    def on_level(self, rays: Array, height_m: float) -> Array:
        """(..., 3): where rays meet the plane at this height."""
        return self.position_m + rays * ((height_m - self.position_m[2]) / rays[..., 2])[..., None]


def on_table(places_m: Array) -> NDArray[np.bool_]:
    """(...,): whether places (..., 2 or 3) in W are above the table; what is seen beyond its edges lies on nothing."""
    return np.asarray((np.abs(places_m[..., :2] - np.array(_TABLE_MIDDLE_M)) < _TABLE_HALF_M).all(axis=-1))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outline:
    """Edge points in the order of their contours."""

    # (M, 2), and the unit normals out of the thing, (M, 2).
    points_px: Array
    normals_px: Array
    # (M,): the contour each point is on.
    contour: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.points_px)

    def only(self, chosen: NDArray[np.bool_]) -> Outline:
        """The chosen points of the outline."""
        return Outline(
            points_px=self.points_px[chosen], normals_px=self.normals_px[chosen], contour=self.contour[chosen]
        )

    def moved(self, by_px: Array) -> Outline:
        """The outline shifted in the image."""
        return Outline(points_px=self.points_px + by_px, normals_px=self.normals_px, contour=self.contour)


def warmth(rgb: Pixels) -> NDArray[np.float32]:
    """(H, W): red less blue, in which an orange stands out from all else, and the plate from all else downward.

    Being linear in the colours, it is half way between two things in a pixel they share evenly.
    """
    red, blue = cv2.extractChannel(rgb, 0), cv2.extractChannel(rgb, 2)
    return np.asarray(cv2.subtract(red, blue, dtype=cv2.CV_32F), np.float32)


def find_outline(mask: Pixels, field: NDArray[np.float32], *, darkens: bool) -> Outline:
    """Edges of the blobs in a mask, where the field is half way between its values inside and outside.

    The field is higher inside. A thing that darkens towards its outline, as a ball does, has inside its edge not the
    value found deeper in, but that value and its change. Points without a clear edge and points at the border of the
    picture are left out.
    """
    contours, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    loops = [np.asarray(each, float).reshape(-1, 2) for each in contours if len(each) >= _SPECK_PX]
    if not loops:
        return Outline(points_px=np.zeros((0, 2)), normals_px=np.zeros((0, 2)), contour=np.zeros(0, np.intp))
    # Contours are found in no order that a caller could rely on.
    loops.sort(key=lambda loop: (loop[:, 1].min(), loop[:, 0].min()))
    coarse = Outline(
        points_px=np.concatenate(loops),
        normals_px=np.concatenate([_normals(loop) for loop in loops]),
        contour=np.repeat(np.arange(len(loops)), [len(loop) for loop in loops]),
    )
    height, width = mask.shape
    x, y = coarse.points_px.T
    whole = (np.minimum(x, y) >= _BORDER_PX) & (x < width - _BORDER_PX) & (y < height - _BORDER_PX)
    return _to_the_edge(coarse.only(whole), field, darkens)


def _normals(loop: Array) -> Array:
    """Outward normals of a closed contour, which OpenCV walks with the inside to the same hand always."""
    along = np.roll(loop, -_TANGENT_STEPS, axis=0) - np.roll(loop, _TANGENT_STEPS, axis=0)
    normals = np.stack([-along[:, 1], along[:, 0]], axis=1)
    return normals / np.maximum(np.hypot(*normals.T), 1e-9)[:, None]


def _to_the_edge(coarse: Outline, field: NDArray[np.float32], darkens: bool) -> Outline:
    """The same points moved along their normals to where the field is half way."""
    if not len(coarse):
        return coarse
    samples = (coarse.points_px[:, None] + _ACROSS_PX[:, None] * coarse.normals_px[:, None]).astype(np.float32)
    across = cv2.remap(field, samples[..., 0], samples[..., 1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    inside = across[:, :_END_SAMPLES].mean(axis=1)
    if darkens:
        inside = 2 * across[:, _END_SAMPLES - 1] - across[:, 0]
    outside = across[:, -_END_SAMPLES:].mean(axis=1)
    left = across - ((inside + outside) / 2)[:, None]
    first = np.argmax(left < 0, axis=1)
    clear = (first > 0) & (inside - outside > _LEAST_CONTRAST)
    rows, first = np.flatnonzero(clear), first[clear]
    before, after = left[rows, first - 1], left[rows, first]
    shift = _ACROSS_PX[first - 1] + (_ACROSS_PX[1] - _ACROSS_PX[0]) * before / (before - after)
    kept = coarse.only(clear)
    return Outline(
        points_px=kept.points_px + shift[:, None] * kept.normals_px, normals_px=kept.normals_px, contour=kept.contour
    )
