"""Scenes and states that the tests of this folder draw."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from graspline.robots.so101 import SO101
from graspline.scenes.cube_table import cube_start, cube_table, cube_variation
from graspline.scenes.scene import Scene
from graspline.scenes.variation import Variation

SHAPES = """
<mujoco>
  <compiler angle="radian"/>
  <visual>
    <headlight ambient=".38 .38 .38" diffuse="0 0 0" specular="0 0 0"/>
    <quality offsamples="4"/>
  </visual>
  <asset>
    <mesh name="wedge" vertex="0 0 0 .1 0 0 0 .1 0 0 0 .1"/>
    <material name="glow" rgba=".2 .6 .3 1" emission=".4"/>
  </asset>
  <worldbody>
    <light type="directional" pos="-.35 -.45 1" dir=".35 .45 -1" diffuse=".55 .55 .55" specular="0 0 0"/>
    <light type="directional" dir=".6 -.7 -.5" diffuse=".22 .12 .22" specular="0 0 0" castshadow="false"/>
    <camera name="front" pos=".5 -.5 .5" xyaxes=".7 .7 0 -.4 .4 .8" fovy="48"/>
    <camera name="inside" pos=".2 .2 .05" xyaxes=".7 .7 0 -.4 .4 .8" fovy="60"/>
    <geom name="table" type="plane" size=".4 .3 .05" rgba=".8 .74 .65 1"/>
    <body pos="0 0 .1"><freejoint/><geom name="box" type="box" size=".03 .04 .05" rgba="1 0 0 1"/></body>
    <body pos=".15 0 .1"><freejoint/><geom type="cylinder" size=".03 .05" material="glow"/></body>
    <body pos="-.15 0 .1" euler=".3 .5 0"><freejoint/>
      <geom type="capsule" size=".03 .05" rgba="0 0 1 1"/>
      <geom name="hull" type="box" size=".06 .06 .06" group="3"/>
    </body>
    <body pos="0 .15 .1"><freejoint/><geom type="sphere" size=".04" rgba="1 1 0 1"/></body>
    <body pos="0 -.15 .1" euler=".3 .5 0"><freejoint/>
      <geom type="ellipsoid" size=".03 .02 .06" rgba="0 1 1 1" contype="1073741824" conaffinity="0"/>
      <geom type="box" size=".06 .06 .06" group="4"/>
      <site size=".1" rgba="1 1 1 1"/>
    </body>
    <body pos=".2 .2 .05"><freejoint/><geom type="box" size=".03 .03 .03" rgba="1 0 1 1"/></body>
    <body pos="-.2 -.2 .05"><freejoint/><geom type="mesh" mesh="wedge" rgba="1 .5 0 1"/></body>
  </worldbody>
</mujoco>
"""


def scene_of(xml: str) -> Scene:
    """A scene without objects, made from a text. Its robot stands for any: no renderer asks for it."""
    return Scene(name="shapes", robot=SO101, model=mujoco.MjModel.from_xml_string(xml), objects=())


def random_state(seed: int) -> tuple[NDArray[np.float64], Variation]:
    """The arm somewhere within its limits, and a cube of some size within reach."""
    rng = np.random.default_rng(seed)
    edge_m = rng.uniform(0.02, 0.045)
    qpos = cube_start(
        x_m=rng.uniform(0.15, 0.35), y_m=rng.uniform(-0.15, 0.15), yaw_rad=rng.uniform(-3, 3), edge_m=edge_m
    )
    limits = SO101.limits
    # A third of the range about home keeps the wrist camera above the table.
    for joint, home, low, high in zip(SO101.joints, SO101.home, limits.lower, limits.upper, strict=True):
        qpos[cube_table().joint_address(joint)] = np.clip(home + rng.uniform(-1, 1) * (high - low) / 6, low, high)
    return qpos, cube_variation(edge_m=edge_m, mass_kg=0.03, pad_friction=1.0)
