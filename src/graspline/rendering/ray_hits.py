"""What rays from one point meet among the visible geoms."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from graspline.rendering.picture import Array
from graspline.rendering.stage import VISIBLE_GROUPS
from graspline.spatial.rotations import rotate, transpose

_HIDDEN_GROUP = int(np.flatnonzero(VISIBLE_GROUPS == 0)[0])
# Enough to tell a camera inside a closed surface, which stops every ray, from one beside it.
_SCOUTS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Hits:
    """One row per ray: a geom or -1, how many ray lengths away, and the outward normal in W."""

    geom: NDArray[np.int32]
    length: Array
    normal: Array


def cast(model: mujoco.MjModel, data: mujoco.MjData, origin: Array, rays: Array) -> Hits:
    """Hits of rays (n, 3) from `origin`, both in W. Surfaces are met from inside as well."""
    count = len(rays)
    geom, length, normal = np.empty(count, np.int32), np.empty(count), np.empty((count, 3))
    mujoco.mj_multiRay(
        model, data, origin, rays.reshape(-1), VISIBLE_GROUPS, True, -1,
        geom, length, normal.reshape(-1), count, mujoco.mjMAXVAL,
    )  # fmt: skip
    return Hits(geom=geom, length=length, normal=normal)


def look(model: mujoco.MjModel, data: mujoco.MjData, camera: Array, rays: Array) -> Hits:
    """Hits of rays from a camera, blind to surfaces seen from inside as OpenGL is: a lens has a case.

    The model is changed meanwhile and left as it was.
    """
    groups, faces = model.geom_group.copy(), model.mesh_face.copy()
    try:
        cleared = _clear_housing(model, data, camera, rays)
        hits = cast(model, data, camera, rays)
        inside = _met_from_inside(hits, rays)
        while around := set(hits.geom[inside].tolist()) - cleared:
            for geom in around:
                _clear(model, data, geom, camera)
            cleared |= around
            # Only these rays again: one may have slipped into a solid by its edge, and others must see it.
            again = cast(model, data, camera, rays[inside])
            hits.geom[inside], hits.length[inside] = again.geom, again.length
            hits.normal[inside] = again.normal
            inside = inside[_met_from_inside(again, rays[inside])]
    finally:
        model.geom_group[:], model.mesh_face[:] = groups, faces
    return hits


def _clear_housing(model: mujoco.MjModel, data: mujoco.MjData, camera: Array, rays: Array) -> set[int]:
    """Clear geoms that stop most of a few rays from inside, to save a round of all rays; gives their ids."""
    scouts = rays[:: max(1, len(rays) // _SCOUTS)]
    hits = cast(model, data, camera, scouts)
    times = np.bincount(hits.geom[_met_from_inside(hits, scouts)], minlength=1)
    housing = np.flatnonzero(times > len(scouts) / 2).tolist()
    for geom in housing:
        _clear(model, data, geom, camera)
    return set(housing)


def _met_from_inside(hits: Hits, rays: Array) -> NDArray[np.intp]:
    """Indices of the rays that met a surface from behind; a miss has no normal."""
    return np.flatnonzero(np.einsum("ij,ij->i", hits.normal, rays) > 0)


def _clear(model: mujoco.MjModel, data: mujoco.MjData, geom: int, camera: Array) -> None:
    """Take out of a geom what faces away from the camera: all of a solid around it, triangles of a mesh.

    Geoms that share a mesh would lose the same triangles; our scenes have one geom per mesh.
    """
    if model.geom_type[geom] != mujoco.mjtGeom.mjGEOM_MESH.value:
        model.geom_group[geom] = _HIDDEN_GROUP
        return
    mesh = model.geom_dataid[geom]
    start, first = model.mesh_faceadr[mesh], model.mesh_vertadr[mesh]
    faces = model.mesh_face[start : start + model.mesh_facenum[mesh]]
    a, b, c = (model.mesh_vert[first + faces[:, corner]].astype(float) for corner in range(3))
    R_WG = data.geom_xmat[geom].reshape(3, 3)
    p_GC = rotate(transpose(R_WG), camera - data.geom_xpos[geom])
    away = np.einsum("ij,ij->i", np.cross(b - a, c - a), a - p_GC) >= 0
    # A triangle with one corner is never met.
    faces[away] = faces[away, :1]
