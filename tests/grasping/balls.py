"""Balls as they are believed to lie on the table, and what they are near."""

from __future__ import annotations

import numpy as np

from graspline.kinematics.so101 import PAN_X_M
from graspline.perception.core.beliefs import Belief


def ball(
    x_m: float = 0.25,
    y_m: float = 0.0,
    radius_m: float = 0.03,
    *,
    name: str = "orange_1",
    floor_m: float = 0.0,
    position_sigma_m: float = 0.0,
) -> Belief:
    return Belief(
        name=name,
        position_m=np.array([x_m, y_m, floor_m + radius_m]),
        quaternion=np.array([1.0, 0.0, 0.0, 0.0]),
        half_extents_m=np.full(3, radius_m),
        position_sigma_m=position_sigma_m,
        yaw_sigma_rad=0.0,
        time_s=0.0,
        shape="ball",
    )


def around(radius_m: float, azimuth_rad: float, ball_m: float = 0.03, **more: float) -> Belief:
    """A ball at this distance and direction from the pan axis."""
    x, y = PAN_X_M + radius_m * np.cos(azimuth_rad), radius_m * np.sin(azimuth_rad)
    return ball(float(x), float(y), ball_m, **more)  # pyright: ignore[reportArgumentType]


def beside(target: Belief, angle_rad: float, gap_m: float, radius_m: float = 0.03, name: str = "orange_2") -> Belief:
    """A neighbour in this direction, its skin this far away."""
    apart = target.radius_m + gap_m + radius_m
    x, y = target.position_m[:2] + apart * np.array([np.cos(angle_rad), np.sin(angle_rad)])
    return ball(float(x), float(y), radius_m, name=name)
