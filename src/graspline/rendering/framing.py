"""Where a camera has to be for a picture to show given points, and no more than that."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graspline.errors import InputError
from graspline.rendering.picture import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewpoint:
    """A camera that no model has: it looks at a point from a distance, its picture upright."""

    # p_W of the point in the middle of the picture.
    target_m: tuple[float, float, float]
    distance_m: float
    # The direction it looks in: counterclockwise from x, and upwards from level.
    azimuth_rad: float
    elevation_rad: float
    fovy_rad: float

    @property
    def rotation(self) -> Array:
        """R_WC, (3, 3): x to the right of the picture, y up, and the camera looks along -z."""
        forward = direction(self.azimuth_rad, self.elevation_rad)
        right = np.array([np.sin(self.azimuth_rad), -np.cos(self.azimuth_rad), 0.0])
        return np.stack([right, np.cross(right, forward), -forward], axis=1)

    @property
    def position_m(self) -> Array:
        """p_WC, (3,)."""
        return np.array(self.target_m) - self.distance_m * direction(self.azimuth_rad, self.elevation_rad)


def direction(azimuth_rad: float, elevation_rad: float) -> Array:
    """The unit vector to an azimuth and elevation."""
    level = np.cos(elevation_rad)
    return np.array([level * np.cos(azimuth_rad), level * np.sin(azimuth_rad), np.sin(elevation_rad)])


def angles(forward: Array) -> tuple[float, float]:
    """Azimuth and elevation of a direction."""
    x, y, z = forward.tolist()
    return float(np.arctan2(y, x)), float(np.arctan2(z, np.hypot(x, y)))


def frame_points(
    points_m: Array, *, azimuth_rad: float, elevation_rad: float, fovy_rad: float, aspect: float, margin: float
) -> Viewpoint:
    """The nearest viewpoint in a direction from which all points (n, 3) are in the picture.

    `aspect` is width by height. `margin` is the share of the picture that stays free along each edge.
    """
    if not len(points_m) or not np.isfinite(points_m).all():
        raise InputError("a camera needs at least one point to frame, and all points must be finite")
    looking = Viewpoint(
        target_m=(0.0, 0.0, 0.0),
        distance_m=0.0,
        azimuth_rad=azimuth_rad,
        elevation_rad=elevation_rad,
        fovy_rad=fovy_rad,
    )
    right, up, back = looking.rotation.T
    across, upwards, ahead = points_m @ right, points_m @ up, -(points_m @ back)
    tangent_y = (1 - 2 * margin) * np.tan(fovy_rad / 2)
    tangent_x = aspect * tangent_y
    # A point is in the picture if it is on the inner side of four planes through the camera. For each pair of planes
    # the outermost points say how far ahead the camera may be, and where between them it then is.
    left, rightmost = (across + tangent_x * ahead).min(), (across - tangent_x * ahead).max()
    low, high = (upwards + tangent_y * ahead).min(), (upwards - tangent_y * ahead).max()
    camera_ahead = min((left - rightmost) / (2 * tangent_x), (low - high) / (2 * tangent_y))
    middle_ahead = float(ahead.min() + ahead.max()) / 2
    target = (left + rightmost) / 2 * right + (low + high) / 2 * up - middle_ahead * back
    x, y, z = target.tolist()
    return Viewpoint(
        target_m=(x, y, z),
        distance_m=float(middle_ahead - camera_ahead),
        azimuth_rad=azimuth_rad,
        elevation_rad=elevation_rad,
        fovy_rad=fovy_rad,
    )
