"""A solid of any shape, as everything that plans with it, plays it and renders it knows it."""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass

import numpy as np

from graspline.scenes.meshes.checks import volume_m3
from graspline.scenes.meshes.files import Array, TriangleMesh
from graspline.scenes.meshes.parts import hull
from graspline.scenes.meshes.resting import Rest, resting_poses


@dataclass(frozen=True, kw_only=True, eq=False)
class Solid:
    """A closed surface, and the convex parts it is to physics, in metres; its axes are those of its file.

    Its origin is the middle of the box around it.
    """

    surface: TriangleMesh
    parts: tuple[TriangleMesh, ...]
    # Where the file's own origin is.
    file_origin_m: tuple[float, float, float]

    @functools.cached_property
    def key(self) -> str:
        """Of its numbers: what has the same is the same."""
        found = hashlib.sha256()
        for each in (self.surface, *self.parts):
            found.update(each.vertices.astype(np.float32).tobytes() + each.faces.astype(np.int32).tobytes())
        return found.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Solid) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def half_extents_m(self) -> tuple[float, float, float]:
        """Half the sizes along the object's own axes."""
        x, y, z = (float(each) / 2 for each in self.surface.size)
        return x, y, z

    @functools.cached_property
    def volume_m3(self) -> float:
        """The volume."""
        return volume_m3(self.surface)

    @functools.cached_property
    def centre_m(self) -> Array:
        """(3,): of mass, where it is as dense everywhere."""
        a, b, c = self.surface.triangles.transpose(1, 0, 2)
        volumes = np.vecdot(a, np.cross(b, c))
        return (volumes[:, None] * (a + b + c)).sum(axis=0) / 4 / volumes.sum()

    @functools.cached_property
    def inertia_m2(self) -> Array:
        """(3, 3): about the centre, of one kilogram."""
        corners = self.surface.triangles - self.centre_m
        a, b, c = corners.transpose(1, 0, 2)
        volumes = np.vecdot(a, np.cross(b, c))
        whole = corners.sum(axis=1)
        # Second moments of tetrahedra with a corner at the centre.
        second = np.einsum("n,nki,nkj->ij", volumes, corners, corners) + np.einsum("n,ni,nj->ij", volumes, whole, whole)
        second /= 20 * volumes.sum()
        return np.eye(3) * np.trace(second) - second

    @functools.cached_property
    def hull(self) -> TriangleMesh:
        """Around all parts, which is what it rests on."""
        return hull(np.concatenate([each.vertices for each in self.parts]), most_corners=400)

    @functools.cached_property
    def rests(self) -> tuple[Rest, ...]:
        """How it rests on a table, the commonest way first; none if it only rolls."""
        return resting_poses(self.hull, self.centre_m)

    @functools.cached_property
    def _downs(self) -> Array:
        return np.array([each.down for each in self.rests])

    def rest_at(self, rotation: Array) -> Rest:
        """The way to rest that is nearest to how it is turned, R_WO."""
        return self.rests[int(np.argmin(self._downs @ rotation[2]))]

    def reach_m(self, rotation: Array) -> tuple[float, float]:
        """How far it reaches down and up from its origin, turned like this."""
        heights = self.hull.vertices @ rotation[2]
        return -float(heights.min()), float(heights.max())
