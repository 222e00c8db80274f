"""Which way the handle of a mug points: to where something sticks out of its side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graspline.perception.core.outlines import Array
from graspline.perception.rgbd.above_surface import Ground
from graspline.perception.rgbd.clusters import Cluster
from graspline.perception.rgbd.upright_shapes import HIGH, WIDE, X, Y

# Points this far outside the round side, also in sigmas of depth, are not of it, between these shares of the height.
_CLEAR_M, _CLEAR_SIGMAS, _SHARES = 0.008, 4.0, (0.08, 0.95)
_LEAST_POINTS = 12
# One standard deviation of the heading: of a handle that is seen; of one that must be behind what it belongs to; and of
# one that may be anywhere.
_SEEN_RAD, _BEHIND_RAD, _ANYWHERE_RAD = 0.10, 0.35, float(np.pi / np.sqrt(3))


@dataclass(frozen=True, slots=True, kw_only=True)
class Handle:
    """Its heading, and one standard deviation of that."""

    yaw_rad: float
    sigma_rad: float


def find_handle(ground: Ground, cluster: Cluster, upright: Array, reach_m: float, *, hidden: bool) -> Handle:
    """Where the handle of something round and upright is; `hidden` if something else may be before the handle."""
    points = ground.points(cluster.rows, cluster.columns)
    off = points[:, :2] - upright[[X, Y]]
    out = np.hypot(off[:, 0], off[:, 1]) - upright[WIDE]
    high = points[:, 2] / upright[HIGH]
    distance = float(np.linalg.norm(upright[[X, Y]] - ground.lens.position_m[:2]))
    clear = max(_CLEAR_M, _CLEAR_SIGMAS * ground.view.sigma * distance**2)
    sticks_out = (out > clear) & (out < reach_m + clear) & (high > _SHARES[0]) & (high < _SHARES[1])
    if sticks_out.sum() >= _LEAST_POINTS:
        x, y = np.median(off[sticks_out], axis=0)
        return Handle(yaw_rad=float(np.arctan2(y, x)), sigma_rad=_SEEN_RAD)
    away = upright[[X, Y]] - ground.lens.position_m[:2]
    return Handle(yaw_rad=float(np.arctan2(away[1], away[0])), sigma_rad=_ANYWHERE_RAD if hidden else _BEHIND_RAD)
