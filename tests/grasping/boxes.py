"""Boxes as they are believed to lie on the table."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graspline.perception.core.beliefs import Belief
from graspline.spatial.rotations import multiply, quaternion_from_matrix, rotation_x, rotation_z

Array = NDArray[np.float64]


def box(
    x_m: float = 0.25,
    y_m: float = 0.0,
    yaw_rad: float = 0.0,
    half_m: float | tuple[float, float, float] = 0.015,
    *,
    tilt_rad: float = 0.0,
    position_sigma_m: float = 0.0,
    yaw_sigma_rad: float = 0.0,
) -> Belief:
    half = np.broadcast_to(np.asarray(half_m, float), 3).copy()
    return Belief(
        name="cube",
        position_m=np.array([x_m, y_m, half[2]]),
        quaternion=quaternion_from_matrix(multiply(rotation_z(yaw_rad), rotation_x(tilt_rad))),
        half_extents_m=half,
        position_sigma_m=position_sigma_m,
        yaw_sigma_rad=yaw_sigma_rad,
        time_s=0.0,
    )


def corners_m(estimate: Belief) -> Array:
    """Corners (8, 3) of the believed box in the world."""
    signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, 8).T
    return estimate.position_m + (signs * estimate.half_extents_m) @ estimate.rotation.T
