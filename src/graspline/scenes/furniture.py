"""Tables, lights and cameras that scenes share."""

from __future__ import annotations

import functools

import mujoco
import numpy as np
from numpy.typing import NDArray

from graspline.robots.robot import Robot
from graspline.scenes.scene import VISUAL_CONTYPE
from graspline.scenes.textures import add_patterns

SURFACE_SOLREF = (0.006, 1.0)
BACKDROP = "backdrop"
# Flat, so that a renderer without textures clears to the same picture.
BACKDROP_RGB = (0.60, 0.66, 0.71)


def add_table(spec: mujoco.MjSpec, robot: Robot) -> None:
    """A table top at z = 0 that the robot stands on. Seen it has edges; touched it goes on for ever."""
    size = max(1.0, robot.relative_size)
    spec.worldbody.add_geom(
        name="table",
        type=mujoco.mjtGeom.mjGEOM_PLANE,
        size=(0.75 * size, 0.75 * size, 0.05),
        pos=(0.30 * size, 0, 0),
        rgba=(0.77, 0.69, 0.59, 1),
        friction=(0.8, 0.005, 0.0002),
        condim=4,
        solref=SURFACE_SOLREF,
    )
    add_patterns(spec, "table", per_m=2.0)


def add_light(spec: mujoco.MjSpec) -> None:
    """Two directional lights without highlights and a plain backdrop, which every renderer shades alike."""
    for name, direction, strength, shadow in (
        ("key", (-0.45, 0.55, -1.0), 0.66, True),
        ("fill", (-0.35, -0.8, -0.35), 0.24, False),
    ):
        spec.worldbody.add_light(
            name=name,
            type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
            pos=(0.2 - direction[0], -direction[1], -direction[2]),
            dir=direction,
            diffuse=(strength,) * 3,
            ambient=(0, 0, 0),
            specular=(0, 0, 0),
            castshadow=shadow,
        )
    # Shadows are rendered this many scene sizes around the robot; beyond, the map's rim leaves speckles.
    spec.visual.map.shadowclip = 2.5
    spec.add_texture(
        name=BACKDROP,
        type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_FLAT,
        rgb1=BACKDROP_RGB,
        rgb2=BACKDROP_RGB,
        width=8,
        height=48,
    )


def add_front_camera(spec: mujoco.MjSpec, robot: Robot) -> None:
    """Looks at the whole work space from in front and a little to the robot's right.

    That is 0.4 m around a small arm; from a large one the camera stands back, and looks up as far as keeps all of the
    arm at home in its picture.
    """
    back = max(1.0, robot.relative_size)
    target_m = back * np.array([0.02, 0.015, 0.03])
    if robot.relative_size > 1:
        target_m[2] = _height_m(robot) / 3
    add_camera(spec, "front", back * np.array([0.97, -0.58, 0.53]), target_m, 30.0)


@functools.cache
def _height_m(robot: Robot) -> float:
    """How high the arm stands at home: the highest joint, and half a link more."""
    model = robot.model()
    data = mujoco.MjData(model)
    for name, position in zip(robot.joints, robot.home, strict=True):
        data.joint(name).qpos[0] = position
    mujoco.mj_kinematics(model, data)
    return float((data.geom_xpos[:, 2] + np.linalg.norm(model.geom_aabb[:, 3:], axis=1) / 2).max())


def add_camera(
    spec: mujoco.MjSpec, name: str, eye_m: NDArray[np.float64], target_m: NDArray[np.float64], fovy_deg: float
) -> None:
    """One that looks at a point, its picture upright."""
    back = eye_m - target_m
    right = np.array([-back[1], back[0], 0.0])
    spec.worldbody.add_camera(name=name, pos=eye_m, xyaxes=(*right, *np.cross(back, right)), fovy=fovy_deg)


__all__ = ["BACKDROP", "SURFACE_SOLREF", "VISUAL_CONTYPE", "add_camera", "add_front_camera", "add_light", "add_table"]
