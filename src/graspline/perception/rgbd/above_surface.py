"""What stands on a surface: the frame of its plane, and the pixels above it that are no walls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from graspline.perception.core.beliefs import Belief
from graspline.perception.core.outlines import Lens
from graspline.perception.rgbd.clouds import DepthView, Flags, Image, Indices, ray_parts
from graspline.perception.rgbd.planes import Plane
from graspline.perception.rgbd.surfaces import Surface
from graspline.rendering.picture import Array

# What is less above a plane may be the plane, also where its noise, in sigmas of height, is more than that.
_LEAST_M, _LEAST_SIGMAS = 0.006, 4.5
# Things may stick out over an edge by this much.
_OVERHANG_M = 0.02
# What is this near to where a wall rises, and this many sigmas of depth, is the wall.
_WALL_M, _WALL_SIGMAS = 0.008, 3.0
# What is this near to something known is that.
_KNOWN_M = 0.012


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ground:
    """The frame P: O moved to where a level plane is below the camera, so that the plane is at z = 0."""

    view: DepthView
    # p_OP, (3,).
    position_m: Array
    # The camera in P.
    lens: Lens
    # (H, W): how far the point in each pixel is above the plane, 0 where there is none.
    heights_m: Image

    def points(self, rows: Indices, columns: Indices) -> Array:
        """(N, 3): points seen in pixels, in P."""
        return self.view.points_m[:, rows, columns].T.astype(float) - self.position_m


def ground_of(view: DepthView, plane: Plane) -> Ground:
    """The frame of a level plane."""
    x, y, z = view.lens.position_m.tolist()
    below = plane.height_m(x, y)
    return Ground(
        view=view,
        position_m=np.array([x, y, below]),
        lens=replace(view.lens, position_m=np.array([0.0, 0.0, z - below])),
        heights_m=np.where(view.measured, view.points_m[2] - np.float32(below), np.float32(0)),
    )


def standing_pixels(ground: Ground, surface: Surface, highest_m: float, known: Sequence[Belief] = ()) -> Flags:
    """(H, W): where something is seen above the surface, lower than this, that is not at one of the known solids."""
    view, height = ground.view, ground.heights_m
    rows, columns = np.nonzero((height > _LEAST_M) & (height < highest_m))
    # Noise of a height is that of a depth, sigma × depth², times how steeply the ray comes down.
    down, across = ray_parts(view.lens, np.array([0.0, 0.0, -1.0]))
    steep = down[rows, 0] + across[0, columns]
    clear = height[rows, columns] * view.inverse[rows, columns] ** 2 > _LEAST_SIGMAS * view.sigma * steep
    rows, columns = rows[clear], columns[clear]
    points = view.points_m[:, rows, columns].T.astype(float)
    away = float(np.linalg.norm(surface.middle_m - view.lens.position_m))
    over = _over(surface.in_own_frame(points), surface, _WALL_M + _WALL_SIGMAS * view.sigma * away**2)
    for solid in known:
        own = np.abs(np.einsum("ni,ij->nj", points - solid.position_m, solid.rotation))
        over &= (own > solid.half_extents_m + _KNOWN_M).any(axis=1)
    found = np.zeros(height.shape, bool)
    found[rows[over], columns[over]] = True
    return found


def _over(places_m: Array, surface: Surface, wall_m: float) -> Flags:
    """(N,): whether places (N, 2) in the surface's frame are over it, and not this near to its walls."""
    inside = np.ones(len(places_m), bool)
    sides = ((0, -1, surface.near), (0, 1, surface.far), (1, -1, surface.right), (1, 1, surface.left))
    for axis, sign, kind in sides:
        reach = surface.half_m[axis] + (-wall_m if kind == "rise" else _OVERHANG_M)
        inside &= sign * places_m[:, axis] < reach
    return inside
