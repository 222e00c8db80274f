"""A solid as an object of a scene: a body, its free joint, the surface that is seen and the parts that touch."""

from __future__ import annotations

import mujoco
import numpy as np

from graspline.robots.robot import VISUAL_CONTYPE
from graspline.scenes.furniture import SURFACE_SOLREF
from graspline.scenes.meshes.files import TriangleMesh
from graspline.scenes.meshes.solid import Solid

# Of what touches and is not seen.
_HIDDEN_GROUP = 3


def part_name(name: str, index: int) -> str:
    """The name of a convex part of an object."""
    return f"{name}/part_{index}"


def add_solid(spec: mujoco.MjSpec, name: str, solid: Solid, mass_kg: float, rgb: tuple[float, float, float]) -> None:
    """Body, joint and looks have the object's name; its parts are named after it."""
    body = spec.worldbody.add_body(name=name, pos=(0.25, 0, solid.rests[0].height_m))
    body.add_freejoint(name=name)
    body.explicitinertial = True
    body.mass, body.ipos = mass_kg, solid.centre_m
    moments = mass_kg * solid.inertia_m2
    body.fullinertia = [moments[0, 0], moments[1, 1], moments[2, 2], moments[0, 1], moments[0, 2], moments[1, 2]]
    _add_mesh(spec, name, solid.surface)
    body.add_geom(
        name=name,
        type=mujoco.mjtGeom.mjGEOM_MESH,
        meshname=name,
        rgba=(*rgb, 1),
        group=2,
        mass=0,
        contype=VISUAL_CONTYPE,
        conaffinity=0,
    )
    for index, part in enumerate(solid.parts):
        _add_mesh(spec, part_name(name, index), part)
        body.add_geom(
            name=part_name(name, index),
            type=mujoco.mjtGeom.mjGEOM_MESH,
            meshname=part_name(name, index),
            group=_HIDDEN_GROUP,
            mass=0,
            friction=(0.8, 0.005, 0.0002),
            condim=4,
            solref=SURFACE_SOLREF,
        )


def _add_mesh(spec: mujoco.MjSpec, name: str, surface: TriangleMesh) -> None:
    # Flat facets: without normals of its own, each corner of a triangle gets that of its face.
    spec.add_mesh(
        name=name,
        uservert=surface.triangles.ravel(),
        userface=np.arange(3 * len(surface.faces)),
        inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL,
    )
