"""Pictures of blocks on a belt, for tests: a belt, grey furniture, markings, black fingers, a camera anywhere."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from graspline.perception.belt.blocks import BeltSurface, Catalogue
from graspline.perception.belt.overlaps import gap_m
from graspline.perception.core.palette import Paint, Rgb
from graspline.rendering.picture import Picture
from graspline.spatial.rotations import rotation_x, rotation_y, rotation_z

Array = NDArray[np.float64]

SIZES_M = ((0.040, 0.040, 0.040), (0.034, 0.034, 0.034), (0.056, 0.036, 0.034))
PAINTS = (
    Paint(name="red", rgb=(0.85, 0.12, 0.10)),
    Paint(name="green", rgb=(0.13, 0.62, 0.22)),
    Paint(name="blue", rgb=(0.10, 0.28, 0.80)),
)
RGB: dict[str, Rgb] = {
    **{paint.name: paint.rgb for paint in PAINTS},
    "yellow": (0.93, 0.78, 0.10),
    "violet": (0.55, 0.20, 0.70),
}
CATALOGUE = Catalogue(paints=PAINTS, sizes_m=SIZES_M)
BELT = BeltSurface(height_m=0.0, low_m=(0.35, -1.1), high_m=(0.65, 1.1))
MIDDLE = (0.5, 0.0)
_POOL = 10

_XML = f"""
<mujoco>
  <visual>
    <global offwidth="640" offheight="480"/>
    <quality shadowsize="2048" offsamples="4"/>
    <map znear="0.01" zfar="10"/>
    <headlight ambient="0.38 0.38 0.38" diffuse="0 0 0" specular="0 0 0"/>
  </visual>
  <asset>
    <material name="lit" specular="0.3" shininess="0.3"/>
    <material name="emissive" specular="0" emission="0.6"/>
  </asset>
  <worldbody>
    <light name="key" directional="true" pos="0 0 2" dir="0.3 0.2 -1" diffuse="0.5 0.5 0.5" ambient="0 0 0"
      specular="0.1 0.1 0.1"/>
    <light name="fill" directional="true" pos="0 0 2" dir="-0.5 -0.4 -1" diffuse="0.2 0.2 0.2" ambient="0 0 0"
      specular="0 0 0"/>
    <geom type="plane" pos="0 0 -0.4" size="3 3 0.1" rgba="0.62 0.62 0.64 1"/>
    <geom name="belt" type="box" pos="0.5 0 -0.02" size="0.15 1.1 0.02" rgba="0.16 0.16 0.17 1"/>
    <geom type="box" pos="0.34 0 -0.01" size="0.01 1.1 0.02" rgba="0.55 0.56 0.58 1"/>
    <geom type="box" pos="0.66 0 -0.01" size="0.01 1.1 0.02" rgba="0.55 0.56 0.58 1"/>
    <geom type="box" pos="0.2 0.3 -0.02" size="0.1 0.15 0.02" rgba="0.16 0.16 0.17 1"/>
    <geom type="box" pos="0.2 0.3 0.001" size="0.1 0.004 0.001" rgba="0.85 0.12 0.10 1"/>
    <geom type="box" pos="0.2 -0.3 0.001" size="0.1 0.004 0.001" rgba="0.10 0.28 0.80 1"/>
    <body name="eye" mocap="true"><camera name="wrist" fovy="{np.degrees(0.82)}"/></body>
    {
    "".join(
        f'<body name="block_{k}" mocap="true"><geom name="block_{k}" type="box" size="1 1 1" material="lit"/></body>'
        for k in range(_POOL)
    )
}
    <body name="finger" mocap="true">
      <geom type="box" size="0.011 0.008 0.02" rgba="0.08 0.08 0.09 1"/>
      <geom type="box" pos="0 0.06 0" size="0.011 0.008 0.02" rgba="0.08 0.08 0.09 1"/>
    </body>
  </worldbody>
</mujoco>
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Laid:
    """A block as it is laid on the belt."""

    colour: str
    size_m: tuple[float, float, float]
    x_m: float
    y_m: float
    yaw_rad: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shot:
    """From where and in which light."""

    height_m: float = 0.46
    x_m: float = MIDDLE[0]
    y_m: float = MIDDLE[1]
    tilt_rad: tuple[float, float] = (0.0, 0.0)
    # The picture's width runs along the belt.
    turn_rad: float = np.pi / 2
    brightness: float = 1.0
    tint: tuple[float, float, float] = (1.0, 1.0, 1.0)
    light_dir: tuple[float, float, float] = (0.3, 0.2, -1.0)
    shadows: bool = False
    emissive: bool = False
    finger: tuple[float, float, float] | None = None


