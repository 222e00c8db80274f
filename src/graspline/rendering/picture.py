"""What a camera gives back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Pixels = NDArray[np.uint8]
Depths = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """Pixels and the camera they were taken with.

    The camera frame C is MuJoCo's: x to the right of the picture, y up, and the camera looks along -z.
    """

    # (H, W, 3), the first row at the top.
    rgb: Pixels
    camera: str
    # p_WC, (3,), and R_WC, (3, 3).
    position_m: Array
    rotation: Array
    # From the bottom edge of the picture to the top edge.
    fovy_rad: float
    # (H, W), along the viewing direction, nan where the camera measured none; None if it was not asked to.
    depth_m: Depths | None = None

    @property
    def width(self) -> int:
        """The width in pixels."""
        return self.rgb.shape[1]

    @property
    def height(self) -> int:
        """The height in pixels."""
        return self.rgb.shape[0]


def pixel_rays(width: int, height: int, fovy_rad: float) -> Array:
    """(H, W, 3): the ray in C through the centre of each pixel, scaled to unit depth (z = -1).

    A point at depth d seen in a pixel lies at d times its ray, so depths times rays are a point cloud.
    """
    per_pixel = 2 * np.tan(fovy_rad / 2) / height
    rays = np.empty((height, width, 3))
    rays[..., 0] = (np.arange(width) + 0.5 - width / 2) * per_pixel
    rays[..., 1] = ((height / 2 - 0.5 - np.arange(height)) * per_pixel)[:, None]
    rays[..., 2] = -1
    return rays
