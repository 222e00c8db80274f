"""One cube on a table in front of an SO-101."""

from __future__ import annotations

import functools

import mujoco
import numpy as np

from graspline.robots.so101 import PAD_FRICTION, PAD_GEOMS, SO101
from graspline.scenes.furniture import SURFACE_SOLREF, add_front_camera, add_light, add_table
from graspline.scenes.scene import Array, Scene, SceneObject, add_truth_sensors, new_spec
from graspline.scenes.variation import Variation, box_of, friction_of

CUBE = "cube"
_HALF_EDGE_M = 0.015


@functools.cache
def cube_table() -> Scene:
    """The compiled scene; lanes give the cube its edge and mass and the pads their friction."""
    spec = new_spec()
    add_table(spec)
    add_light(spec)
    add_front_camera(spec)
    SO101.add_to(spec)
    body = spec.worldbody.add_body(name=CUBE, pos=(0.25, 0, _HALF_EDGE_M))
    body.add_freejoint(name=CUBE)
    body.add_geom(
        name=CUBE,
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=(_HALF_EDGE_M,) * 3,
        mass=0.03,
        rgba=(0.82, 0.20, 0.16, 1),
        friction=(0.8, 0.005, 0.0002),
        condim=4,
        solref=SURFACE_SOLREF,
    )
    add_truth_sensors(spec, (CUBE,))
    return Scene(
        name="cube_table",
        robot=SO101,
        model=spec.compile(),
        objects=(SceneObject(name=CUBE, half_extents_m=(_HALF_EDGE_M, _HALF_EDGE_M, _HALF_EDGE_M)),),
    )


def cube_variation(*, edge_m: float, mass_kg: float, pad_friction: float) -> Variation:
    """A cube of this edge and mass, and jaw pads of this sliding friction."""
    half = edge_m / 2
    return Variation(
        edits=box_of(CUBE, (half, half, half), mass_kg)
        + friction_of(PAD_GEOMS, (pad_friction, PAD_FRICTION[1], PAD_FRICTION[2])),
        described={"edge_m": edge_m, "mass_kg": mass_kg, "pad_friction": pad_friction},
    )


def cube_start(*, x_m: float, y_m: float, yaw_rad: float, edge_m: float) -> Array:
    """A start state: the robot at home, the cube lying flat on the table."""
    position = np.array([x_m, y_m, edge_m / 2])
    quaternion = np.array([np.cos(yaw_rad / 2), 0, 0, np.sin(yaw_rad / 2)])
    return cube_table().start({CUBE: (position, quaternion)})
