"""Solids that robots' looks are made of, as loose triangles (n, 3 corners, 3) in millimetres."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np
from numpy.typing import NDArray

from graspline.robots.robot import VISUAL_CONTYPE

Array = NDArray[np.float64]
Point = tuple[float, float]

X, Y, Z = 0, 1, 2
# Sides of what is round, unless set otherwise.
ROUND = 20


def add_mesh(
    spec: mujoco.MjSpec, body: mujoco.MjsBody, name: str, triangles_mm: Array, rgba: tuple[float, ...]
) -> None:
    """Dress a body in a mesh that nothing touches."""
    spec.add_mesh(
        name=name,
        uservert=(triangles_mm * 1e-3).ravel(),
        userface=np.arange(3 * len(triangles_mm)),
        # Parts overlap, so a mesh encloses no proper volume.
        inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL,
    )
    body.add_geom(
        name=name,
        type=mujoco.mjtGeom.mjGEOM_MESH,
        meshname=name,
        rgba=rgba,
        group=2,
        mass=0,
        contype=VISUAL_CONTYPE,
        conaffinity=0,
    )


def loft(rings: Array) -> Array:
    """Outward triangles (n, 3 corners, 3) of the solid through `rings` (k, m, 3) of convex polygons."""
    following = np.roll(rings, -1, axis=1)
    sides = np.concatenate(
        [
            np.stack([rings[:-1], following[:-1], following[1:]], axis=2),
            np.stack([rings[:-1], following[1:], rings[1:]], axis=2),
        ]
    ).reshape(-1, 3, 3)
    caps = [
        np.stack([np.broadcast_to(ring[0], ring[2:].shape), ring[1:-1], ring[2:]], axis=1)
        for ring in (rings[0, ::-1], rings[-1])
    ]
    triangles = np.concatenate([sides, *caps])
    volume = np.linalg.det(triangles - rings.mean(axis=(0, 1))).sum()
    return triangles if volume > 0 else triangles[:, ::-1]


def prism(axis: int, outline: Sequence[Point] | Array, low: float, high: float) -> Array:
    """A convex outline in the two other axes, in their order, extruded along `axis`."""
    flat = np.asarray(outline, float)
    return loft(np.stack([np.insert(flat, axis, at, axis=1) for at in (low, high)]))


def box(low: tuple[float, float, float], high: tuple[float, float, float]) -> Array:
    """The corners of a box between two opposite ones."""
    corners = [(low[X], low[Y]), (high[X], low[Y]), (high[X], high[Y]), (low[X], high[Y])]
    return prism(Z, corners, low[Z], high[Z])


def disc(axis: int, centre: Point, radius: float, low: float, high: float) -> Array:
    """The corners of a disc about an axis, approximated by a prism."""
    return prism(axis, arc(centre, radius, np.linspace(0, 2 * np.pi, ROUND, endpoint=False)), low, high)


def arc(centre: Point, radius: float, angles: Array) -> Array:
    """Points of an arc at these angles, (N, 2)."""
    return np.array(centre) + radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)


def belt(first: tuple[float, float, float], second: tuple[float, float, float]) -> Array:
    """The outline of a belt around two circles (u, v, radius): a plate with round ends."""
    (a, b, r), (c, d, s) = first, second
    heading = np.arctan2(d - b, c - a)
    leaves = np.arccos((r - s) / np.hypot(c - a, d - b))
    near = np.linspace(leaves, 2 * np.pi - leaves, ROUND // 2 + 1) + heading
    far = np.linspace(-leaves, leaves, ROUND // 2 + 1) + heading
    return np.concatenate([arc((a, b), r, near), arc((c, d), s, far)])


def mirrored(axis: int, solid: Array) -> Array:
    """The solid and its mirror image across the plane through the origin."""
    flip = np.ones(3)
    flip[axis] = -1
    return np.concatenate([solid, (solid * flip)[:, ::-1]])
