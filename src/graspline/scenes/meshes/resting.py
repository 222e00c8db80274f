"""How a solid rests on a level surface: on which faces of its hull, and how often when it is dropped at random."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.scenes.meshes.files import Array, TriangleMesh

# Tipped by less than this it falls over by itself: it rolls, or was balanced.
STEADY_RAD = 0.15
# Faces that are turned by less than this from each other are one.
_FLAT = np.cos(0.01)
# Rarer poses than this are left out, and more of them than this.
_RARE, _MOST = 0.02, 8
# Corners that are higher than the lowest by less than this, of the solid's size, belong to the face that is down.
_LEVEL = 0.004
_DIRECTIONS = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """One way to rest: which direction of the solid is down then, (3,) of length 1, and how high and wide it is."""

    down: tuple[float, float, float]
    # From the solid's origin down to the surface, up to its top, and around the upright axis through the origin.
    height_m: float
    rise_m: float
    spread_m: float
    # How often it ends at rest like this, of all times.
    share: float

    @property
    def quaternion(self) -> Array:
        """The least turn that brings the solid there, w first."""
        x, y, z = self.down
        if z > 1 - 1e-12:
            return np.array([0.0, 1.0, 0.0, 0.0])
        # Half way between where it points and straight down.
        found = np.array([1 - z, -y, x, 0.0])
        return found / np.linalg.norm(found)


def resting_poses(hull: TriangleMesh, centre_m: Array) -> tuple[Rest, ...]:
    """The poses in which it stays, the commonest first. Each direction that may be down leads, tipping over edge after
    edge, to one face; what counts is from how many directions."""
    normals, offsets = _planes(hull, centre_m)
    which = _face_under(normals, offsets)
    shares = np.bincount(which, minlength=len(normals)) / len(which)
    order = np.argsort(-shares, kind="stable")
    common = [face for face in order.tolist() if shares[face] >= _RARE]
    kept = [face for face in common if _steady(normals[face], float(offsets[face]), hull.vertices - centre_m)]
    total = float(shares[kept].sum()) or 1.0
    return tuple(_rest(normals[face], hull, float(shares[face]) / total) for face in kept[:_MOST])


def _rest(down: Array, hull: TriangleMesh, share: float) -> Rest:
    along = hull.vertices @ down
    beside = np.sqrt(np.maximum(np.vecdot(hull.vertices, hull.vertices) - along**2, 0.0))
    x, y, z = (float(each) + 0.0 for each in np.round(down, 12))
    return Rest(
        down=(x, y, z),
        height_m=float(along.max()),
        rise_m=float(-along.min()),
        spread_m=float(beside.max()),
        share=share,
    )


def _planes(hull: TriangleMesh, centre_m: Array) -> tuple[Array, Array]:
    """Of each flat face: its outward normal (n, 3), and how far it is from the centre (n,)."""
    a, b, c = hull.triangles.transpose(1, 0, 2)
    areas = np.cross(b - a, c - a)
    sizes = np.linalg.norm(areas, axis=1)
    normals = areas / np.maximum(sizes, 1e-30)[:, None]
    found: list[Array] = []
    for index in np.argsort(-sizes, kind="stable").tolist():
        if sizes[index] > 0 and all(normals[index] @ other < _FLAT for other in found):
            alike = normals @ normals[index] >= _FLAT
            mean = areas[alike].sum(axis=0)
            found.append(mean / np.linalg.norm(mean))
    faces = np.array(found)
    return faces, ((hull.vertices - centre_m) @ faces.T).max(axis=0)


def _face_under(normals: Array, offsets: Array) -> NDArray[np.intp]:
    """The face that each of many directions ends on, when it is down at first.

    A ray from the centre leaves through one face. A body on a face over which its centre does not lie tips on, across
    the edge to the face that is lower, until the centre lies over the face it is on.
    """
    after = _tips_to(normals, offsets)
    directions = _spread(_DIRECTIONS)
    reach = directions @ normals.T
    with np.errstate(divide="ignore"):
        first = np.argmin(np.where(reach > 1e-9, offsets / np.maximum(reach, 1e-9), np.inf), axis=1)
    face = first
    for _ in range(len(normals)):
        following = after[face]
        if np.array_equal(following, face):
            break
        face = following
    return face


def _tips_to(normals: Array, offsets: Array) -> NDArray[np.intp]:
    """From each face the one it tips to: the one that the ray straight down from the centre leaves through."""
    reach = normals @ normals.T
    with np.errstate(divide="ignore"):
        leaves = np.where(reach > 1e-9, offsets[None] / np.maximum(reach, 1e-9), np.inf)
    least = np.argmin(leaves, axis=1)
    own = np.arange(len(normals))
    # Rounding must not let a face tip to its twin.
    stays = leaves[own, own] <= leaves[own, least] * (1 + 1e-9)
    return np.where(stays, own, least)


def _steady(down: Array, height_m: float, corners: Array) -> bool:
    """Whether it takes a clear push to tip it over the nearest edge of the face that is down; corners as seen from the
    centre."""
    corners = corners[corners @ down > height_m - _LEVEL * float(np.ptp(corners))]
    level = corners - (corners @ down)[:, None] * down
    first = np.cross(down, [1.0, 0.0, 0.0] if abs(down[0]) < 0.9 else [0.0, 1.0, 0.0])
    first /= np.linalg.norm(first)
    flat = np.stack([level @ first, level @ np.cross(down, first)], axis=1)
    # The nearest edge is where the outline reaches least far in any direction.
    angles = np.linspace(0, 2 * np.pi, 180, endpoint=False)
    reach = (flat @ np.stack([np.cos(angles), np.sin(angles)])).max(axis=0)
    return float(np.arctan2(reach.min(), height_m)) >= STEADY_RAD


def _spread(count: int) -> Array:
    """(count, 3): directions spread evenly over the sphere, on a golden spiral."""
    index = np.arange(count) + 0.5
    height, turn = 1 - 2 * index / count, np.pi * (1 + np.sqrt(5)) * index
    level = np.sqrt(1 - height**2)
    return np.stack([level * np.cos(turn), level * np.sin(turn), height], axis=1)
