"""Outlines of boxes, cans and balls as a camera sees them, anywhere and any way round."""

from __future__ import annotations

import cv2
import numpy as np

from graspline.perception.core.cones import cross
from graspline.perception.core.outlines import Array, Lens
from graspline.scenes.scene import ObjectShape

# A circle is rendered with 28 corners and a ball with 16 rows of them: so much narrower they look, on the mean.
_RENDERED: dict[ObjectShape, float] = {"box": 1.0, "cylinder": 0.998, "ball": 0.997}
_TURN = np.arange(48) * (2 * np.pi / 48)
_CIRCLE = np.stack([np.cos(_TURN), np.sin(_TURN)], axis=1)
_BOX = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
_CAN = np.concatenate([np.column_stack([_CIRCLE, np.full(len(_TURN), z)]) for z in (-1.0, 1.0)])


def silhouette_px(lens: Lens, shape: ObjectShape, half_m: Array, position_m: Array, rotation: Array) -> Array:
    """(V, 2): the corners, in order, of the outline in the picture of a shape at X_WO."""
    seen = lens.pixels(_corners_m(lens, shape, half_m, position_m, rotation)).astype(np.float32)
    return np.asarray(cv2.convexHull(seen), float).reshape(-1, 2)


def _corners_m(lens: Lens, shape: ObjectShape, half_m: Array, position_m: Array, rotation: Array) -> Array:
    """(V, 3): points in W whose outline is that of the shape."""
    if shape != "ball":
        rendered = half_m * np.array([_RENDERED[shape], _RENDERED[shape], 1.0])
        return position_m + ((_BOX if shape == "box" else _CAN) * rendered) @ rotation.T
    sight = position_m - lens.position_m
    distance = float(np.linalg.norm(sight))
    ahead, radius = sight / distance, _RENDERED[shape] * float(half_m[0])
    # Square to the sight and to the picture's upright, along which no camera looks.
    first = cross(ahead, lens.rotation[:, 1])
    first = first / np.linalg.norm(first)
    # The circle in which lines of sight touch a ball is nearer and smaller than its equator.
    sine = radius / distance
    ring = _CIRCLE @ np.stack([first, cross(ahead, first)])
    return position_m - ahead * (radius * sine) + ring * (radius * np.sqrt(1 - sine * sine))


def beyond_px(silhouette: Array, points_px: Array) -> Array:
    """(M,): how far a silhouette reaches beyond each point (M, 2); less than 0 for points outside of it."""
    along = np.roll(silhouette, -1, axis=0) - silhouette
    along = along / np.maximum(np.hypot(along[:, 0], along[:, 1]), 1e-9)[:, None]
    # OpenCV walks a hull with the inside to the same hand always, so that these point outward.
    normals = np.stack([along[:, 1], -along[:, 0]], axis=1)
    return (np.einsum("ei,ei->e", normals, silhouette) - points_px @ normals.T).min(axis=1)


def length_px(silhouette: Array) -> float:
    """How long it is all around."""
    return float(np.hypot(*(np.roll(silhouette, -1, axis=0) - silhouette).T).sum())


def pixels_inside(silhouette: Array, width: int, height: int) -> Array:
    """(N, 2): the pixels of a picture of this size that lie within."""
    low = np.clip(np.floor(silhouette.min(axis=0)), 0, (width, height)).astype(int)
    high = np.clip(np.ceil(silhouette.max(axis=0)) + 1, 0, (width, height)).astype(int)
    columns, rows = np.meshgrid(np.arange(low[0], high[0]), np.arange(low[1], high[1]))
    pixels = np.stack([columns.ravel(), rows.ravel()], axis=1).astype(float)
    return pixels[beyond_px(silhouette, pixels) > 0]