NOMINAL = Shot()


class BeltStudio:
    """Draws what is laid before it. To be closed."""

    def __init__(self, width: int = 640, height: int = 480) -> None:
        from mujoco.egl import GLContext

        self.width, self.height = width, height
        self.model = mujoco.MjModel.from_xml_string(_XML)
        self._headlight = np.array(self.model.vis.headlight.ambient)
        self._diffuse = self.model.light_diffuse.copy()
        self._data = mujoco.MjData(self.model)
        self._visible = mujoco.MjvScene(self.model, 200)
        self._camera = mujoco.MjvCamera()
        self._camera.type = mujoco.mjtCamera.mjCAMERA_FIXED.value
        self._camera.fixedcamid = 0
        self._gl = GLContext(width, height)
        with self._gl.as_current():
            self._context = mujoco.MjrContext(self.model, mujoco.mjtFontScale.mjFONTSCALE_100.value)
            mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self._context)

    def show(self, blocks: list[Laid], shot: Shot = NOMINAL) -> Picture:
        self._place(blocks, shot)
        rgb = np.empty((self.height, self.width, 3), np.uint8)
        viewport = mujoco.MjrRect(0, 0, self.width, self.height)
        with self._gl.as_current():
            mujoco.mjr_render(viewport, self._visible, self._context)
            mujoco.mjr_readPixels(rgb, None, viewport, self._context)
        return Picture(
            rgb=np.ascontiguousarray(rgb[::-1]),
            camera="wrist",
            position_m=self._data.cam_xpos[0].copy(),
            rotation=self._data.cam_xmat[0].reshape(3, 3).copy(),
            fovy_rad=float(np.radians(self.model.cam_fovy[0])),
        )

    def _place(self, blocks: list[Laid], shot: Shot) -> None:
        model, data = self.model, self._data
        light = shot.brightness * np.array(shot.tint)
        model.vis.headlight.ambient[:] = self._headlight * light
        model.light_diffuse[:] = self._diffuse * light
        model.light_dir[0] = np.array(shot.light_dir) / np.linalg.norm(shot.light_dir)
        data.mocap_pos[:] = (0.0, 0.0, -5.0)
        for index, block in enumerate(blocks):
            geom = model.geom(f"block_{index}")
            geom.size[:] = np.array(block.size_m) / 2
            geom.rgba[:3] = RGB[block.colour]
            model.geom_matid[geom.id] = model.material("emissive" if shot.emissive else "lit").id
            mocap = model.body(f"block_{index}").mocapid[0]
            data.mocap_pos[mocap] = (block.x_m, block.y_m, block.size_m[2] / 2)
            data.mocap_quat[mocap] = _quaternion(rotation_z(block.yaw_rad))
        eye = model.body("eye").mocapid[0]
        data.mocap_pos[eye] = (shot.x_m, shot.y_m, shot.height_m)
        data.mocap_quat[eye] = _quaternion(
            rotation_z(shot.turn_rad) @ rotation_x(shot.tilt_rad[0]) @ rotation_y(shot.tilt_rad[1])
        )
        if shot.finger is not None:
            data.mocap_pos[model.body("finger").mocapid[0]] = shot.finger
        mujoco.mj_kinematics(model, data)
        mujoco.mj_camlight(model, data)
        every = int(mujoco.mjtCatBit.mjCAT_ALL)
        mujoco.mjv_updateScene(model, data, mujoco.MjvOption(), None, self._camera, every, self._visible)
        self._visible.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = shot.shadows
        self._visible.flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = 0

    def close(self) -> None:
        with self._gl.as_current():
            self._context.free()
        self._gl.free()


def _quaternion(rotation: Array) -> Array:
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(rotation).ravel())
    return quaternion


def laid_at_random(random: np.random.Generator, shot: Shot, count: int, least_m: float) -> list[Laid]:
    """Blocks about where the camera looks, any two at least so far apart."""
    reach = shot.height_m * 0.42
    laid: list[Laid] = []
    for _ in range(400):
        size = SIZES_M[random.integers(len(SIZES_M))]
        half = float(np.hypot(*size[:2])) / 2
        block = Laid(
            colour=list(RGB)[random.integers(len(RGB))],
            size_m=size,
            x_m=MIDDLE[0] + random.uniform(-1, 1) * min(reach, 0.15 - half),
            y_m=shot.y_m + random.uniform(-1, 1) * reach * 1.4,
            yaw_rad=random.uniform(-np.pi, np.pi),
        )
        if all(least_m < gap_m(block, other) for other in laid):
            laid.append(block)
        if len(laid) == count:
            break
    return laid
