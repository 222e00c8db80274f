"""Visible geoms of a compiled model as triangles with a colour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
import trimesh
from numpy.typing import NDArray

from graspline.rendering.stage import VISIBLE_GROUPS
from graspline.scenes.textures import texels_of

Array = NDArray[np.float64]
_GEOM = mujoco.mjtGeom
_RGB_ROLE = int(mujoco.mjtTextureRole.mjTEXROLE_RGB)
# A plane is shown this thick, below its surface.
_PLANE_M = 0.004
# What MuJoCo takes for no colour of a geom's own.
_NO_COLOUR = (0.5, 0.5, 0.5, 1.0)
_FLAT = {int(each) for each in (_GEOM.mjGEOM_BOX, _GEOM.mjGEOM_MESH, _GEOM.mjGEOM_PLANE)}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shape:
    """One geom in the frame of its body."""

    name: str
    body: str
    vertices: Array
    faces: NDArray[Any]
    rgb: tuple[int, int, int]
    position_m: Array
    quaternion: Array
    # Faces of machined parts look flat, round things do not.
    flat: bool


def shapes_of(model: mujoco.MjModel) -> tuple[Shape, ...]:
    """Everything that a camera sees."""
    groups = np.flatnonzero(VISIBLE_GROUPS)
    visible = [i for i in range(model.ngeom) if model.geom_group[i] in groups and _rgba(model, i)[3] > 0]
    return tuple(_shape(model, index) for index in visible)


def _shape(model: mujoco.MjModel, index: int) -> Shape:
    vertices, faces = _triangles(model, index)
    red, green, blue = (int(each) for each in np.rint(255 * np.clip(_rgba(model, index)[:3], 0, 1)))
    return Shape(
        name=model.geom(index).name,
        body=model.body(model.geom_bodyid[index]).name,
        vertices=vertices,
        faces=faces,
        rgb=(red, green, blue),
        position_m=model.geom_pos[index].copy(),
        quaternion=model.geom_quat[index].copy(),
        flat=int(model.geom_type[index]) in _FLAT,
    )


def _triangles(model: mujoco.MjModel, index: int) -> tuple[Array, NDArray[Any]]:
    x, y, z = (float(each) for each in model.geom_size[index])
    match int(model.geom_type[index]):
        case _GEOM.mjGEOM_MESH:
            mesh = model.mesh(model.geom_dataid[index])
            first, count = int(mesh.vertadr[0]), int(mesh.vertnum[0])
            face, faces = int(mesh.faceadr[0]), int(mesh.facenum[0])
            return model.mesh_vert[first : first + count].astype(float), model.mesh_face[face : face + faces].copy()
        case _GEOM.mjGEOM_PLANE:
            slab = trimesh.creation.box((2 * x, 2 * y, _PLANE_M))
            return slab.vertices - [0, 0, _PLANE_M / 2], slab.faces
        case _GEOM.mjGEOM_BOX:
            made = trimesh.creation.box((2 * x, 2 * y, 2 * z))
        case _GEOM.mjGEOM_CYLINDER:
            made = trimesh.creation.cylinder(x, 2 * y, sections=40)
        case _GEOM.mjGEOM_CAPSULE:
            made = trimesh.creation.capsule(2 * y, x)
        case _GEOM.mjGEOM_SPHERE | _GEOM.mjGEOM_ELLIPSOID:
            # A sphere that an episode makes off round has three half extents, too.
            made = trimesh.creation.icosphere(3)
            made.apply_scale((x, y or x, z or x))
        case kind:
            raise ValueError(f"geom {model.geom(index).name!r} is of type {kind}, which the panel does not show")
    return np.asarray(made.vertices), np.asarray(made.faces)


def _rgba(model: mujoco.MjModel, index: int) -> Array:
    """The colour of a geom; where it wears a texture, the mean of that.

    As in pictures, a colour of its own counts for more than that of its material.
    """
    material = int(model.geom_matid[index])
    if material < 0 or tuple(model.geom_rgba[index]) != _NO_COLOUR:
        return model.geom_rgba[index]
    rgba = model.mat_rgba[material].astype(float)
    texture = int(model.mat_texid[material, _RGB_ROLE])
    if texture >= 0:
        rgba[:3] *= texels_of(model, texture).mean(axis=0)[:3] / 255
    return rgba
