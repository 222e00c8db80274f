"""Pictures with depth that are computed, not drawn: planes and boxes before a camera that looks down at a table."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graspline.rendering.depth_errors import SIGMA_PER_M
from graspline.rendering.picture import Picture, pixel_rays
from graspline.spatial.rotations import rotation_x, rotation_z

Array = NDArray[np.float64]

HEIGHT, WIDTH, FOVY_RAD = 240, 320, 0.8
CAMERA_M = np.array([0.0, 0.0, 1.1])
# Looks along x, 0.45 rad down.
R_OC = rotation_z(-np.pi / 2) @ rotation_x(np.pi / 2 - 0.45)
TABLE_M = 0.72


def rays() -> Array:
    """(H, W, 3): of unit depth, in O."""
    return pixel_rays(WIDTH, HEIGHT, FOVY_RAD) @ R_OC.T


def plane_depth(normal: Array, offset_m: float) -> Array:
    """(H, W): depth of the plane normal · p = offset, infinite where it is not ahead."""
    along = rays() @ normal
    depth = (offset_m - normal @ CAMERA_M) / np.where(np.abs(along) > 1e-9, along, 1e-9)
    return np.where(depth > 0, depth, np.inf)


def table_depth(half_m: tuple[float, float] = (0.3, 0.4), middle_m: tuple[float, float] = (1.1, 0.0)) -> Array:
    """(H, W): a table top over a floor."""
    top = plane_depth(np.array([0.0, 0.0, 1.0]), TABLE_M)
    there = CAMERA_M + rays() * np.where(np.isfinite(top), top, 0.0)[..., None]
    on = (np.abs(there[..., :2] - np.array(middle_m)) < np.array(half_m)).all(axis=-1) & np.isfinite(top)
    return np.where(on, top, plane_depth(np.array([0.0, 0.0, 1.0]), 0.0))


def box_depth(middle_m: Array, half_m: Array) -> Array:
    """(H, W): depth of an upright box along the axes of O, infinite where it is not seen."""
    along = rays()
    along = np.where(np.abs(along) > 1e-9, along, 1e-9)
    ends = np.stack([(middle_m + sign * half_m - CAMERA_M) / along for sign in (-1, 1)])
    into, out = ends.min(axis=0).max(axis=-1), ends.max(axis=0).min(axis=-1)
    return np.where((into < out) & (into > 0), into, np.inf)


def picture_of(depth: Array, noise: float = 1.0, seed: int = 0) -> Picture:
    """A grey picture with this depth and a camera's noise."""
    random = np.random.default_rng(seed)
    noisy = (
        depth + noise * SIGMA_PER_M * random.standard_normal(depth.shape) * np.where(np.isfinite(depth), depth, 0) ** 2
    )
    return Picture(
        rgb=np.full((HEIGHT, WIDTH, 3), 128, np.uint8),
        camera="head",
        position_m=np.full(3, np.nan),
        rotation=np.full((3, 3), np.nan),
        fovy_rad=FOVY_RAD,
        depth_m=np.where(np.isfinite(noisy), noisy, np.nan).astype(np.float32),
    )
