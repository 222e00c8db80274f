"""A scene's model put into a state, and MuJoCo's own account of what is visible there.

Both renderers render the same list of geoms, colours and lights, made by `mjv_updateScene`, which needs no
graphics library.
"""

from __future__ import annotations

import copy

import mujoco
import numpy as np

from graspline.errors import InputError, nearest
from graspline.rendering.belt_marks import LIGHTER, Travelled, bars
from graspline.rendering.framing import Viewpoint
from graspline.rendering.picture import Array, Picture, Pixels
from graspline.scenes.scene import Scene
from graspline.scenes.variation import Variation, apply_to_model
from graspline.spatial.rotations import rotate

# Groups 0 to 2 are what a camera sees; collision shapes and markers live in the others.
VISIBLE_GROUPS = np.array([1, 1, 1, 0, 0, 0], np.uint8)
# Everything of the model; none of the arrows and frames that MuJoCo can add to explain it.
_CATEGORIES = int(mujoco.mjtCatBit.mjCAT_STATIC) | int(mujoco.mjtCatBit.mjCAT_DYNAMIC)
# A line of five belts, two metres long, has some fifty.
_MOST_MARKS = 256
# Models of variations that are kept, in bytes: callers that render lane after lane come back to each of them, and to
# make one anew takes half as long as to render a small picture.
_KEPT_BYTES = 64 * 2**20


class Stage:
    """Holds a scratch model and data; physics is never stepped here."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._variation = Variation()
        # By the id of the variation, which is kept along so that its id stays its own; the oldest first.
        self._models: dict[int, tuple[Variation, mujoco.MjModel]] = {}
        self.model = copy.copy(scene.model)
        self.data = mujoco.MjData(self.model)
        # Room for every geom of the model and for marks.
        self.visible = mujoco.MjvScene(self.model, self.model.ngeom + _MOST_MARKS)
        self._option = mujoco.MjvOption()
        self._option.geomgroup[:] = VISIBLE_GROUPS
        self._option.sitegroup[:] = 0
        self._camera = mujoco.MjvCamera()
        self._viewpoint: Viewpoint | None = None

    def place(self, qpos: Array, variation: Variation, camera: str | Viewpoint) -> bool:
        """Put the scene into a state, seen from `camera`; true when the model changed with the variation."""
        self._look_from(camera)
        if np.shape(qpos) != (self.model.nq,):
            raise InputError(f"scene {self._scene.name!r} has {self.model.nq} coordinates, got qpos {np.shape(qpos)}")
        varied = variation is not self._variation and variation != self._variation
        if varied:
            self.model, self._variation = self._varied(variation), variation
        if self._viewpoint is not None:
            self.model.vis.global_.fovy = float(np.degrees(self._viewpoint.fovy_rad))
        self.data.qpos[:] = qpos
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_camlight(self.model, self.data)
        mujoco.mjv_updateScene(self.model, self.data, self._option, None, self._camera, _CATEGORIES, self.visible)
        return varied

    def _look_from(self, camera: str | Viewpoint) -> None:
        if isinstance(camera, str):
            self._viewpoint = None
            self._camera.type = mujoco.mjtCamera.mjCAMERA_FIXED.value
            self._camera.fixedcamid = camera_id(self._scene, camera)
            return
        self._viewpoint = camera
        self._camera.type = mujoco.mjtCamera.mjCAMERA_FREE.value
        self._camera.lookat[:], self._camera.distance = camera.target_m, camera.distance_m
        self._camera.azimuth, self._camera.elevation = np.degrees([camera.azimuth_rad, camera.elevation_rad])

    def _varied(self, variation: Variation) -> mujoco.MjModel:
        known = self._models.get(id(variation))
        if known is None:
            # From the scene's model, not from the last variation's: an edit the new one lacks must not stay.
            model = copy.copy(self._scene.model)
            apply_to_model(model, variation)
            while self._models and (len(self._models) + 1) * int(model.nbuffer) > _KEPT_BYTES:
                del self._models[next(iter(self._models))]
            known = self._models[id(variation)] = variation, model
        return known[1]

    def mark(self, travelled_m: Travelled) -> None:
        """Add marks to surfaces that have moved so far; the next `place` takes them away."""
        for bar in bars(self.model, travelled_m)[:_MOST_MARKS]:
            R_WG = self.data.geom_xmat[bar.geom].reshape(3, 3)
            middle = self.data.geom_xpos[bar.geom] + rotate(R_WG, bar.middle_m)
            shade = np.append(self.model.geom_rgba[bar.geom, :3] + LIGHTER, 1).astype(np.float32)
            added = self.visible.geoms[self.visible.ngeom]
            box = mujoco.mjtGeom.mjGEOM_BOX.value
            mujoco.mjv_initGeom(added, box, bar.half_m, middle, R_WG.ravel(), shade)
            added.specular = 0
            self.visible.ngeom += 1

    @property
    def position_m(self) -> Array:
        """(3,), p_WC of the camera in use."""
        if self._viewpoint is not None:
            return self._viewpoint.position_m
        return self.data.cam_xpos[self._camera.fixedcamid].copy()

    @property
    def rotation(self) -> Array:
        """(3, 3), R_WC of the camera in use."""
        if self._viewpoint is not None:
            return self._viewpoint.rotation
        return self.data.cam_xmat[self._camera.fixedcamid].reshape(3, 3).copy()

    @property
    def fovy_rad(self) -> float:
        """The vertical field of view."""
        if self._viewpoint is not None:
            return self._viewpoint.fovy_rad
        # MuJoCo keeps this one in degrees whatever the compiler's angle unit.
        return float(np.radians(self.model.cam_fovy[self._camera.fixedcamid]))

    def picture(self, rgb: Pixels) -> Picture:
        """An image with where its camera is."""
        return Picture(
            rgb=rgb,
            camera="" if self._viewpoint is not None else self.model.camera(self._camera.fixedcamid).name,
            position_m=self.position_m,
            rotation=self.rotation,
            fovy_rad=self.fovy_rad,
        )


def camera_id(scene: Scene, camera: str) -> int:
    """The id of a camera in the compiled model."""
    if camera not in scene.cameras:
        raise InputError(f"scene {scene.name!r} has no camera {camera!r}; {nearest(camera, scene.cameras)}")
    return scene.model.camera(camera).id
